package report

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// TestLongTablesHaveTheLargest: of 402 coefficients the table has the 399 with the largest spans and the intercept, also where
// the largest come last.
func TestLongTablesHaveTheLargest(t *testing.T) {
	var e explanation
	for i := range mostRows + 2 {
		e.list = append(e.list, coefficient{name: fmt.Sprint("x", i), span: float64(i + 1)})
	}
	e.list = append(e.list, coefficient{name: "(intercept)", intercept: true})
	got := (&Fit{}).table(e, false).Rows
	if len(got) != mostRows || got[0].Cells[0] != "x3" || got[mostRows-2].Cells[0] != fmt.Sprint("x", mostRows+1) ||
		got[mostRows-1].Cells[0] != "(intercept)" {
		t.Errorf("%d rows: %v, %v, %v", len(got), got[0], got[len(got)-2], got[len(got)-1])
	}
}

// TestChartsCountTheirBars: the title of a chart says how many coefficients are left out, if any are.
func TestChartsCountTheirBars(t *testing.T) {
	fit := read(t, people(t, "p", 4))
	for n, want := range map[int]string{19: "The largest coefficients", 20: "The largest coefficients", 21: "The 20 largest of 21 coefficients"} {
		var e explanation
		for i := range n {
			e.list = append(e.list, coefficient{name: fmt.Sprint("x", i), span: float64(i + 1)})
		}
		if b := fit.bars(e, "units"); b.Title != want || len(b.Items) != min(n, 20) || b.Items[0].Name != fmt.Sprint("x", n-1) {
			t.Errorf("%d: %q, %d bars, first %s", n, b.Title, len(b.Items), b.Items[0].Name)
		}
	}
}

// TestHiddenTermsHaveNoCovariance: the covariances of a term without a deviation are not stated, as rows and as columns, and
// those of the others are.
func TestHiddenTermsHaveNoCovariance(t *testing.T) {
	w := newBowl(t, 0)
	weights, l := w.fit(rand.New(rand.NewPCG(3, 1)))
	f := w.fitted(t, weights, l)
	f.Certificate = read(t, people(t, "p", 4)).Certificate
	c, err := f.Coefficients()
	if err != nil {
		t.Fatal(err)
	}
	hidden := 0
	for i, of := range c.Terms {
		if of.Deviation == nil {
			hidden++
		}
		for j, other := range c.Terms {
			v := c.Covariance[i][j]
			if (v == nil) != (of.Deviation == nil || other.Deviation == nil) {
				t.Errorf("%s and %s: a covariance is stated: %v", of.Term, other.Term, v != nil)
			}
			if i == j && v != nil && !(math.Abs(math.Sqrt(*v)-*of.Deviation) <= 1e-9) {
				t.Errorf("%s: the variance %v of the deviation %v", of.Term, *v, *of.Deviation)
			}
		}
	}
	if hidden == 0 || hidden == len(c.Terms) {
		t.Errorf("%d of %d terms are hidden: the test shows nothing", hidden, len(c.Terms))
	}
	if len(c.References) != 1 || c.References["c"] != "x" {
		t.Errorf("%v", c.References)
	}
}
