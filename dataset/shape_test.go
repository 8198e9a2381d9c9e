package dataset_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stillpoint-dp/stillpoint/dataset"
)

// TestShapesAreTheScore tests that moving a number from one knot to another, with all else equal,
// changes the score of the row by the change of the column's shapes, also halfway between knots. The
// test fails if a shape leaves out the linear term of the number itself, or if the factor of hats is
// wrong.
func TestShapesAreTheScore(t *testing.T) {
	s, err := dataset.New(dataset.Definition{
		Columns: []dataset.Column{
			{Name: "a", Kind: dataset.Number, Low: 10, High: 90, Curve: 5},
			{Name: "b", Kind: dataset.Number, Low: 0, High: 1000, Transform: dataset.Log1p, Curve: 3,
				Knots: []float64{0, 50, 1000}},
			{Name: "c", Kind: dataset.Category, Categories: []string{"x", "y"}},
		},
		Interactions: []dataset.Interaction{{"a", "c"}, {"b", "a"}},
		Target:       dataset.Target{Column: "t", Kind: dataset.Number, Low: -3, High: 5},
	})
	if err != nil {
		t.Fatal(err)
	}
	shapes := s.Shapes(false)
	if len(shapes) != 4 {
		t.Fatalf("%d shapes", len(shapes))
	}
	coin := rand.New(rand.NewPCG(1, 1))
	w := make([]float64, s.Dim())
	for j := range w {
		w[j] = coin.NormFloat64()
	}
	m, err := s.Bind([]string{"a", "b", "c", "t"})
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float32, s.Dim())
	score := func(a, b float64, c string) (sum float64) {
		if _, ok := m.Encode(x, []string{fmt.Sprint(a), fmt.Sprint(b), c, "0"}); !ok {
			t.Fatal("no row")
		}
		for j, v := range x {
			sum += float64(v) * w[j]
		}
		return 4 * sum // half of the target's range
	}
	at := func(shape, place int) (sum float64) {
		for _, p := range shapes[shape].Places[place].Parts {
			sum += p.Factor * w[p.Feature]
		}
		return sum
	}
	same := func(what string, got, want float64) {
		t.Helper()
		if !(math.Abs(got-want) <= 1e-4*(1+math.Abs(want))) {
			t.Errorf("%s: the score changes by %v, the shapes by %v", what, got, want)
		}
	}
	a, b := shapes[0].Axes[0], shapes[1].Axes[0]
	cross, pair := shapes[2], shapes[3] // c by a, b by a
	if len(cross.Axes[0].Levels) != 3 || cross.Axes[1].Column.Name != "a" || pair.Axes[0].Column.Name != "b" {
		t.Fatalf("axes %+v, %+v", cross.Axes, pair.Axes)
	}
	for i := range 5 {
		same(fmt.Sprintf("a at knot %d", i), score(a.Knots[i], 1000, "y")-score(a.Knots[0], 1000, "y"),
			at(0, i)-at(0, 0)+at(2, 5+i)-at(2, 5)+at(3, 20+i)-at(3, 20))
	}
	middle := b.Between(1, .5)
	same("b halfway", score(90, middle, "x")-score(90, b.Knots[1], "x"), (at(1, 2)-at(1, 1))/2+at(3, 3*5+4)-at(3, 2*5+4))
	if sum := a.Evenly(); !(math.Abs(sum[0]+sum[1]+sum[2]+sum[3]+sum[4]-1) <= 1e-12) || sum[0] != sum[1]/2 {
		t.Errorf("even shares %v", sum)
	}
}
