package engine_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/curator/internal/engine"
	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// flat is a network that says that it has no layers. deep is one that the engine takes for a loss of two scores.
type (
	flat struct{ loss.Composed }
	deep struct{ engine.Stacked }
)

func (flat) Layers() ([]int, string) { return nil, "" }
func (deep) Layers() ([]int, string) { return nil, "" }

// TestScoredLossHasOneScore tests that a loss that says that it has no layers gets no query in a metric unless the engine
// sees the one score of its rows: the gradients of others have no length there.
func TestScoredLossHasOneScore(t *testing.T) {
	l, err := loss.Parse("network(2,tanh,huber(0.5))")
	if err != nil {
		t.Fatal(err)
	}
	table, err := row.NewTable(3, 0)
	if err != nil {
		t.Fatal(err)
	}
	table.Append([]float32{.5, -.25, .125}, .5, true)
	for name, l := range map[string]loss.Loss{"general": flat{l.(loss.Composed)}, "two scores": deep{l.(engine.Stacked)}} {
		w := l.(loss.Composed).Start(3)
		m, err := query.Identity(3)
		if err != nil {
			t.Fatal(err)
		}
		all, err := query.Identity(len(w))
		if err != nil {
			t.Fatal(err)
		}
		e, err := engine.New(table, l, 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, term := range []query.Term{
			query.GradientInMetric(query.NewCohort(0, 1), w, 1, 1, m),
			query.SquaredSlopeAt(query.NewCohort(0, 1), w, 1, m),
			query.WeightedGradientAt(query.NewCohort(0, 1), w, 1, 1, all),
			query.WeightedCurvatureAt(query.NewCohort(0, 1), w, 1, 1, all),
			query.ScoreMomentAt(query.NewCohort(0, 1), w, 1, 1, all),
		} {
			q, err := query.New(1, term)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := e.Sum(context.Background(), q, 0x1p20, nil); err == nil || !strings.Contains(err.Error(), "must be") {
				t.Errorf("%s: %s: %v", name, q.Name(), err)
			}
		}
	}
}
