package experiment

import (
	"encoding/json"
	"math"
	"slices"

	"github.com/stillpoint-dp/stillpoint/stationarity"
)

// Summary is what the runs of a specification show, as plain tables.
type Summary struct {
	Name  string `json:"name"`
	Cells []Cell `json:"cells"`
	// Slopes are exponents of the gradient norm in the effective size, Risks those of
	// the excess risk where the minimum is known.
	Slopes []Slope `json:"slopes"`
	Risks  []Slope `json:"excess_risk_slopes,omitempty"`
	// Comparisons are with the first algorithm of the specification, at equal
	// budgets.
	Comparisons []Comparison `json:"comparisons"`
	// Done counts the runs of the specification that are there, Missing those
	// that are not, as far as their settings are chosen.
	Done    int `json:"done"`
	Missing int `json:"missing"`
}

// Group is an algorithm on a family at an epsilon.
type Group struct {
	Family  string  `json:"family"`
	Dim     int     `json:"dimension"`
	Epsilon float64 `json:"epsilon"`
	Label   string  `json:"label"`
}

// Cell is a group at a size: its measured runs.
type Cell struct {
	Group
	Records   int     `json:"records"`
	Effective float64 `json:"effective_size"`
	Delta     float64 `json:"delta"`
	// Settings are those measured, chosen among Grid combinations.
	Settings json.RawMessage `json:"settings"`
	Grid     int             `json:"grid"`
	Runs     int             `json:"runs"`
	Steps    int             `json:"steps"`
	// Floor, LowerBound and Predicted are as in Outcome.
	Floor      float64 `json:"floor"`
	LowerBound float64 `json:"lower_bound"`
	Predicted  float64 `json:"predicted_gradient_norm"`
	// GradientNorm, Population (zero where not measured) and Loss are over runs;
	// Passes and Seconds of one.
	GradientNorm Quartiles `json:"gradient_norm"`
	Population   Quartiles `json:"population_gradient_norm"`
	Loss         Quartiles `json:"loss"`
	// SecondOrder is nil where eigenvalues were not asked for.
	SecondOrder *SecondOrder `json:"second_order,omitempty"`
	// Excess is nil where the minimum is not known; Rise is the first run's.
	Excess  *Quartiles         `json:"excess_risk,omitempty"`
	Rise    *stationarity.Rise `json:"rise,omitempty"`
	Passes  Quartiles          `json:"passes"`
	Seconds Quartiles          `json:"seconds"`
	// Series is the first run's.
	Series []Point `json:"series"`

	norms, risks []float64
}

// Quartiles are those of some runs.
type Quartiles struct {
	Low    float64 `json:"low"`
	Median float64 `json:"median"`
	High   float64 `json:"high"`
}

// Slope is the exponent of a group's median gradient norm, or excess risk, in N, with a
// bootstrap interval over seeds.
type Slope struct {
	Group
	Sizes int `json:"sizes"`
	stationarity.Estimate
}

// Comparison is the ratio of median gradient norms, a cell's over the
// baseline's: below 1 the cell's algorithm is better.
type Comparison struct {
	Group
	Records   int     `json:"records"`
	Effective float64 `json:"effective_size"`
	Baseline  string  `json:"baseline"`
	// Excess is the ratio of median excess risks; zero where the minimum is not known.
	Excess float64 `json:"excess_risk_ratio,omitempty"`
	stationarity.Estimate
}

// Summarize tells what runs show of a specification. Runs that it does
// not ask for are left out.
func (s *Spec) Summarize(runs []Finished) (Summary, error) {
	cells, err := s.cells()
	if err != nil {
		return Summary{}, err
	}
	done := map[string]Finished{}
	for _, r := range runs {
		done[r.Key] = r
	}
	return s.summarize(cells, done)
}

func (s *Spec) summarize(cells []cell, done map[string]Finished) (Summary, error) {
	out := Summary{Name: s.Name}
	for _, c := range cells {
		for _, r := range c.tuning(s.TuningSeeds) {
			out.count(done, r)
		}
		settings, ok := c.choose(done, s.TuningSeeds)
		if !ok {
			out.Missing += s.Seeds
			continue
		}
		var runs []Finished
		for _, r := range c.measured(settings, s.Seeds) {
			if out.count(done, r) {
				runs = append(runs, done[r.Key()])
			}
		}
		if len(runs) > 0 {
			out.Cells = append(out.Cells, newCell(c, settings, runs))
		}
	}
	var err error
	if out.Slopes, err = out.slopes(func(c Cell) []float64 { return c.norms }); err != nil {
		return Summary{}, err
	}
	if out.Risks, err = out.slopes(func(c Cell) []float64 { return c.risks }); err != nil {
		return Summary{}, err
	}
	return out, out.compare(s.Algorithms[0].Label)
}

func (s *Summary) count(done map[string]Finished, c Trial) bool {
	_, ok := done[c.Key()]
	if ok {
		s.Done++
	} else {
		s.Missing++
	}
	return ok
}

func newCell(c cell, settings json.RawMessage, runs []Finished) Cell {
	first := runs[0].Outcome
	out := Cell{
		Group:   Group{c.base.Family, c.base.Dim, c.base.Epsilon, c.base.Label},
		Records: c.base.Records(), Effective: c.effective, Delta: c.base.Delta,
		Settings: settings, Grid: len(c.grid), Runs: len(runs), Steps: first.Steps,
		Floor: first.Floor, LowerBound: first.LowerBound, Predicted: first.Predicted, Series: first.Series,
	}
	over := func(value func(Finished) float64) []float64 {
		v := make([]float64, len(runs))
		for i, r := range runs {
			v[i] = value(r)
		}
		return v
	}
	out.norms = over(func(r Finished) float64 { return r.Outcome.GradientNorm })
	out.GradientNorm = quartiles(out.norms)
	out.Population = quartiles(over(func(r Finished) float64 { return r.Outcome.Population }))
	out.Loss = quartiles(over(func(r Finished) float64 { return r.Outcome.Loss }))
	out.SecondOrder = secondOrder(c.base.Gap, runs)
	if first.Excess != nil {
		out.risks = over(func(r Finished) float64 { return *r.Outcome.Excess })
		q := quartiles(out.risks)
		out.Excess, out.Rise = &q, first.Rise
	}
	out.Passes = quartiles(over(func(r Finished) float64 { return r.Outcome.Passes }))
	out.Seconds = quartiles(over(func(r Finished) float64 { return r.Seconds }))
	return out
}

// quartiles interpolates between order statistics.
func quartiles(v []float64) Quartiles {
	v = slices.Sorted(slices.Values(v))
	at := func(p float64) float64 {
		x := p * float64(len(v)-1)
		i := int(x)
		if i+1 == len(v) {
			return v[i]
		}
		return v[i] + (x-float64(i))*(v[i+1]-v[i])
	}
	return Quartiles{at(.25), at(.5), at(.75)}
}

// slopes fits a line to every group of two sizes or more of which there are values.
func (s *Summary) slopes(values func(Cell) []float64) ([]Slope, error) {
	var order []Group
	sizes, all := map[Group][]float64{}, map[Group][][]float64{}
	for _, c := range s.Cells {
		if values(c) == nil {
			continue
		}
		if !slices.Contains(order, c.Group) {
			order = append(order, c.Group)
		}
		// Two sizes asked for may come out as one.
		if slices.Contains(sizes[c.Group], math.Log(c.Effective)) {
			continue
		}
		sizes[c.Group] = append(sizes[c.Group], math.Log(c.Effective))
		all[c.Group] = append(all[c.Group], logarithms(values(c)))
	}
	var list []Slope
	for _, g := range order {
		if len(sizes[g]) < 2 {
			continue
		}
		i, err := stationarity.Slope(sizes[g], all[g])
		if err != nil {
			return nil, err
		}
		list = append(list, Slope{g, len(sizes[g]), i})
	}
	return list, nil
}

// logarithms keeps an exact zero comparable.
func logarithms(v []float64) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = math.Log(max(x, math.SmallestNonzeroFloat64))
	}
	return out
}

// compare fills in the comparisons with a baseline.
func (s *Summary) compare(baseline string) error {
	type place struct {
		Group
		records int
	}
	at := func(c Cell) place {
		p := place{c.Group, c.Records}
		p.Label = ""
		return p
	}
	base, excess := map[place][]float64{}, map[place]*Quartiles{}
	for _, c := range s.Cells {
		if c.Label == baseline {
			base[at(c)], excess[at(c)] = logarithms(c.norms), c.Excess
		}
	}
	for _, c := range s.Cells {
		b, ok := base[at(c)]
		if !ok || c.Label == baseline {
			continue
		}
		i, err := stationarity.Bootstrap([][]float64{logarithms(c.norms), b}, func(g [][]float64) float64 {
			return math.Exp(Median(g[0]) - Median(g[1]))
		})
		if err != nil {
			return err
		}
		x := Comparison{c.Group, c.Records, c.Effective, baseline, 0, i}
		if e := excess[at(c)]; e != nil && e.Median > 0 {
			x.Excess = c.Excess.Median / e.Median
		}
		s.Comparisons = append(s.Comparisons, x)
	}
	return nil
}
