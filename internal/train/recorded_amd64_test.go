package train

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/simulate"
	"github.com/stillpoint-dp/stillpoint/internal/recordedtest"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

// TestSettingsAreWhatTheyWere tests that each algorithm, with each of its settings changed alone, makes the plan and,
// on a small table, the questions, charges and result, to the bit, that testdata/settings.golden has. The file is
// written by go test ./internal/train -run SettingsAreWhatTheyWere -update. If a number changes on purpose, the commit
// states the reason.
//
// Other processors fuse multiplications and additions, and results then have other bits.
func TestSettingsAreWhatTheyWere(t *testing.T) {
	fillOther(t)
	var got bytes.Buffer
	for _, a := range algorithms {
		losses := []string{"logistic", "tanh"}
		if a.name == "smoothed" || a.name == "o2nc" || a.name == "stable" {
			losses = []string{"hinge", "logistic"}
		}
		for i, key := range append([]string{""}, slices.Sorted(maps.Keys(other))...) {
			var next Train
			takes := true
			if key == "" {
				next = Train{Algorithm: a.name, Settings: Settings{}}
			} else if _, next, takes = changed(a.name, key); !takes {
				continue
			}
			if samples(a.name) { // schedules of many steps take long to calibrate
				next.Settings["steps"] = 4
			}
			relation := []account.Relation{account.ReplaceOne, account.AddOrRemove}[i%2]
			fmt.Fprintln(&got, recordedRun(t, next, losses[i/2%2], relation, 3, 160))
		}
	}
	recordedtest.Compare(t, filepath.Join(packageFolder, "testdata", "settings.golden"), got.String())
}

// recordedRun returns a line about a plan and its run on a table of random records.
func recordedRun(t *testing.T, c Train, name string, relation account.Relation, dim, records int) string {
	t.Helper()
	title := fmt.Sprintf("%s %v %s %v:", c.Algorithm, c.Settings, name, relation)
	b, err := account.NewBudget(4, 1e-6, relation)
	if err != nil {
		t.Fatal(err)
	}
	l, err := loss.Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	p, err := optimize.NewProblem(l, b, optimize.Stated(dim, float64(records)))
	if err != nil {
		t.Fatal(err)
	}
	plan, others, err := c.Plan(context.Background(), p)
	if err != nil {
		return title + " " + err.Error()
	}
	title = fmt.Sprintf("%s %+v %+v seed %v cohorts %v", title, plan.Summary(), plan.Properties(), plan.Needs().Seed,
		plan.Needs().Cohorts)
	for _, o := range others {
		title += fmt.Sprintf(", or %+v", o.Plan.Summary())
	}
	if plan.Summary().Passes > 100 || plan.Summary().Steps > 1000 {
		return title // would take seconds
	}
	r := rand.New(rand.NewPCG(1, uint64(dim)))
	table := simulate.Config{Loss: l, Budget: b, Seed: 7, Workers: 1, BlockRows: 64}
	for range records {
		x := make([]float32, dim)
		for j := range x {
			x[j] = float32((2*r.Float64() - 1) / math.Sqrt(float64(dim)))
		}
		table.Rows = append(table.Rows, x)
		table.Targets = append(table.Targets, math.Copysign(1, float64(x[0])+.5*r.NormFloat64()))
	}
	if relation == account.AddOrRemove {
		table.Declared = float64(records)
	}
	stepped, asked, found := sha256.New(), sha256.New(), sha256.New()
	session, err := simulate.Watched(table, hashed(asked))
	if err != nil {
		t.Fatal(err)
	}
	if s := plan.Needs().Schedule; s != nil {
		if err := session.Follow(s); err != nil {
			t.Fatal(err)
		}
	}
	result, err := plan.Run(context.Background(), session, func(s optimize.Step) {
		binary.Write(stepped, binary.LittleEndian, append([]float64{float64(s.Number), float64(s.Of), s.GradientNorm, s.Charged},
			s.W...))
	})
	ending := ""
	if err != nil {
		ending = err.Error()
	}
	binary.Write(found, binary.LittleEndian, result.W)
	return fmt.Sprintf("%s; %d events %x steps %x result %d %v %x %s", title, session.Ledger().Len(), asked.Sum(nil)[:6],
		stepped.Sum(nil)[:6], result.Steps, result.Complete, found.Sum(nil)[:6], ending)
}
