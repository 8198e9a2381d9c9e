package engine_test

import (
	"context"
	"math"
	"slices"
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

// astray is a loss of ordered classes that names another class of the records of target y: one that there is not, or any.
type astray struct {
	engine.Parted
	class int
	y     float64
}

func (l astray) Parts(theta []float64, z, y float64) (int, [3]float64, [3]float64, bool) {
	class, slopes, curvatures, ok := l.Parted.Parts(theta, z, y)
	if y == l.y {
		class = l.class
	}
	return class, slopes, curvatures, ok
}

// TestScoredLossTellsItsParts tests that a loss with a score gets no weighted query unless it tells the parts of a record,
// and that a record of a class that there is not is faulty: it contributes zero.
func TestScoredLossTellsItsParts(t *testing.T) {
	l, err := loss.Parse("ordered(4)")
	if err != nil {
		t.Fatal(err)
	}
	table, err := row.NewTable(3, 0)
	if err != nil {
		t.Fatal(err)
	}
	table.Append([]float32{.5, -.25, .125}, 2, true)
	two, err := row.NewTable(3, 0)
	if err != nil {
		t.Fatal(err)
	}
	two.Append([]float32{.5, -.25, .125}, 2, true)
	two.Append([]float32{.5, -.25, .125}, 1, true)
	all, err := query.Identity(5)
	if err != nil {
		t.Fatal(err)
	}
	sum := func(table *row.Table, l loss.Loss, term query.Term) ([]int64, error) {
		e, err := engine.New(table, l, 1)
		if err != nil {
			t.Fatal(err)
		}
		q, err := query.New(1, term)
		if err != nil {
			t.Fatal(err)
		}
		s, err := e.Sum(context.Background(), q, 0x1p20, nil)
		return s.Residual, err
	}
	w := make([]float64, 5)
	for _, term := range []query.Term{
		query.WeightedGradientAt(query.NewCohort(0, 1), w, 1, 1, all),
		query.WeightedCurvatureAt(query.NewCohort(0, 1), w, 1, 1, all),
		query.ScoreMomentAt(query.NewCohort(0, 1), w, 1, 1, all),
	} {
		if _, err := sum(table, struct{ engine.Stacked }{l.(engine.Stacked)}, term); err == nil || !strings.Contains(err.Error(), "parts") {
			t.Errorf("%v: %v", term.Kind(), err)
		}
		for class := -2; class < 7; class++ {
			got, err := sum(table, astray{l.(engine.Parted), class, 2}, term)
			if err != nil {
				t.Fatal(err)
			}
			zero := true
			for _, v := range got {
				zero = zero && v == 0
			}
			if zero != (class < 0 || class > 3) {
				t.Errorf("%v: class %d contributes %v", term.Kind(), class, got)
			}
		}
		// After a sound record a faulty one contributes nothing, and not what the record before it did.
		alone, err := sum(table, l, term)
		if err != nil {
			t.Fatal(err)
		}
		if both, err := sum(two, astray{l.(engine.Parted), 9, 1}, term); err != nil || !slices.Equal(both, alone) {
			t.Errorf("%v: with a faulty record after a sound one %v, %v: must be %v", term.Kind(), both, err, alone)
		}
	}
}

// TestGradientsOfClassesAreShortened: a record's gradient that is half again as long as its limit is as long as the limit, and
// one that is too long in the metric and without it, for a row of norm 1, is as long as the smaller of both limits allows.
func TestGradientsOfClassesAreShortened(t *testing.T) {
	l, err := loss.Parse("ordered(4)")
	if err != nil {
		t.Fatal(err)
	}
	table, err := row.NewTable(3, 0)
	if err != nil {
		t.Fatal(err)
	}
	table.Append([]float32{.5, -.25, .125}, 2, true)
	identity, err := query.Identity(5)
	if err != nil {
		t.Fatal(err)
	}
	w := []float64{.5, -1, .25, .75, -.5}
	sum := func(term query.Term) []float64 {
		t.Helper()
		e, err := engine.New(table, l, 1)
		if err != nil {
			t.Fatal(err)
		}
		q, err := query.New(1, term)
		if err != nil {
			t.Fatal(err)
		}
		s, err := e.Sum(context.Background(), q, 0x1p24, nil)
		if err != nil {
			t.Fatal(err)
		}
		out := make([]float64, len(s.Residual))
		for j, v := range s.Residual {
			out[j] = float64(v) / 0x1p24
		}
		return out
	}
	norm := func(v []float64) (of float64) {
		for _, x := range v {
			of = math.Hypot(of, x)
		}
		return of
	}
	all := query.NewCohort(0, 1)
	const reach = 4.
	whole := sum(query.WeightedGradientAt(all, w, 9, reach, identity))
	long := norm(whole)
	for share, want := range map[float64]float64{.8: 1, 1.5: 1 / 1.5, 3: 1. / 3} {
		got := sum(query.WeightedGradientAt(all, w, long/(share*reach), reach, identity))
		for j, v := range got {
			if !(math.Abs(v-want*whole[j]) <= 1e-6) {
				t.Errorf("weighted, %v of the limit: %v: must be %v of %v", share, got, want, whole)
				break
			}
		}
	}
	whole = sum(query.GradientInMetric(all, w, 9, 9, identity))
	long = norm(whole)
	plain := norm([]float64{whole[0] / .5, whole[3], whole[4]}) // as of a row of norm 1
	for limits, want := range map[[2]float64]float64{{2, 2}: 1, {.25, .5}: .25, {.5, .25}: .25, {.5, 2}: .5, {2, .5}: .5} {
		got := sum(query.GradientInMetric(all, w, limits[0]*long, limits[1]*plain, identity))
		for j, v := range got {
			if !(math.Abs(v-want*whole[j]) <= 1e-6) {
				t.Errorf("in the metric and without it, limits %v: %v: must be %v of %v", limits, got, want, whole)
				break
			}
		}
	}
}
