package experiment

import (
	"encoding/json"
	"math"
	"slices"

	"github.com/stillpoint-dp/stillpoint/lab/measure"
)

// Summary holds the results of a specification as plain tables.
type Summary struct {
	Name  string `json:"name"`
	Cells []Cell `json:"cells"`
	// Slopes are exponents of the gradient norm as a power of the effective size.
	Slopes []Slope `json:"slopes"`
	// Risks are exponents of the excess risk as a power of the effective size, for families whose
	// minimum is known.
	Risks []Slope `json:"excess_risk_slopes,omitempty"`
	// Comparisons compare each algorithm with the first one of the specification, at equal budgets.
	Comparisons []Comparison `json:"comparisons"`
	// Done is the number of finished runs of the specification.
	Done int `json:"done"`
	// Missing is the number of runs that are not finished.
	Missing int `json:"missing"`
}

// Group names an algorithm (by its label) on a family at one dimension and epsilon. The cells of a group
// differ only in their size.
type Group struct {
	Family  string  `json:"family"`
	Dim     int     `json:"dimension"`
	Epsilon float64 `json:"epsilon"`
	Label   string  `json:"label"`
}

// Cell has the results of the measured runs of an algorithm on a family at one dimension, epsilon and size.
type Cell struct {
	Group
	Records   int     `json:"records"`
	Effective float64 `json:"effective_size"`
	// Delta is the delta of all runs of the cell. Delta is no part of Group, since it may depend on Records.
	// The neighbouring relation of the budgets is in the specification and is the same for all cells.
	Delta float64 `json:"delta"`
	// Settings are the settings of the measured runs.
	Settings json.RawMessage `json:"settings"`
	// Grid is the number of combinations of settings from which Settings were chosen.
	Grid  int `json:"grid"`
	Runs  int `json:"runs"`
	Steps int `json:"steps"`
	// Steps, Floor (the noise level), LowerBound and Predicted are those of the first run (see [Outcome]).
	Floor      float64 `json:"floor"`
	LowerBound float64 `json:"lower_bound"`
	Predicted  float64 `json:"predicted_gradient_norm"`
	// GradientNorm, Population and Loss hold quartiles over runs.
	GradientNorm Quartiles `json:"gradient_norm"`
	// Population is zero if it was not measured.
	Population Quartiles `json:"population_gradient_norm"`
	Loss       Quartiles `json:"loss"`
	// SecondOrder is nil if the specification sets no Gap.
	SecondOrder *SecondOrder `json:"second_order,omitempty"`
	// Excess is nil if the minimum is not known.
	Excess *Quartiles `json:"excess_risk,omitempty"`
	// Rise is the estimate of the KL condition from the points of the first run (see [Outcome]).
	Rise *measure.Rise `json:"rise,omitempty"`
	// Passes has the quartiles, over runs, of the number of passes over the records.
	Passes Quartiles `json:"passes"`
	// Seconds has the quartiles, over runs, of the time that a run took.
	Seconds Quartiles `json:"seconds"`
	// Series has the series of steps of the first run (see [Outcome]).
	Series []Point `json:"series"`

	norms, risks []float64
}

// Quartiles are the three quartiles of a list of numbers.
type Quartiles struct {
	Low    float64 `json:"low"`
	Median float64 `json:"median"`
	High   float64 `json:"high"`
}

// Slope is the exponent of a group's median gradient norm, or median excess risk, as a power of the
// effective size N, with a bootstrap interval over seeds.
type Slope struct {
	Group
	Sizes int `json:"sizes"`
	measure.Estimate
}

// Comparison is a cell's median gradient norm divided by the median gradient norm of Baseline, the first
// algorithm of the specification, on the same problem and at the same size and budget. A ratio below 1
// means that the cell's algorithm is better.
type Comparison struct {
	Group
	Records   int     `json:"records"`
	Effective float64 `json:"effective_size"`
	Baseline  string  `json:"baseline"`
	// Excess is the ratio of the median excess risks of the same two algorithms. It is zero if the minimum is
	// not known.
	Excess float64 `json:"excess_risk_ratio,omitempty"`
	measure.Estimate
}

// Summarize returns the summary of the specification for some runs. It ignores runs that are not
// part of the specification.
func (s *Spec) Summarize(runs []Finished) (Summary, error) {
	cells, err := s.cells(own{})
	if err != nil {
		return Summary{}, err
	}
	done := map[string]Finished{}
	for _, r := range runs { // of runs of a trial by several programs, the last line is the latest
		done[r.trialKey()] = r
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

// quartiles returns the quartiles of v. It interpolates linearly between order statistics.
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

// slopes fits, for every group that has values at two or more sizes, a line to the medians of the values'
// logarithms against the logarithm of the effective size. Each slope is an exponent.
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
		// Two requested sizes may lead to the same number of records.
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
		i, err := measure.Slope(sizes[g], all[g])
		if err != nil {
			return nil, err
		}
		list = append(list, Slope{g, len(sizes[g]), i})
	}
	return list, nil
}

// logarithms returns the natural logarithms of v. A value below the smallest positive float64, such as 0,
// counts as this number.
func logarithms(v []float64) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = math.Log(max(x, math.SmallestNonzeroFloat64))
	}
	return out
}

// compare sets s.Comparisons: it compares every cell with the cell of the algorithm labelled baseline on
// the same problem and size. Cells for which the baseline has no runs are left out.
func (s *Summary) compare(baseline string) error {
	type tableSize struct {
		Group
		records int
	}
	at := func(c Cell) tableSize {
		p := tableSize{c.Group, c.Records}
		p.Label = ""
		return p
	}
	base, excess := map[tableSize][]float64{}, map[tableSize]*Quartiles{}
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
		i, err := measure.Bootstrap([][]float64{logarithms(c.norms), b}, func(g [][]float64) float64 {
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
