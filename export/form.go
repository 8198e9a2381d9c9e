package export

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/targetpair"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/model"
)

// form holds the parts of a model that both kinds of export, the ONNX graph and the SQL query, use.
type form struct {
	model   *model.Model
	output  model.Output
	target  dataset.Target
	columns []column
	crosses []cross
	// hats are the piecewise linear basis functions of the model's curves and of its interactions with
	// numbers or dates.
	hats []dataset.Hats
	// scale is S, the public number by which the row map of package dataset divides each row. share
	// is 1/S.
	scale, share float64
	weights      []float64
	// dim is the number of features. margins is the number of margins. sums is the number of weighted sums
	// over the features: the number of margins or, in a network, of units of the first layer. With features of
	// effects it is the number of effects and 1.
	dim, sums, margins int
	// hidden are the numbers of units of a network's hidden layers, and activation is the name of its
	// activation function. Both are empty if the model is not a network.
	hidden     []int
	activation string
	// thresholds are those between ordered classes, on the scale of the one score of a row; nil for other losses.
	thresholds []float64
	// odds are the baseline odds above 0 of a model of logit hazards, as shares of their sum; nil for other losses.
	odds []float64
	// waves are the model's features of effects; nil if it has none. The weighted sums are then the margin and the
	// effects.
	*waves
}

// column is a column of the table that has features in the model. at is the index of its first feature.
type column struct {
	dataset.Column
	at int
	// markers are the values of the missing markers that are numbers (such as -9) or, for a date column,
	// dates (in days since 1970-01-01).
	markers []float64
}

func newForm(m *model.Model) (*form, error) {
	output, err := m.Output()
	if err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	s := m.Schema()
	f := &form{
		model: m, output: output, target: s.Target(), scale: s.Scale(), share: 1 / s.Scale(),
		weights: m.Weights(), dim: s.Dim(), margins: 1,
	}
	if output == model.Probabilities {
		f.margins = len(f.target.Classes)
	}
	f.sums = f.margins
	if t := f.target; t.Grouped == targetpair.Logit {
		f.odds = slices.DeleteFunc(targetpair.Times{Cuts: t.Cuts, Increments: t.Hazards}.Shares(),
			func(h float64) bool { return !(h > 0) })
	}
	if f.thresholds = targetpair.Thresholds(m.Loss(), f.weights, f.dim); f.thresholds != nil {
		f.sums = 1
	} else if network, ok := m.Loss().(loss.Composed); ok {
		f.hidden, f.activation = network.Layers()
		f.sums = f.hidden[0]
	}
	f.findWaves(s)
	f.hats = s.Hats()
	columns := s.Columns()
	for _, r := range s.Ranges() {
		if len(r.Columns) == 1 {
			c := columns[slices.IndexFunc(columns, func(c dataset.Column) bool { return c.Name == r.Columns[0] })]
			f.columns = append(f.columns, column{c, r.First, markers(c, s.Missing())})
			continue
		}
		if x := (cross{f.column(r.Columns[0]), f.column(r.Columns[1]), r.First}); !x.a.number() && !x.b.number() {
			f.crosses = append(f.crosses, x)
		}
	}
	return f, nil
}

// most returns the largest squared norm that the features of the curve or interaction h can have in a row,
// in units of 1/S^2: 2 for one numeric column and 4 for two.
func most(h dataset.Hats) int { return 1 << len(h.Axes) }

// outer returns the category column of h, which is an interaction of a category and a number or date.
func (f *form) outer(h dataset.Hats) column {
	_, categories := f.kinds()
	return categories[h.Group]
}

// markers returns the values of those missing markers that a number or date column would read as values:
// numbers such as -9, or days since 1970-01-01 for a date.
func markers(c dataset.Column, missing []string) (list []float64) {
	for _, marker := range missing {
		x, err := strconv.ParseFloat(marker, 64)
		known := err == nil && !math.IsNaN(x)
		if c.Kind == dataset.Date {
			x, known = c.Days(marker)
		}
		if known {
			list = append(list, x)
		}
	}
	return list
}

// cross is an interaction of two categories a and b in the model. at is the index of its first feature.
type cross struct {
	a, b column
	at   int
}

// number reports whether the column is a number or a date. The features of other columns are looked up by
// level.
func (c column) number() bool { return c.Kind == dataset.Number || c.Kind == dataset.Date }

// levels returns the number of a category's listed values, or of a hash column's buckets. The feature
// "other" follows the features of these levels and is not counted.
func (c column) levels() int { return len(c.Categories) + c.Buckets }

// width returns the number of features of a category or hash column in the model, including the feature "other".
func (c column) width() int { return c.levels() + 1 }

func (f *form) column(name string) column {
	return f.columns[slices.IndexFunc(f.columns, func(c column) bool { return c.Name == name })]
}

// kinds returns the model's columns in two lists: the number and date columns, and the category and
// hash columns.
func (f *form) kinds() (numbers, categories []column) {
	return only(f.columns, column.number), only(f.columns, func(c column) bool { return !c.number() })
}

// only returns the columns that fit.
func only(columns []column, fits func(column) bool) []column {
	return slices.DeleteFunc(slices.Clone(columns), func(c column) bool { return !fits(c) })
}

// hashed returns the columns whose values are hashed, and indicated those with an indicator of missing cells.
func hashed(columns []column) []column {
	return only(columns, func(c column) bool { return c.Kind == dataset.Hash })
}

func indicated(columns []column) []column {
	return only(columns, func(c column) bool { return c.Indicator })
}

// weight returns the weight of a feature in one of the model's weighted sums: a margin, or a unit
// of a network's first layer.
func (f *form) weight(sum, feature int) float64 { return f.weights[sum*f.dim+feature] }

// layers returns the weights above each hidden layer. above[l][u] are the weights from unit u of hidden layer l, one
// for each unit of the next layer or each margin. The last entry of above[l] belongs to the constant unit.
func (f *form) layers() (above [][][]float64) {
	rest := f.weights[f.sums*f.dim:]
	for l, units := range f.hidden {
		out := f.margins
		if l+1 < len(f.hidden) {
			out = f.hidden[l+1]
		}
		below := rest
		above = append(above, vector.Make(units+1, func(j int) []float64 {
			return vector.Make(out, func(k int) float64 { return below[k*(units+1)+j] })
		}))
		rest = rest[out*(units+1):]
	}
	return above
}

// ordered returns, for each ordered class, the thresholds above and below it, and the logarithm of 1 - e^-gap for the
// gap between them. A class without one has infinite as its threshold, and then no gap. The logarithm of the class's
// probability at the score z is
//
//	gap - log(1 + e^(z - above)) - log(1 + e^(below - z)).
func (f *form) ordered() (above, below, gap []float64) {
	const infinite = 1e30 // float32 holds it
	t := f.thresholds
	above, below = append(slices.Clone(t), infinite), append([]float64{-infinite}, t...)
	gap = make([]float64, len(above))
	for c := 1; c < len(t); c++ {
		gap[c] = math.Log(-math.Expm1(t[c-1] - t[c]))
	}
	return above, below, gap
}

// intercept returns the index of the constant feature, which is the last feature.
func (f *form) intercept() int { return f.dim - 1 }

// inUnits returns the linear map from a regression's margin z to the prediction in the target's units, z
// half + mid.
func (f *form) inUnits() (half, mid float64) {
	return f.target.High/2 - f.target.Low/2, f.target.Low/2 + f.target.High/2
}

// told returns names and values of the facts about the model that both exports state in their output.
func (f *form) told() [][2]string {
	p := f.model.Privacy()
	return [][2]string{
		{"software", f.model.Software()},
		{"loss", f.model.Loss().Name()},
		{"epsilon", strconv.FormatFloat(p.Epsilon, 'g', -1, 64)},
		{"delta", strconv.FormatFloat(p.Delta, 'g', -1, 64)},
		{"relation", p.Relation.String()},
		{"neighbour", p.Neighbour},
		{"complete", strconv.FormatBool(f.model.Complete())},
	}
}
