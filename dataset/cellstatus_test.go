package dataset

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/stillpoint-dp/stillpoint/internal/cellstatus"
)

// TestCellStatuses tests cells whose fates (how the row map treats them) were found by hand.
func TestCellStatuses(t *testing.T) {
	s := mustLoad(t, `
schema:
  columns:
    age:  {number: [0, 10]}
    seen: {date: [2020-01-01, 2020-12-31]}
    work: {category: [private, state]}
    town: {hash: 4}
    note: ignore
    split: {public: [train, test]}
  target: {column: y, number: [0, 20], exposure: {column: years, number: [1, 2]}}
  where: split=train
  missing: ["", "?"]
`)
	header := []string{"years", "age", "seen", "work", "town", "note", "split", "y"}
	m := mustBind(t, s, header...)
	for cells, want := range map[string]string{
		"1,5,2020-05-05,state,x,n,train,3":   "age read, seen read, work read, town read, split read, y read, years read",
		"0,-1,2019-12-31,State,,n,dev,-3":    "age below, seen below, work other, town missing, split other, y below, years below",
		"3,11,2021-01-01,?,?,n,?,Inf":        "age above, seen above, work missing, town missing, split missing, y above, years above",
		"?, ?,,, x ,n,test,":                 "age missing, seen missing, work missing, town read, split read, y missing, years missing",
		"x,1e,1.1.2020,other,x,n,train,NaN ": "age unreadable, seen unreadable, work other, town read, split read, y unreadable, years unreadable",
	} {
		got := map[string]string{}
		for i, cell := range strings.Split(cells, ",") {
			_, got[header[i]] = m.Column(i).Status(strings.TrimSpace(cell))
		}
		if got["note"] != "" {
			t.Errorf("%s: the map reads a column that it ignores", cells)
		}
		for _, cell := range strings.Split(want, ", ") {
			if name, status, _ := strings.Cut(cell, " "); got[name] != status {
				t.Errorf("%s: %s %s: want %s", cells, name, got[name], status)
			}
		}
	}
	if x, status := m.Column(1).Status("-12.5"); x != -12.5 || status != cellstatus.Below {
		t.Errorf("number %v, %s", x, status)
	}
}

// TestCellStatusesAreTheMaps tests that a cell's fate agrees with its features. The test fails if Status and
// Encode read a cell differently.
func TestCellStatusesAreTheMaps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anySchema().Draw(t, "schema")
		m, err := s.Bind(fullHeader(s))
		if err != nil {
			t.Fatal(err)
		}
		cells := rapid.SliceOfN(anyCell(s), m.cells, m.cells).Draw(t, "cells")
		row := make([]float32, s.Dim())
		_, ok := m.Encode(row, cells)
		fates := map[string]string{}
		for i, name := range fullHeader(s) {
			_, fates[name] = m.Column(i).Status(strings.TrimSpace(cells[i]))
		}
		if f := fates[s.target.Column]; ok == (f == cellstatus.Absent || f == cellstatus.Unread || f == cellstatus.Unlisted && s.target.Kind == Category) {
			t.Fatalf("target %v, row taken: %v", f, ok)
		}
		if !ok {
			return
		}
		at := 0
		for _, c := range s.columns {
			f := fates[c.Name]
			switch c.Kind {
			case Number, Date:
				u := float64(row[at]) * s.Scale()
				want := map[string][2]float64{cellstatus.Below: {-1, -1}, cellstatus.Above: {1, 1}, cellstatus.Absent: {0, 0}, cellstatus.Unread: {0, 0}, cellstatus.Read: {-1, 1}}[f]
				if u < want[0]-1e-6 || u > want[1]+1e-6 || math.IsNaN(u) {
					t.Fatalf("%s: %v, but u = %v", c.Name, f, u)
				}
				if c.Indicator && (row[at+1] != 0) != (f == cellstatus.Absent || f == cellstatus.Unread) {
					t.Fatalf("%s: %v, but its indicator is %v", c.Name, f, row[at+1])
				}
			case Category, Hash:
				if other := row[at+c.width()-1] != 0; other != (f == cellstatus.Absent || f == cellstatus.Unlisted) {
					t.Fatalf("%s: %v, but other is %v", c.Name, f, other)
				}
			}
			at += c.width()
		}
	})
}
