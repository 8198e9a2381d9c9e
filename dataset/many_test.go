package dataset

import (
	"fmt"
	"testing"
)

// TestBindManyColumns tests that Bind binds as many columns as a header can have, each to its own cell.
// With a linear search for each column the test would take many seconds.
func TestBindManyColumns(t *testing.T) {
	const n = 30_000
	d := Definition{Target: Target{Column: "y", Kind: Category, Classes: []string{"0", "1"}}}
	header := []string{"y"}
	for i := range n {
		name := fmt.Sprintf("c%d", i)
		d.Columns = append(d.Columns, Column{Name: name, Kind: Number, High: 100})
		header = append(header, name)
	}
	s, err := New(d)
	if err != nil {
		t.Fatal(err)
	}
	for _, bind := range []func([]string) (*Map, error){s.Bind, s.BindUnlabelled} {
		m, err := bind(header)
		if err != nil || m.Dim() != n+1 {
			t.Fatalf("error %v, dim %d: must be %d", err, m.Dim(), n+1)
		}
		for i, in := range m.inputs {
			if in.cell != i+1 || in.at != i {
				t.Fatalf("column %d: cell %d, feature %d", i, in.cell, in.at)
			}
		}
	}
	if _, err := s.Bind(append(header, "c7")); err == nil ||
		err.Error() != `dataset: column "c7" appears twice in the table's header` {
		t.Errorf("error %v", err)
	}
	if _, err := s.Bind(append(header, "z")); err == nil ||
		err.Error() != `dataset: column "z" of the table is not in the schema: add it to columns, or mark it "NAME: ignore" there` {
		t.Errorf("error %v", err)
	}
}
