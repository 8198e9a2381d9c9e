package dataset

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestEncodeCoded tests that the features of a coded row have the same bits as those of Encode's row, except
// for hats, for any schema and cells. The former contents of the slices of the coded row must have no effect.
func TestEncodeCoded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anySchema().Draw(t, "schema")
		header := fullHeader(s)
		m, err := s.Bind(header)
		if err != nil {
			t.Fatal(err)
		}
		cells := rapid.SliceOfN(anyCell(s), len(header)-1, len(header)).Draw(t, "cells")
		compareCoded(t, s, m, cells)
	})
	cut := mustLoad(t, `
schema:
  columns: {a: {category: [x, z]}, n: {number: [0, 4]}, b: {hash: 5}, m: {number: [-1, 1]}, c: {category: [u]}}
  target: {column: y, number: [0, 1]}
  interactions: [[c, a]]
  norm: 1.5
`)
	m := mustBind(t, cut, "y", "a", "n", "b", "m", "c")
	for _, cells := range [][]string{{"1", "x", "4", "v", "1", "u"}, {".5", "", "2", "", "0", "w"},
		{"", "z", "1", "v", "1", "u"}} {
		compareCoded(t, cut, m, cells)
	}
	if g := cut.Groups(); !slices.Equal(g, []Group{{0, 3}, {4, 6}, {11, 2}, {13, 6}}) {
		t.Errorf("groups %v", g)
	}
}

func compareCoded(t rapid.TB, s *Schema, m *Map, cells []string) {
	t.Helper()
	row := make([]float32, s.Dim())
	want, sound := m.Encode(row, cells)
	numbers, groups := s.Dim(), s.Groups()
	for _, g := range groups {
		numbers -= g.Width
	}
	hat := make([]bool, s.Dim())
	for _, h := range s.Hats() {
		numbers -= h.Width
		for j := range h.Width {
			hat[h.First+j] = true
		}
	}
	x, codes := make([]float32, numbers), make([]uint32, len(groups))
	for i := range x {
		x[i] = 9
	}
	for i := range codes {
		codes[i] = 9
	}
	level, target, ok := m.EncodeCoded(x, codes, cells)
	if target != want || ok != sound {
		t.Fatalf("target %v, %v: want %v, %v", target, ok, want, sound)
	}
	var full []float32
	for len(full) < s.Dim() {
		switch j := len(full); {
		case hat[j]:
			full = append(full, row[j])
		case len(groups) > 0 && j == groups[0].First:
			one := make([]float32, groups[0].Width)
			one[codes[0]] = level
			full, groups, codes = append(full, one...), groups[1:], codes[1:]
		default:
			full, x = append(full, x[0]), x[1:]
		}
	}
	if len(x) > 0 {
		t.Fatalf("%d numbers too many", len(x))
	}
	for j := range row {
		if math.Float32bits(row[j]) != math.Float32bits(full[j]) {
			t.Fatalf("%s is %v: want %v", s.Features()[j], full[j], row[j])
		}
	}
}
