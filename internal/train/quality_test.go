package train

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/curator"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/runrecord"
)

// seenTable returns the second moment of generated rows with two numbers and a category, in the
// form in which a run with noise of standard deviation sigma would record it. The moment is about 0
// or, if centred, about the mean. No noise is added.
func seenTable(t *testing.T, s *dataset.Schema, centred bool, sigma float64,
	row func(r *rand.Rand) []string) *runrecord.Moment {
	t.Helper()
	const n = 4000
	bound, err := s.Bind([]string{"age", "income", "sex", "y"})
	if err != nil {
		t.Fatal(err)
	}
	r, d := rand.New(rand.NewPCG(1, 2)), s.Dim()
	matrix, mean, x := make([]float64, d*d), make([]float64, d), make([]float32, d)
	for range n {
		clear(x)
		if _, ok := bound.Encode(x, row(r)); !ok {
			clear(x)
		}
		for j := range d {
			mean[j] += float64(x[j]) / n
			for k := range d {
				matrix[j*d+k] += float64(x[j]) * float64(x[k]) / n
			}
		}
	}
	if centred {
		for j := range d {
			for k := range d {
				matrix[j*d+k] -= mean[j] * mean[k]
			}
		}
	}
	m := runrecord.NewMoment(matrix, d, sigma, .01)
	if centred {
		m.Mean, m.MeanSigma, m.MeanWeight = mean, sigma, 3
	}
	return m
}

// TestQualityWarnings tests the warnings that follow from a released second moment of the rows. Rows
// that the fit does not learn from, columns that hardly vary, and columns of which nearly all cells
// are at a bound must each cause a warning with the right code, whether the moment is about 0 or
// about the mean. There must be no warning for a sound table, or if the noise is as large as the
// effect.
func TestQualityWarnings(t *testing.T) {
	s, err := dataset.New(dataset.Definition{
		Columns: []dataset.Column{
			{Name: "age", Kind: dataset.Number, Low: 0, High: 100},
			{Name: "income", Kind: dataset.Number, Low: 0, High: 1000},
			{Name: "sex", Kind: dataset.Category, Categories: []string{"f", "m"}},
		},
		Target: dataset.Target{Column: "y", Kind: dataset.Category, Classes: []string{"no", "yes"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	sound := func(r *rand.Rand) []string {
		return []string{[]string{"20", "50", "70"}[r.IntN(3)], []string{"10", "500", "900"}[r.IntN(3)],
			[]string{"f", "m"}[r.IntN(2)], []string{"no", "yes"}[r.IntN(2)]}
	}
	with := func(column int, cell string, share float64) func(r *rand.Rand) []string {
		return func(r *rand.Rand) []string {
			cells := sound(r)
			if r.Float64() < share {
				cells[column] = cell
			}
			return cells
		}
	}
	for name, c := range map[string]struct {
		row   func(r *rand.Rand) []string
		codes []string
	}{
		"sound":                        {sound, nil},
		"no target":                    {with(3, "?", 1), []string{WarnRows}},
		"half of the targets":          {with(3, "?", .5), []string{WarnRows}},
		"a constant":                   {with(0, "30", 1), []string{WarnConstant}},
		"an income in thousandths":     {with(1, "0.5", 1), []string{WarnBounds}},
		"an income in cents":           {with(1, "90000", 1), []string{WarnBounds}},
		"a category written otherwise": {with(2, "female", 1), []string{WarnConstant}},
		"most of one level":            {with(2, "m", .9), nil},
	} {
		for _, centred := range []bool{false, true} {
			var codes []string
			for _, w := range qualityWarnings(s, seenTable(t, s, centred, 1e-5, c.row)) {
				codes = append(codes, w.Code)
				if len(w.Text) > qualityWarningBytes {
					t.Errorf("%s: a warning of %d bytes", name, len(w.Text))
				}
			}
			if !slices.Equal(codes, c.codes) {
				t.Errorf("%s, about the mean %t: %q, want %q", name, centred, codes, c.codes)
			}
			if list := qualityWarnings(s, seenTable(t, s, centred, .3, c.row)); len(list) > 0 {
				t.Errorf("%s, about the mean %t, in much noise: %v", name, centred, list)
			}
		}
	}
	if list := qualityWarnings(s, nil); list != nil {
		t.Errorf("no second moment: %v", list)
	}
}

// TestExposuresAreNoShareOfRows: a fit of counts over exposures of a sound table has no warning of rows, columns or
// levels, and one of counts over equal exposures warns of a column that hardly varies.
func TestExposuresAreNoShareOfRows(t *testing.T) {
	for target, want := range map[string][]string{
		"{column: n, number: [0, 10], offset: {column: at, number: [-5, 0]}}":     nil,
		"{column: n, number: [0, 10], exposure: {column: w, number: [0.001, 1]}}": nil,
		"{column: n, number: [0, 10], weight: w}":                                 nil,
		"{column: n, number: [0, 10]}":                                            {WarnConstant},
	} {
		ignored := ""
		for _, name := range []string{"at", "w"} {
			if !strings.Contains(target, ": "+name) {
				ignored += ", " + name + ": ignore"
			}
		}
		c, err := ReadConfig(write(t, filepath.Join(t.TempDir(), "counts.yaml"), `
data: counts.csv
schema:
  columns: {age: {number: [-1, 1]}, same: {number: [-1, 1]}, sex: {category: [f, m]}`+ignored+`}
  target: `+target+`
model: {loss: "poisson(1)", family: lines}
privacy: {epsilon: 200, delta: 1e-6, relation: replace-one}
`))
		if err != nil {
			t.Fatal(err)
		}
		c.Data = nil
		c.Rows = &curator.Rows{Header: []string{"age", "same", "sex", "n", "at", "w"}, Cells: func(yield func([]string, error) bool) {
			r := rand.New(rand.NewPCG(1, 2))
			for i := range 4000 {
				age, same := fmt.Sprint(2*r.Float64()-1), "0"
				if want == nil {
					same = age
				}
				at, w := -5*r.Float64(), .002+.997*float64(i%2)
				if !yield([]string{age, same, []string{"f", "m"}[i%2], fmt.Sprint(5 + r.IntN(5)), fmt.Sprint(at), fmt.Sprint(w)}, nil) {
					return
				}
			}
		}}
		f, err := c.Fit(t.Context(), Options{Software: "test v1"})
		if err != nil {
			t.Fatalf("%s: %v", target, err)
		}
		var codes []string
		for _, w := range f.Warnings {
			if slices.Contains([]string{WarnRows, WarnConstant, WarnBounds}, w.Code) {
				codes = append(codes, w.Code)
				t.Log(target, w.Text)
			}
		}
		if !slices.Equal(codes, want) {
			t.Errorf("%s: %q, must be %q", target, codes, want)
		}
	}
}

// TestMomentsHaveTheUnitsOfTheSchema works out the entries of a released second moment of columns, and their noise, in the
// units of the schema: squares have the square of the scale, and the mean row and its noise have the scale.
func TestMomentsHaveTheUnitsOfTheSchema(t *testing.T) {
	var def dataset.Definition
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		def.Columns = append(def.Columns, dataset.Column{Name: name, Kind: dataset.Number, Low: 0, High: 1})
	}
	def.Target = dataset.Target{Column: "y", Kind: dataset.Category, Classes: []string{"no", "yes"}}
	s, err := dataset.New(def)
	if err != nil {
		t.Fatal(err)
	}
	d, scale := s.Dim(), s.Scale()
	if !(scale > 2) {
		t.Fatalf("a scale of %v", scale)
	}
	entries, mean := make([]float64, d*d), make([]float64, d)
	for j := range d {
		mean[j] = .01 * float64(j+1)
		for k := range d {
			entries[j*d+k] = .001 * float64(j+k+1)
		}
	}
	m := runrecord.NewMoment(entries, d, .004, .01)
	for _, centred := range []bool{false, true} {
		if centred {
			m.Mean, m.MeanSigma, m.MeanWeight = mean, .03, 3
		}
		g, ok := momentOf(s, m)
		if !ok {
			t.Fatal("no moment")
		}
		for _, c := range [][2]int{{0, 0}, {2, 2}, {1, 3}, {5, 0}, {d - 1, d - 1}} {
			j, k := c[0], c[1]
			value, noise, sum := entries[j*d+k], .004, 2*mean[j]
			if j != k {
				noise, sum = noise/math.Sqrt2, math.Hypot(mean[j], mean[k])
			}
			if centred {
				value, noise = value+mean[j]*mean[k], math.Hypot(noise, .03*sum)
			}
			got, sigma := g.at(j, k)
			if !(math.Abs(got-value*scale*scale) <= 1e-3) || !(math.Abs(sigma/(noise*scale*scale)-1) <= 1e-9) {
				t.Errorf("centred %v, entry %v: %v with noise %v: must be %v with %v", centred, c, got, sigma, value*scale*scale, noise*scale*scale)
			}
		}
	}
}

// TestWarningsBeginWhereNoiseEnds finds, by the formulas of the warnings, the noise of a released moment with which a column
// is just judged, where not all rows are read and the share of those that are has noise of its own: with a hundredth less
// noise there is a warning, and with a hundredth more there is none.
func TestWarningsBeginWhereNoiseEnds(t *testing.T) {
	const share, noise = .6, .0012
	for name, c := range map[string]struct {
		mean, square float64 // of the feature, over the rows that are read
		far          func(mean, square, sigma float64) float64
		warns        func(g rowMoment) []Warning
	}{
		"at a bound": {-.985, .985, func(mean, _, sigma float64) float64 {
			return math.Abs(mean) - 3*math.Hypot(sigma/math.Sqrt2, mean*noise)/share - .97
		}, func(g rowMoment) []Warning { return g.number("c", 0, share, noise) }},
		"hardly varies": {.4, .4*.4 + .0001, func(mean, square, sigma float64) float64 {
			first := math.Hypot(sigma/math.Sqrt2, mean*noise) / share
			second := math.Hypot(sigma, square*noise) / share
			return .06*.06 - (square - mean*mean) - 3*math.Hypot(second, 2*mean*first)
		}, func(g rowMoment) []Warning { return g.number("c", 0, share, noise) }},
		"of one level": {.9995, .9995, func(_, square, sigma float64) float64 {
			return square - 3*math.Hypot(sigma, square*noise)/share - .99
		}, func(g rowMoment) []Warning {
			return g.category([]string{"c=a"}, dataset.FeatureRange{Columns: []string{"c"}, First: 0, Width: 1}, share, noise)
		}},
	} {
		far := func(sigma float64) float64 { return c.far(c.mean, c.square, sigma) }
		low, high := 0., 1.
		for range 60 {
			if middle := (low + high) / 2; far(middle) > 0 {
				low = middle
			} else {
				high = middle
			}
		}
		if low == 0 {
			t.Fatalf("%s: no noise is small enough", name)
		}
		for _, by := range []float64{.99, 1.01} {
			first := c.mean * share
			g := rowMoment{matrix: []float64{c.square * share, first, first, share}, dim: 2, sigma: by * low}
			if got := len(c.warns(g)); (got == 1) != (by < 1) {
				t.Errorf("%s: %d warnings with %v of the noise", name, got, by)
			}
		}
	}
}
