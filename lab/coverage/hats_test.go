package coverage

import (
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"strconv"
	"testing"

	"github.com/stillpoint-dp/stillpoint"
	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/loss"
)

// curvedDesign is a population of two classes with a curve of x in [0, 100], another number and a category. The function of draws x
// and returns it with its part of the log-odds.
type curvedDesign struct {
	name      string
	intercept float64
	of        func(r *rand.Rand) (x, z float64)
	chose     bool // the rule for hats
}

func within(x float64) float64 { return min(max(x, 0), 100) }

var curvedDesigns = []curvedDesign{
	{"steep at low values", -4.5, func(r *rand.Rand) (float64, float64) {
		x := within(gammaOf(r, 1.5, 18))
		return x, 5 * (1 - math.Exp(-x/25))
	}, true},
	{"a bump", -1.5, func(r *rand.Rand) (float64, float64) {
		x := within(20 + 18*r.NormFloat64())
		return x, 2.5*math.Exp(-(x-30)*(x-30)/144) - .02*x
	}, true},
	{"a fall at high values", .5, func(r *rand.Rand) (float64, float64) {
		x := within(15 * r.ExpFloat64())
		return x, -5 * min(max((x-20)/40, 0), 1)
	}, true},
	{"a fall on both sides", .8, func(r *rand.Rand) (float64, float64) {
		x := 100 * (r.Float64() + r.Float64()) / 2
		return x, -5 * (x - 50) * (x - 50) / 2500
	}, false},
	{"a logarithm with a step", -4, func(r *rand.Rand) (float64, float64) {
		x := within(math.Exp(2.5 + .8*r.NormFloat64()))
		z := 1.6 * math.Log1p(x) / math.Log(4)
		if x > 60 {
			z -= .8
		}
		return x, z
	}, false},
}

// TestHatsLong prints how often the value of a knot is within two stated deviations of the fit without privacy with the same
// knots, by hand: -long.fits. A knot is quiet if the mean second derivative of the loss over the rows around it is less
// than half of that over all rows.
func TestHatsLong(t *testing.T) {
	if *longFits == 0 {
		t.Skip("by hand: -long.fits")
	}
	named := regexp.MustCompile(*longDesign)
	fmt.Println("| design | rows | epsilon | fits | stated | within two | quiet | quiet, within two |\n|---|---|---|---|---|---|---|---|")
	for _, d := range curvedDesigns {
		for _, records := range []int{5_000, 25_000} {
			for _, epsilon := range []float64{1, 4} {
				if named.MatchString(d.name) {
					d.judge(t, records, epsilon)
				}
			}
		}
	}
}

func (d curvedDesign) judge(t *testing.T, records int, epsilon float64) {
	of := dataset.Definition{
		Columns: []dataset.Column{
			{Name: "x", Kind: dataset.Number, High: 100, Curve: dataset.CurveAuto},
			{Name: "u", Kind: dataset.Number, Low: -4, High: 4, Curve: dataset.CurveAuto},
			{Name: "c", Kind: dataset.Category, Categories: []string{"a", "b", "c"}},
		},
		Target: dataset.Target{Column: "y", Kind: dataset.Category, Classes: []string{"0", "1"}},
	}
	schema, err := dataset.New(of)
	if err != nil {
		t.Fatal(err)
	}
	type row struct {
		x, u float64
		c, y string
	}
	columns := []stillpoint.Column[row]{
		stillpoint.Number("x", func(r row) float64 { return r.x }), stillpoint.Number("u", func(r row) float64 { return r.u }),
		stillpoint.Text("c", func(r row) string { return r.c }), stillpoint.Text("y", func(r row) string { return r.y }),
	}
	var held, stated, heldQuiet, quiet int
	for i := range *longFits {
		r := rand.New(rand.NewPCG(uint64(i), 0x4A75))
		rows, texts := make([]row, records), make([][]string, records)
		for n := range rows {
			x, z := d.of(r)
			u, c := min(max(r.NormFloat64(), -4), 4), 0
			if at := r.Float64(); at > .5 {
				c = 1 + int(min((at-.5)/.3, 1))
			}
			z += d.intercept + .4*u + []float64{0, .6, -.5}[c]
			rows[n] = row{x, u, string(rune('a' + c)), strconv.Itoa(int(bernoulli(r, z)))}
			texts[n] = []string{strconv.FormatFloat(x, 'g', -1, 64), strconv.FormatFloat(u, 'g', -1, 64), rows[n].c, rows[n].y}
		}
		fit, err := stillpoint.Fit(t.Context(), stillpoint.Spec{Table: stillpoint.Rows(rows, columns...), Schema: schema,
			Loss: loss.Logistic(), Anyway: true,
			Budget: stillpoint.Budget{Epsilon: epsilon, Delta: 1e-6, Relation: account.ReplaceOne}})
		if err != nil {
			t.Fatal(err)
		}
		terms, err := said(t, fit)
		if err != nil {
			t.Fatal(err)
		}
		header := []string{"x", "u", "c", "y"}
		l, err := own(fit.Model.Schema(), header, texts)
		if err != nil {
			t.Fatal(err)
		}
		slopes, err := l.slopes(fit.Model.Schema(), header, texts)
		if err != nil {
			t.Fatal(err)
		}
		for j, term := range fit.Model.Schema().Terms(false) {
			k := terms.Terms[j]
			value, deviation := l.of(term)
			slope, ok := slopes[term.Name]
			if !ok || k.Deviation == nil || deviation >= 1 { // no knot, not stated, or no minimum
				continue
			}
			in := 0
			if math.Abs(*k.Value-value) <= 2**k.Deviation {
				in = 1
			}
			stated, held = stated+1, held+in
			if slope < .5 {
				quiet, heldQuiet = quiet+1, heldQuiet+in
			}
		}
	}
	fmt.Printf("| %s | %d | %g | %d | %d | %.3f | %d | %.3f |\n", d.name, records, epsilon, *longFits, stated,
		float64(held)/float64(stated), quiet, float64(heldQuiet)/float64(quiet))
}

// slopes returns for each knot the mean second derivative of the loss around it at the least loss, divided by that of all
// rows.
func (l least) slopes(s *dataset.Schema, header []string, rows [][]string) (map[string]float64, error) {
	m, err := s.Bind(header)
	if err != nil {
		return nil, err
	}
	all, n := 0., 0.
	masses, curved := make([]float64, s.Dim()), make([]float64, s.Dim())
	dense := make([]float32, s.Dim())
	for _, cells := range rows {
		if _, ok := m.Encode(dense, cells); !ok {
			continue
		}
		z := 0.
		for j, v := range dense {
			z += float64(v) * l.weights[j]
		}
		p := 1 / (1 + math.Exp(-z))
		all, n = all+p*(1-p), n+1
		for j, v := range dense {
			masses[j] += float64(v)
			curved[j] += float64(v) * p * (1 - p)
		}
	}
	slopes := map[string]float64{}
	for _, t := range s.Terms(false) {
		for _, h := range s.Hats() {
			for _, p := range t.Parts {
				if j := p.Feature; j >= h.First && j < h.First+h.Width && j != h.Reference() && masses[j] > 0 {
					slopes[t.Name] = curved[j] / masses[j] / (all / n)
				}
			}
		}
	}
	return slopes, nil
}
