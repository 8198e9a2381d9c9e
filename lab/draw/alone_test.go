package main

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// TestDefectsBesideFunctions tests defects of constants and variables of a package: they are judged by the tests that reach a
// function which uses them, or what is made of them, in their own package or in another one, and by all where none is known to.
func TestDefectsBesideFunctions(t *testing.T) {
	s := moduleOf(t, map[string]string{
		"query/q.go": `package query

const (
	most  = 3
	Loud  = 7
	quiet = 11
)

var sizes = []int{most, 5}

func Size(i int) int { return sizes[i] }

func Quiet() int { return quiet }
`,
		"query/q_test.go": `package query

import "testing"

func TestSize(t *testing.T) {
	if Size(0) != 3 || Size(1) != 5 {
		t.Error(sizes)
	}
}

func TestQuiet(t *testing.T) { Quiet() }
`,
		"model/m.go": `package model

import "github.com/stillpoint-dp/stillpoint/query"

func Volume() int { return query.Loud + query.Quiet() - query.Quiet() }
`,
		"model/m_test.go": `package model

import "testing"

func TestVolume(t *testing.T) {
	if Volume() != 7 {
		t.Error(Volume())
	}
}
`,
	})
	j := &judge{source: s, scratch: t.TempDir(), limit: time.Minute, patient: time.Minute, sound: map[string]bool{}}
	all, err := s.pools()
	if err != nil {
		t.Fatal(err)
	}
	type expected struct {
		around        []string
		own, by       outcome
		ownBy, readBy string
	}
	want := map[string]expected{
		"=> most = 4":                   {[]string{"query/q.go Size"}, caught, caught, "query TestSize", ""},
		"=> var sizes = []int{most, 6}": {[]string{"query/q.go Size"}, caught, caught, "query TestSize", ""},
		"=> Loud = 8":                   {[]string{"model/m.go Volume"}, survived, caught, "", "model TestVolume"},
		"=> quiet = 12":                 {[]string{"query/q.go Quiet"}, survived, survived, "", ""},
	}
	var list []drawn
	var expects []expected
	for _, d := range all["state"]["constant"] {
		for part, e := range want {
			if strings.Contains(s.describe(d), part) && d.file == "query/q.go" {
				list, expects = append(list, drawn{site: d}), append(expects, e)
			}
		}
	}
	if len(list) != len(want) {
		t.Fatalf("%d defects: must be %d", len(list), len(want))
	}
	together, fits, err := j.pool(list, time.Now().Add(time.Minute))
	if err != nil || len(fits) > 0 {
		t.Fatalf("%v, behind switches: %v", err, fits)
	}
	for i, d := range list {
		name, e := s.describe(d.site), expects[i]
		if got := s.around(d.site); !slices.Equal(got, e.around) {
			t.Errorf("%s: is around %v: must be %v", name, got, e.around)
		}
		by, err := j.alone(together, i)
		if err != nil || by == nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, test, err := by.own(i)
		if err != nil || got != e.own || test != e.ownBy {
			t.Errorf("%s: %v, %s, %v: must be %+v", name, got, test, err, e)
		}
		if got == caught {
			continue
		}
		if got, test, err = by.others(i, s.readersOf(d.folder), time.Minute, time.Now().Add(time.Minute)); err != nil || got != e.by || test != e.readBy {
			t.Errorf("by others, %s: %v, %s, %v: must be %+v", name, got, test, err, e)
		}
	}
}
