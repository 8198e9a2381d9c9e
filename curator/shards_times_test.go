package curator_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/loss"
)

// TestTimesOverShards: times to an event with a column whose hazard ratios change give the same answers over three shards
// as over one file, to the bit, before and after the session is refined to other baseline hazards.
func TestTimesOverShards(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 14))
	p, header := &parted{}, "age,drug,days,died,since\n"
	for range 300 {
		p.lines = append(p.lines, fmt.Sprintf("%.3f,%s,%.2f,%s,%.1f\n", 110*r.Float64(), []string{"no", "yes", ""}[r.IntN(3)],
			12*r.Float64(), []string{"0", "1", "1", "?"}[r.IntN(4)], 3*r.Float64()))
	}
	p.whole = write(t, "whole.csv", header+strings.Join(p.lines, ""))
	for i, part := range [][]string{p.lines[:90], nil, p.lines[90:]} {
		p.parts = append(p.parts, write(t, fmt.Sprintf("part-%d.csv", i), header+strings.Join(part, "")))
	}
	for _, link := range []string{"poisson-rate", "logit-hazard"} {
		timesOverShards(t, p, link)
	}
}

func timesOverShards(t *testing.T, p *parted, link string) {
	def := dataset.Definition{Columns: []dataset.Column{{Name: "age", Kind: dataset.Number, High: 100},
		{Name: "drug", Kind: dataset.Category, Categories: []string{"no", "yes"}}},
		Target: dataset.Target{Column: "days", Kind: dataset.Number, High: 10, Event: "died", Entry: "since",
			Cuts: []float64{4, 10}, Changing: "drug"}}
	refined := []float64{.1, .4, .45, .05}
	if link == "logit-hazard" {
		def.Target.Changing, def.Target.Grouped, refined = "", "logit", refined[:2]
		refined[0] = .6
	}
	s := must[*dataset.Schema](t)(dataset.New(def))
	def.Target.Hazards = refined
	to := must[*dataset.Schema](t)(dataset.New(def))
	b, err := account.NewBudget(4, 1e-6, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	c := curator.Config{Path: p.whole, Schema: s, Budget: b, Loss: must[loss.Loss](t)(loss.Parse(link + "(3,1.52587890625e-05)"))}
	run := func(s *curator.Session) string {
		defer s.Close()
		before := must[any](t)(gradientOf(t, s))
		if err := s.Refine(to); err != nil {
			t.Fatal(err)
		}
		after := must[any](t)(gradientOf(t, s))
		if fmt.Sprint(before) == fmt.Sprint(after) {
			t.Error("other hazards give the same gradient")
		}
		return fmt.Sprintf("%v %v", before, after)
	}
	want := run(must[*curator.Session](t)(curator.OpenNoisy(context.Background(), c, 9, nil)))
	c.Path, c.Shards = "", p.shards(t, workers(t))
	if got := run(must[*curator.Session](t)(curator.OpenShards(context.Background(), c, 9))); got != want {
		t.Errorf("over shards %s: must be %s", got, want)
	}
}
