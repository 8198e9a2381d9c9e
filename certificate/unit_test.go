package certificate

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
)

// TestUnitsAreStated: a certificate for a unit states the unit in its claim, its report and its
// file, and is read back with the unit. New refuses an invalid unit. A certificate for rows has
// no member for a unit.
func TestUnitsAreStated(t *testing.T) {
	budget, err := account.NewBudget(1, 1e-6, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	p := stated{Params: Params{Software: "test", Algorithm: Algorithm{Name: "gd"}}, Budget: budget, Records: 10}
	for _, u := range []account.Unit{{}, {Column: "person", Rows: 8, Count: account.Mean}, {Column: "a, b", Rows: 1, Count: account.Sum}} {
		p.Unit = u
		c, err := p.certificate()
		if err != nil {
			t.Fatal(err)
		}
		report, err := c.Verify(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		text, err := c.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		wants := []string{`"privacy_unit": "row"`}
		if u != (account.Unit{}) {
			wants = []string{`"privacy_unit": "rows with one value",` + "\n" + `  "unit": {`}
		}
		for _, want := range wants {
			if !strings.Contains(string(text), want) {
				t.Errorf("%v: the file has no %s", u, want)
			}
		}
		back, err := Parse(text)
		if err != nil || back.Unit() != u || report.Neighbour != u.Neighbour(account.Filter{}, account.ReplaceOne) ||
			(report.Unit == nil) != (u == account.Unit{}) {
			t.Errorf("%v came back as %v, %v; neighbour %q", u, back.Unit(), err, report.Neighbour)
		}
	}
	for _, u := range []account.Unit{{Column: "", Rows: 8, Count: account.Mean}, {Column: " person", Rows: 8, Count: account.Mean},
		{Column: "person", Rows: 0, Count: account.Mean}, {Column: "person", Rows: 8, Count: ""},
		{Column: "person", Rows: 8, Count: "max"}, {Column: "\xff", Rows: 8, Count: account.Sum}} {
		p.Unit = u
		if _, err := p.certificate(); !errors.Is(err, ErrUnsound) || !strings.Contains(err.Error(), "unit.") {
			t.Errorf("%v: %v", u, err)
		}
	}
	p.Unit = account.Unit{Column: "person", Rows: 8, Count: account.Mean}
	c, err := p.certificate()
	if err != nil {
		t.Fatal(err)
	}
	// First a unit with the privacy unit "row", then no unit with the privacy unit "rows with one value".
	d := c.doc
	d.PrivacyUnit = unitOfRow
	if _, err := d.check(context.Background()); err == nil || !strings.Contains(err.Error(), "privacy_unit") {
		t.Errorf("a unit of rows: %v", err)
	}
	d = c.doc
	d.Unit = nil
	if _, err := d.check(context.Background()); err == nil || !strings.Contains(err.Error(), "privacy_unit") {
		t.Errorf("rows with one value, of no column: %v", err)
	}
}

// TestNeighboursOfUnits compares the text about a neighbouring table with the expected text, under both
// relations, with a filter and without.
func TestNeighboursOfUnits(t *testing.T) {
	u, f := account.Unit{Column: "person", Rows: 8, Count: account.Mean}, account.Filter{Column: "split", Value: "train"}
	for _, c := range []struct {
		u    account.Unit
		f    account.Filter
		r    account.Relation
		want string
	}{
		{account.Unit{}, f, account.ReplaceOne, f.Neighbour(account.ReplaceOne)},
		{u, account.Filter{}, account.ReplaceOne,
			"a table with all rows of one person, however many, replaced by any rows of one other, however many"},
		{u, f, account.ReplaceOne,
			"a table with all rows of one person, however many, replaced by any rows of one other, however many, all with split = train"},
		{u, account.Filter{}, account.AddOrRemove, "a table with all rows of one person, however many, more or less"},
		{u, f, account.AddOrRemove, "a table with all rows of one person with split = train, however many, more or less"},
	} {
		if got := c.u.Neighbour(c.f, c.r); got != c.want {
			t.Errorf("%v, %v, %v: %q: must be %q", c.u, c.f, c.r, got, c.want)
		}
	}
}

// TestClaimHasItsUnit: the guarantee that a certificate claims, and the guarantee in the report
// of its verification, are for records of the unit.
func TestClaimHasItsUnit(t *testing.T) {
	text, err := os.ReadFile("testdata/units.json")
	if err != nil {
		t.Fatal(err)
	}
	c, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	report, err := c.Verify(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := account.Guarantee{Relation: account.ReplaceOne, Epsilon: 1, Delta: 1e-6, Unit: "person",
		Mu: 0.2367043806634357}
	if c.Claim() != want || report.Guarantee != want {
		t.Errorf("claimed %+v, verified %+v", c.Claim(), report.Guarantee)
	}
}
