package dataset

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestKeepLooksAtThePublicCellOnly tests that only the public cell and the number of cells decide
// whether a row is a record. A row with a cell outside the list passes no filter. A row with a wrong number
// of cells passes every filter.
func TestKeepLooksAtThePublicCellOnly(t *testing.T) {
	s := mustLoad(t, people)
	maps := map[string]*Map{}
	for _, value := range []string{"train", "test"} {
		f, err := s.Where("split=" + value)
		if err != nil {
			t.Fatal(err)
		}
		maps[value] = mustBind(t, f, peopleHeader...)
	}
	at := slices.Index(peopleHeader, "split")
	for _, near := range []string{"trains", "Train", "trai", "", "other", "train=", "tr ain"} {
		cells := []string{near, "1", "7", "1", "state", "x"}
		if maps["train"].Keep(cells) || maps["test"].Keep(cells) {
			t.Errorf("split %q passes a filter", near)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		public := rapid.OneOf(rapid.SampledFrom([]string{"train", "test", " train\t", "Train", "trains", "", "?", "other",
			"valid"}), anyCell(s)).Draw(t, "public")
		cells := rapid.SliceOfN(anyCell(s), len(peopleHeader), len(peopleHeader)).Draw(t, "cells")
		cells[at] = public
		for value, m := range maps {
			want := public == value || value == "train" && public == " train\t"
			if got := m.Keep(cells); got != want {
				t.Fatalf("split %q, filter %s: kept %v", public, value, got)
			}
			shape := rapid.SliceOfN(anyCell(s), 0,
				12).Filter(func(c []string) bool { return len(c) != len(peopleHeader) }).Draw(t, "malformed")
			if !m.Keep(shape) || !m.Keep(nil) {
				t.Fatalf("%q: a malformed row must pass every filter", shape)
			}
		}
	})
}

// TestPublicColumnIsNoFeature tests that no bit of a row depends on a public column.
func TestPublicColumnIsNoFeature(t *testing.T) {
	m := mustBind(t, mustLoad(t, people), peopleHeader...)
	row, other := make([]float32, m.Dim()), make([]float32, m.Dim())
	for _, split := range []string{"test", "", "17", "other"} {
		y1, ok1 := m.Encode(row, []string{"train", "1", "7", "1", "state", "x"})
		y2, ok2 := m.Encode(other, []string{split, "1", "7", "1", "state", "x"})
		if y1 != y2 || ok1 != ok2 || !slices.Equal(row, other) {
			t.Errorf("split %q: %v, want %v", split, other, row)
		}
	}
}
