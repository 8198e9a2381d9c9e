package simulate_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/simulate"
	"github.com/stillpoint-dp/stillpoint/curator/simulate/recordtest"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/query"
)

var _ optimize.Oracle = (*recordtest.Recording)(nil)

func recordingConfig(t *testing.T) simulate.Config {
	rows, targets := table(30, 3)
	return simulate.Config{Rows: rows, Targets: targets, Loss: parse(t, "tanh"), Budget: budget(t, account.ReplaceOne),
		Seed: 5, Workers: 1}
}

// walk makes queries on a drawn cohort at points that follow from the answers, and returns the last
// point.
func walk(t *testing.T, s *recordtest.Recording, steps int) ([]float64, error) {
	t.Helper()
	w := []float64{0, 0, 0}
	c, err := s.Draw(7)
	if err != nil {
		t.Fatal(err)
	}
	for range steps {
		q, err := query.New(1e-4, query.GradientAt(c, w, 1))
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.Ask(context.Background(), q)
		if err != nil {
			return w, err
		}
		for j := range w {
			w[j] -= .1 * r.Mean[j]
			r.Mean[j] = 1e9 // a write to an answer must not affect the session
		}
	}
	return w, nil
}

// TestReplayRepeatsReleases: with the releases of a recording, a run on another table takes the same steps
// over the same cohorts. The exact answers are computed on the other table.
func TestReplayRepeatsReleases(t *testing.T) {
	c := recordingConfig(t)
	recorded, err := recordtest.Record(c)
	if err != nil {
		t.Fatal(err)
	}
	want, err := walk(t, recorded, 4)
	if err != nil {
		t.Fatal(err)
	}
	exchanges := recorded.Exchanges()
	if len(exchanges) != 4 || len(exchanges[0].Members) != 7 || !exchanges[0].Event.Simulated {
		t.Fatalf("exchanges %+v", exchanges)
	}
	moved := 0
	for i := range c.Rows {
		other := c
		other.Rows = slices.Clone(c.Rows)
		other.Rows[i] = []float32{1, 0, 0}
		replayed, err := recordtest.Replay(other, exchanges)
		if err != nil {
			t.Fatal(err)
		}
		got, err := walk(t, replayed, 4)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("record %d: went to %v, %v: must go to %v", i, got, err, want)
		}
		member := slices.Contains(exchanges[0].Members, int32(i))
		for k, x := range replayed.Exchanges() {
			if !slices.Equal(x.Members, exchanges[k].Members) {
				t.Errorf("record %d: answer %d is of other records", i, k)
			}
			if slices.Equal(x.Exact, exchanges[k].Exact) == member {
				t.Errorf("record %d: answer %d: a member moves the exact answer, and nobody else does", i, k)
			}
		}
		if member {
			moved++
		}
	}
	if moved != 7 {
		t.Errorf("%d records moved the answer, want the 7 of the cohort", moved)
	}
}

// TestReplayDiverges: a run that makes more queries than were recorded, or another kind of query,
// gets ErrDiverged.
func TestReplayDiverges(t *testing.T) {
	c := recordingConfig(t)
	recorded, err := recordtest.Record(c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := walk(t, recorded, 2); err != nil {
		t.Fatal(err)
	}
	replayed, err := recordtest.Replay(c, recorded.Exchanges())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := walk(t, replayed, 3); !errors.Is(err, recordtest.ErrDiverged) {
		t.Errorf("a third answer: error %v", err)
	}
	replayed, err = recordtest.Replay(c, recorded.Exchanges())
	if err != nil {
		t.Fatal(err)
	}
	q, err := query.New(1e-4, query.ValueAt(replayed.All(), []float64{0, 0, 0}, 1, 1))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := replayed.Ask(context.Background(), q); !errors.Is(err, recordtest.ErrDiverged) {
		t.Errorf("a number for a vector: error %v", err)
	}
	if replayed, err = recordtest.Replay(c, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := walk(t, replayed, 1); !errors.Is(err, recordtest.ErrDiverged) {
		t.Errorf("a replay of nothing: error %v", err)
	}
	c.Rows = nil
	if r, err := recordtest.Record(c); err == nil || r != nil {
		t.Errorf("no rows: %v, %v", r, err)
	}
}
