package curator_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator"
	"github.com/stillpoint-dp/stillpoint/internal/train"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/query"
)

// newPartedUnits returns rows of people in one file, and in three files such that all rows of a person are
// in the same file. Some people have more rows than a session keeps, some rows have no person, and some
// people have only faulty rows.
func newPartedUnits(t testing.TB) *parted {
	t.Helper()
	var parts [3][]string
	for _, r := range unitRows(rand.New(rand.NewPCG(4, 9))) {
		person, to := strings.TrimSpace(r[0]), 0
		for _, b := range []byte(person) {
			to = 2 * (int(b) % 2) // the second file has the header only
		}
		parts[to] = append(parts[to], strings.Join(r, ",")+"\n")
	}
	p, header := &parted{}, strings.Join(unitHeader, ",")+"\n"
	for i, lines := range parts {
		p.lines = append(p.lines, lines...)
		p.parts = append(p.parts, write(t, fmt.Sprintf("part-%d.csv", i), header+strings.Join(lines, "")))
	}
	p.whole = write(t, "whole.csv", header+strings.Join(p.lines, ""))
	return p
}

// unitsPlan returns an algorithm's plan for units of rows. ok is false if the algorithm does not accept
// units.
func unitsPlan(t *testing.T, name, path string) (optimize.Plan, curator.Config, bool) {
	t.Helper()
	epsilon, delta := 4., 1e-6
	b := must[account.Budget](t)(account.NewBudget(epsilon, delta, account.ReplaceOne))
	settings := train.Settings{}
	if name == "dp-sgd" || name == "dp-adam" {
		settings["steps"] = 6
	}
	for _, l := range []train.LossName{"logistic", "tanh", "hinge"} {
		config := train.Config{
			Data: train.Files{path}, Schema: schema(t, unitSchema), Model: train.Model{Loss: l, Regularizer: "l2(0.01)"},
			Privacy: train.Privacy{Epsilon: &epsilon, Delta: &delta, Relation: "replace-one"},
			Train:   train.Train{Algorithm: name, Settings: settings},
		}
		n, err := curator.Count(context.Background(), curator.Config{Path: path, Schema: config.Schema})
		if err != nil {
			t.Fatal(err)
		}
		problem, made, err := config.Problem(b, float64(n))
		if err != nil {
			continue
		}
		if plan, _, err := config.Train.Plan(context.Background(), problem); err == nil {
			return plan, curator.Config{Path: path, Schema: config.Schema, Loss: made, Budget: b}, true
		}
	}
	return nil, curator.Config{}, false
}

// TestUnitsOverShards: every algorithm that accepts units must reach the same weights over shards as over
// one file, to the bit. For this the same rows of a person must be kept, in the same order.
func TestUnitsOverShards(t *testing.T) {
	p, ran := newPartedUnits(t), 0
	for _, name := range train.Algorithms() {
		plan, c, ok := unitsPlan(t, name, p.whole)
		if !ok {
			continue
		}
		run := func(s *curator.Session, err error) string {
			t.Helper()
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			defer s.Close()
			if needs := plan.Needs().Schedule; needs != nil {
				if err := s.Follow(needs); err != nil {
					t.Fatal(err)
				}
			}
			result, err := plan.Run(context.Background(), s, func(optimize.Step) {})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			return fmt.Sprintf("%x %+v", result.W, s.Ledger().Events())
		}
		want := run(curator.OpenNoisy(context.Background(), c, 9, nil))
		c.Path, c.Shards = "", p.shards(t, workers(t))
		if got := run(curator.OpenShards(context.Background(), c, 9)); got != want {
			t.Errorf("%s:\n%.300s: must be\n%.300s", name, got, want)
		}
		ran++
	}
	if ran < 5 {
		t.Errorf("%d algorithms ran", ran)
	}
}

// TestAPersonInTwoShards: a person with rows in two partitions must be refused before there is a session,
// however the person's cell is written and whether or not the rows can be used. The error must reveal
// neither the person nor the partitions. Rows without a person, or that the public filter rejects, may be
// in any partition.
func TestAPersonInTwoShards(t *testing.T) {
	for row, split := range map[string]bool{
		"ann,3,train,no\n": true, "  ann ,3,train,no\n": true, "ann,,train,perhaps\n": true,
		"ann,3,test,no\n": false, "Ann,3,train,no\n": false, " ,3,train,no\n": false, "NA,3,train,no\n": false,
		"ann,3,train\n": false,
	} {
		header := strings.Join(unitHeader, ",") + "\n"
		p := &parted{parts: []string{
			write(t, "part-0.csv", header+"ann,40,train,yes\nbob,20,train,no\n"),
			write(t, "part-1.csv", header+"eve,50,train,yes\n"+row),
		}}
		c := ofUnits(t, nil)
		c.Rows = nil
		c.Shards = p.shards(t, workers(t))
		s, err := curator.Open(context.Background(), c)
		switch {
		case err == nil:
			s.Close()
			if split {
				t.Errorf("%q: ann is in two partitions", row)
			}
		case !split || !strings.Contains(err.Error(), "a unit has rows in two partitions"):
			t.Errorf("%q: %v", row, err)
		case strings.ContainsAny(err.Error(), "0123456789") || strings.Contains(err.Error(), "ann"):
			t.Errorf("%q: the error tells of a person: %v", row, err)
		}
	}
}

// TestAnotherPersonEndsTheFit: if a partition is read again with the same rows under another person,
// the session must end, because the units of the partitions are compared only once, at the beginning.
func TestAnotherPersonEndsTheFit(t *testing.T) {
	header := strings.Join(unitHeader, ",") + "\n"
	for again, same := range map[string]bool{"ann": true, "eve": false, "fay": false} {
		p := &parted{parts: []string{
			write(t, "part-0.csv", header+"ann,40,train,yes\n"), write(t, "part-1.csv", header+"eve,50,train,yes\n"),
		}}
		c := ofUnits(t, nil)
		c.Rows = nil
		ctx, stop := context.WithCancel(context.Background())
		var first curator.Worker
		c.Shards = p.shards(t, func(w curator.Worker) {
			if w.Partition > 0 {
				go curator.Serve(context.Background(), w)
				return
			}
			first = w
			go curator.Serve(ctx, w)
		})
		s := must[*curator.Session](t)(curator.Open(context.Background(), c))
		stop()
		first.Paths = []string{write(t, "again.csv", header+again+",40,train,yes\n")}
		go curator.Serve(context.Background(), first)
		q := must[query.Question](t)(query.New(.01, query.GradientAt(s.All(), make([]float64, 2), 1)))
		_, err := s.Ask(context.Background(), q)
		if ended := err != nil && strings.Contains(err.Error(), "shard 0: must have the same rows"); ended == same ||
			same && err != nil {
			t.Errorf("%s: %v", again, err)
		}
		s.Close()
	}
}
