package export

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/model"
)

// form holds the parts of a model that both exports use.
type form struct {
	model   *model.Model
	output  model.Output
	target  dataset.Target
	columns []column
	crosses []cross
	// scale is S, by which each row is divided; share is 1/S.
	scale, share float64
	weights      []float64
	// dim is the number of features; sums is the number of weighted sums over them: the margins or,
	// in a network, the units of its first layer.
	dim, sums, margins int
	// hidden and activation are zero unless the model is a network.
	hidden     []int
	activation string
}

// column is a column of features; at is the index of its first feature.
type column struct {
	dataset.Column
	at int
	// markers are the missing markers that the column reads as numbers or dates.
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
	if network, ok := m.Loss().(loss.Composed); ok {
		f.hidden, f.activation = network.Layers()
		f.sums = f.hidden[0]
	}
	at := 0
	for _, c := range s.Columns() {
		switch c.Kind {
		case dataset.Number, dataset.Date, dataset.Category, dataset.Hash:
			f.columns = append(f.columns, column{c, at, markers(c, s.Missing())})
			at += column{Column: c}.width()
		}
	}
	for _, pair := range s.Interactions() {
		x := cross{a: f.category(pair[0]), b: f.category(pair[1]), at: at}
		f.crosses = append(f.crosses, x)
		at += x.a.width() * x.b.width()
	}
	return f, nil
}

// markers returns the missing markers that a number or date column reads as values.
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

// cross is an interaction of two categories; at is the index of its first feature.
type cross struct {
	a, b column
	at   int
}

// number reports whether the column holds numbers or dates, whose features are not looked up.
func (c column) number() bool { return c.Kind == dataset.Number || c.Kind == dataset.Date }

// levels returns the number of a category's listed values or of a hash column's buckets. The
// feature "other" follows them.
func (c column) levels() int { return len(c.Categories) + c.Buckets }

// width returns the number of features.
func (c column) width() int {
	switch {
	case !c.number():
		return c.levels() + 1
	case c.Indicator:
		return 2
	}
	return 1
}

func (f *form) category(name string) column {
	return f.columns[slices.IndexFunc(f.columns, func(c column) bool { return c.Name == name })]
}

// kinds returns the number and date columns, and the category and hash columns.
func (f *form) kinds() (numbers, categories []column) {
	for _, c := range f.columns {
		if c.number() {
			numbers = append(numbers, c)
		} else {
			categories = append(categories, c)
		}
	}
	return numbers, categories
}

// hashed returns the hash columns.
func hashed(columns []column) (list []column) {
	for _, c := range columns {
		if c.Kind == dataset.Hash {
			list = append(list, c)
		}
	}
	return list
}

// indicated returns the columns that have an indicator.
func indicated(columns []column) (list []column) {
	for _, c := range columns {
		if c.Indicator {
			list = append(list, c)
		}
	}
	return list
}

// weight returns the weight of a feature in a sum.
func (f *form) weight(sum, feature int) float64 { return f.weights[sum*f.dim+feature] }

// layers returns the weights above each hidden layer: for each unit of the layer, and last for the
// constant, one weight for each output.
func (f *form) layers() (above [][][]float64) {
	rest := f.weights[f.sums*f.dim:]
	for l, units := range f.hidden {
		out := f.margins
		if l+1 < len(f.hidden) {
			out = f.hidden[l+1]
		}
		rows := make([][]float64, units+1)
		for k := range out {
			for j := range rows {
				rows[j] = append(rows[j], rest[k*(units+1)+j])
			}
		}
		above = append(above, rows)
		rest = rest[out*(units+1):]
	}
	return above
}

// intercept returns the index of the constant feature, the last.
func (f *form) intercept() int { return f.dim - 1 }

// inUnits returns half and mid: a regression's margin z is z half + mid in the target's units.
func (f *form) inUnits() (half, mid float64) {
	return f.target.High/2 - f.target.Low/2, f.target.Low/2 + f.target.High/2
}

// told returns the facts about the model that the exports state.
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
