package describe

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/autobounds"
	"github.com/stillpoint-dp/stillpoint/internal/recordedtest"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// drawing is an oracle whose answers have noise of a known seed.
type drawing struct {
	*public
	coins *rand.Rand
}

func (o drawing) Ask(ctx context.Context, q query.Question) (query.Release, error) {
	r, err := o.public.Ask(ctx, q)
	for j := range r.Mean {
		r.Mean[j] += r.Sigma * o.coins.NormFloat64()
	}
	return r, err
}

// TestDescriptionsAreWhatTheyWere compares whole descriptions, as text and as programs get them, with
// testdata/descriptions.golden, which is written by go test ./internal/describe -run WhatTheyWere -update. Other tests work
// out the numbers by other ways; this one sees whatever else changes.
func TestDescriptionsAreWhatTheyWere(t *testing.T) {
	columns := []dataset.Column{
		{Name: "age", Kind: dataset.Number, Low: 0, High: 120}, {Name: "income", Kind: dataset.Number, Low: 50, High: 1e8, Transform: dataset.Log1p},
		{Name: "auto", Kind: dataset.Number, High: autobounds.Number}, {Name: "zeros", Kind: dataset.Number, High: autobounds.Number},
		{Name: "born", Kind: dataset.Date, Low: -7305, High: 14610}, {Name: "seen", Kind: dataset.Date, Low: autobounds.First, High: autobounds.Last},
		{Name: "empty", Kind: dataset.Number, Low: -3, High: 5}, {Name: "short", Kind: dataset.Date, Low: 100, High: 102},
		{Name: "region", Kind: dataset.Category, Categories: []string{"north", "south", "east"}},
		{Name: "street", Kind: dataset.Hash, Buckets: 8}, {Name: "split", Kind: dataset.Public, Values: []string{"a"}},
		{Name: "left", Kind: dataset.Ignore},
	}
	cell := func(r *rand.Rand, c dataset.Column) string {
		u := r.Float64()
		day := func(n float64) string { return time.Unix(0, 0).UTC().AddDate(0, 0, int(n)).Format(time.DateOnly) }
		switch c.Name {
		case "age":
			if u < .07 {
				return ""
			}
			return fmt.Sprintf("%.1f", 20+70*u*u)
		case "income":
			return fmt.Sprintf("%.1f", math.Exp(7+11*u))
		case "auto":
			return fmt.Sprintf("%.2f", 30*(u-.3))
		case "zeros":
			return "0"
		case "born":
			return day(-3000 + 9000*u)
		case "seen":
			return day(17000 + 700*u)
		case "short":
			return day(100 + math.Floor(3*u))
		case "empty":
			return ""
		case "region":
			return []string{"north", "south", "west", "north", "north"}[int(5*u)]
		case "split":
			return "a"
		case "years":
			return fmt.Sprintf("%.2f", 1+4*u*u)
		case "died":
			return []string{"no", "yes", "no"}[int(3*u)]
		case "state":
			return []string{"out", "in", "in", "in"}[int(4*u)]
		case "came", "share":
			return fmt.Sprintf("%.2f", .3*u)
		case "days":
			return fmt.Sprintf("%.1f", 5*u*u)
		}
		return fmt.Sprintf("v%d", int(9*u))
	}
	numbers := dataset.Target{Column: "days", Kind: dataset.Number, High: 6}
	rated, weighed, timed := numbers, numbers, numbers
	rated.Exposure = dataset.Exposure{Column: "years", Low: .5, High: 6}
	weighed.Weight = "share"
	timed.Event, timed.Entry = "died=yes", "came"
	classes := dataset.Target{Column: "state", Kind: dataset.Category, Classes: []string{"out", "in"}}
	var got strings.Builder
	for _, c := range []struct {
		name    string
		columns []dataset.Column
		target  dataset.Target
		by      string
		sigma   float64
		request Request
	}{
		{"all kinds", columns, classes, "", 3e-5, Request{Counted: true, Level: .95, Records: 6000}},
		{"by region", columns, classes, "region", 1e-4, Request{Level: .9, Records: 6000}},
		{"by state, with much noise", columns[:9], classes, "state", .004, Request{Counted: true, Level: .8, Records: 600}},
		{"noise alone", columns[:9], classes, "region", 1, Request{Level: .8, Records: 60}},
		{"with exposures", columns[:1], rated, "", 2e-4, Request{Counted: true, Level: .9, Records: 700}},
		{"with weights", columns[8:9], weighed, "", 2e-4, Request{Counted: true, Level: .9, Records: 700}},
		{"times", columns[8:9], timed, "died", 2e-4, Request{Level: .9, Records: 700}},
		{"without numbers", columns[8:11], classes, "state", 2e-4, Request{Level: .9, Records: 700}},
	} {
		s, err := dataset.New(dataset.Definition{Columns: c.columns, Target: c.target})
		if err != nil {
			t.Fatal(err)
		}
		schema, err := Schema(s, c.by)
		if err != nil {
			t.Fatal(err)
		}
		o := &public{t: t, sigma: c.sigma}
		for _, of := range schema.Columns() {
			o.header = append(o.header, of.Name)
		}
		coins := rand.New(rand.NewPCG(21, 22))
		for range 400 {
			var cells []string
			for _, of := range schema.Columns() {
				cells = append(cells, cell(coins, of))
			}
			o.rows = append(o.rows, cells)
		}
		c.request.Schema, c.request.Loss, c.request.By, c.request.Charge = schema, loss.Logistic(), c.by, .8
		d, err := c.request.Run(t.Context(), drawing{o, coins}, o.refine)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		fmt.Fprintf(&got, "== %s\n%s%s", c.name, d.Text(), recordedtest.JSON(t, d))
		for i, s := range o.schemas {
			for _, of := range s.Columns() {
				if n := len(of.Knots); n > 0 {
					fmt.Fprintf(&got, "stage %d: %s: %d knots from %.6g, %.6g to %.6g\n", i, of.Name, n, of.Knots[0], of.Knots[n/3], of.Knots[n-1])
				}
			}
		}
	}
	recordedtest.Compare(t, "testdata/descriptions.golden", got.String())
}
