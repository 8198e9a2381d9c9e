// Package coverage measures how often the intervals and the stated noise of fits are right, on populations whose
// coefficients it computes itself. Each design is a file of this package that calls add in its init function: copy
// one to add a design. Every fit is the product's own (stillpoint.Fit) on a small table in memory, with fresh coins.
//
// TestCoverage makes some 300 fits of small tables within seconds (go test -short ./lab/coverage). The long form is
//
//	go test ./lab/coverage -run TestLong -timeout 10h -long.fits 200 [-long.design REGEXP] [-long.out FILE]
package coverage

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/stillpoint-dp/stillpoint"
	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/loss"
)

// Column is a column of a design: a number within public bounds, or a category if it has levels. The first level
// is the reference.
type Column struct {
	Name      string
	Low, High float64
	Levels    []string
}

// Number returns a column of numbers in [low, high].
func Number(name string, low, high float64) Column { return Column{Name: name, Low: low, High: high} }

// Category returns a category with the given levels.
func Category(name string, levels ...string) Column { return Column{Name: name, Levels: levels} }

// Design is a population with a fit of it.
type Design struct {
	Name    string
	Records int
	Epsilon float64
	Columns []Column
	// Loss is the name of the loss. Its target has Classes, or is a number in [Least, Most].
	Loss        string
	Classes     []string
	Least, Most float64
	// Weights are public weights of the classes.
	Weights map[string]float64
	// Intervals asks for 95% intervals. Without it, the noise that the fit states is judged.
	Intervals bool
	// Unweighted asks for intervals of unweighted rows.
	Unweighted bool
	// Exposed says that a row has one number more, the exposure of its target, between a tenth and 1.
	Exposed bool
	// Surveyed says that a row has one number more, its weight as a share of the largest.
	Surveyed bool
	// Cuts say that the target is a time that is known by its interval alone. A row has one number more, 1 for an event.
	Cuts []float64
	// Draw draws a row: a number or the index of a level for each column, and the target, which is the index of a
	// class or a number. A target NaN is missing.
	Draw func(r *rand.Rand) (x []float64, y float64)
	// Rows says that a record is a client with at most this many rows, of which Client draws the number and each row. A
	// row counts by 1 over the number of its client's rows. Records is then the number of clients.
	Rows   int
	Client func(r *rand.Rand) (rows int, draw func() (x []float64, y float64))
	// Goal is the least coverage that TestCoverage accepts, less chance. 0 means .93 for intervals, and .85 for the share
	// of the fits without intervals that are within two stated deviations.
	Goal float64
	// Asked are the terms that are judged; all but the intercept if it is empty.
	Asked []string
	// Tables has a table of its own for each fit without intervals, in place of one table for all.
	Tables bool
	// File says that the rows are of a public table, of the named file for a design of design_clip.go.
	File bool
	file string
	// Truth are coefficients of the population by term. If it is nil, they are computed from a large sample.
	Truth map[string]float64
	// AskedTruth judges by Truth whichever levels a fit drops.
	AskedTruth    bool
	without, gone []string // terms that the formula of fit leaves out, and levels whose rows leave
	// Short has the design in the short form, with the number of records and epsilon for that form.
	Short        bool
	ShortRecords int
	ShortEpsilon float64
}

var designs []Design

func add(d Design) { designs = append(designs, d) }

// row is a row: the cells of its columns, its target, and its client with the number of the client's rows.
type row struct {
	x          []float64
	y          float64
	client, of int
}

// rows draws n rows.
func (d Design) rows(seed uint64, n int) []row {
	r := rand.New(rand.NewPCG(seed, 0xC0))
	out := make([]row, 0, n)
	for i := range n {
		rows, draw := 1, func() ([]float64, float64) { return d.Draw(r) }
		if d.Client != nil {
			rows, draw = d.Client(r)
		}
		for range rows {
			x, y := draw()
			out = append(out, row{x, y, i, rows})
		}
	}
	for i := range out {
		for j, c := range d.Columns {
			if c.Levels == nil {
				out[i].x[j] = min(max(out[i].x[j], c.Low), c.High)
			}
		}
	}
	return out
}

// terms returns the names of the terms, in the order of a row's features.
func (d Design) terms() (list []string) {
	for _, c := range d.Columns {
		if c.Levels == nil {
			list = append(list, c.Name)
		}
		for i := 1; i < len(c.Levels); i++ {
			list = append(list, c.Name+"="+c.Levels[i])
		}
	}
	return append(list, "intercept")
}

// features encodes a row: a number for a number, an indicator for each level but the reference, and 1.
func (d Design) features(of row) (z []float64) {
	for j, c := range d.Columns {
		if c.Levels == nil {
			z = append(z, of.x[j])
		}
		for i := 1; i < len(c.Levels); i++ {
			v := 0.
			if int(of.x[j]) == i {
				v = 1
			}
			z = append(z, v)
		}
	}
	return append(z, 1)
}

// spec returns the fit of the rows.
func (d Design) spec(of []row) (stillpoint.Spec, error) {
	def := dataset.Definition{Target: dataset.Target{Column: "y", Kind: dataset.Number, Low: d.Least, High: d.Most}}
	columns := []stillpoint.Column[row]{}
	for j, c := range d.Columns {
		if c.Levels == nil {
			def.Columns = append(def.Columns, dataset.Column{Name: c.Name, Kind: dataset.Number, Low: c.Low, High: c.High})
			columns = append(columns, stillpoint.Number(c.Name, func(r row) float64 { return r.x[j] }))
			continue
		}
		def.Columns = append(def.Columns, dataset.Column{Name: c.Name, Kind: dataset.Category, Categories: c.Levels})
		columns = append(columns, stillpoint.Text(c.Name, func(r row) string { return c.Levels[int(r.x[j])] }))
	}
	if d.Classes == nil {
		columns = append(columns, stillpoint.Number("y", func(r row) float64 { return r.y }))
	} else {
		def.Target = dataset.Target{Column: "y", Kind: dataset.Category, Classes: d.Classes}
		columns = append(columns, stillpoint.Text("y", func(r row) string {
			if math.IsNaN(r.y) {
				return ""
			}
			return d.Classes[int(r.y)]
		}))
	}
	if d.Cuts != nil {
		link := "cloglog"
		if strings.HasPrefix(d.Loss, "logit") {
			link = "logit"
		}
		def.Target = dataset.Target{Column: "y", Kind: dataset.Number, High: d.Most, Event: "q", Cuts: d.Cuts, Grouped: link}
	}
	if d.Rows > 0 {
		def.Unit = dataset.Unit{Column: "client", Rows: d.Rows}
		columns = append(columns, stillpoint.Text("client", func(r row) string { return strconv.Itoa(r.client) }))
	}
	if d.Exposed {
		def.Target.Exposure = dataset.Exposure{Column: "q", Low: .1, High: 1}
	}
	if d.Surveyed {
		def.Target.Weight = "q"
	}
	if d.Exposed || d.Surveyed || d.Cuts != nil {
		columns = append(columns, stillpoint.Number("q", func(r row) float64 { return r.x[len(d.Columns)] }))
	}
	schema, err := dataset.New(def)
	if err != nil {
		return stillpoint.Spec{}, err
	}
	l, err := loss.Parse(d.Loss)
	if err != nil {
		return stillpoint.Spec{}, err
	}
	s := stillpoint.Spec{Table: stillpoint.Rows(of, columns...), Schema: schema, Loss: l, Weights: d.Weights,
		Family: "lines", Anyway: true, Budget: stillpoint.Budget{Epsilon: d.Epsilon, Delta: 1e-6, Relation: account.ReplaceOne}}
	if d.Rows > 0 {
		s.Units = "mean"
	}
	if d.Intervals {
		s.Inference = &stillpoint.Inference{Level: level}
		if d.Unweighted {
			s.Train.Settings = map[string]any{"rows": "unweighted"}
		}
	}
	return s, nil
}

func (d Design) goal() float64 {
	switch {
	case d.Goal > 0:
		return d.Goal
	case d.Intervals:
		return .93
	}
	return .85
}

// inShort returns the design as a part of the short form, with its number of records and epsilon there.
func (d Design) inShort(records int, epsilon float64) Design {
	d.Short, d.ShortRecords, d.ShortEpsilon = true, records, epsilon
	return d
}

// level is the nominal coverage of the intervals.
const level = .95

// class returns the index of a class as text, for the key of a term.
func (d Design) class(k int) string {
	if len(d.Classes) < 3 {
		return ""
	}
	return d.Classes[k] + ": "
}

// prevalence returns the share of the rows in which each term's feature is not at its most frequent value, for a
// category; for a number, the standard deviation over the range.
func (d Design) prevalence(of []row) map[string]float64 {
	out := map[string]float64{}
	sums, squares := make([]float64, len(d.terms())), make([]float64, len(d.terms()))
	for _, r := range of {
		for j, v := range d.features(r) {
			sums[j] += v / float64(len(of))
			squares[j] += v * v / float64(len(of))
		}
	}
	ranges := map[string]float64{}
	for _, c := range d.Columns {
		ranges[c.Name] = c.High - c.Low
	}
	for j, t := range d.terms() {
		out[t] = sums[j]
		if width := ranges[t]; width > 0 {
			out[t] = math.Sqrt(max(squares[j]-sums[j]*sums[j], 0)) / width
		}
	}
	return out
}

func shown(v float64) string {
	if math.IsNaN(v) {
		return "-"
	}
	return strconv.FormatFloat(v, 'f', 3, 64)
}
