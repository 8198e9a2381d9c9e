package model

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/stillpoint-dp/stillpoint/internal/safetext"
	"github.com/stillpoint-dp/stillpoint/internal/targetpair"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
)

// agreement compares what was predicted of rows with what was observed: in the mean, in groups, and by the slope of a
// regression of what was observed on the score, whose slope is 1 if predictions are neither too extreme nor too timid.
// Observed is 1 for the second of two classes and for an event, else 0, or is a number. Predicted is its expectation: of an
// event the expected number of events while the row was observed.
type agreement struct {
	output Output
	list   []agreed
	groups map[string]*[4]float64 // rows, and sums of predicted, observed and squared difference
}

// agreed is a row, or one of the intervals of a row: the score on the scale of the link, what was observed, and what is
// predicted per e^score, of a logarithmic link: the expected number of events, or with times that are known by interval the
// hazard or the odds of the interval.
type agreed struct {
	score, observed, per float64
	grouped              string // of the times (targetpair.Times)
}

// mostGroups is the largest number of groups.
const mostGroups = 100

// add adds a row of a group, whose prediction and observation are sums over its intervals.
func (a *agreement) add(group string, row ...agreed) error {
	a.list = append(a.list, row...)
	g := a.groups[group]
	if g == nil {
		if len(a.groups) == mostGroups {
			return fmt.Errorf("by: the column has more than %d values: must have few", mostGroups)
		}
		if a.groups == nil {
			a.groups = map[string]*[4]float64{}
		}
		g = new([4]float64)
		a.groups[group] = g
	}
	var predicted, observed float64
	for _, part := range row {
		mean, _ := a.mean(part, 0, 1)
		predicted += mean
		observed += part.observed
	}
	for i, v := range []float64{1, predicted, observed, (observed - predicted) * (observed - predicted)} {
		g[i] += v
	}
	return nil
}

// mean returns what is predicted of a row for the score start + slope * score, and the derivative in start.
func (a *agreement) mean(row agreed, start, slope float64) (value, change float64) {
	z := start + slope*row.score
	switch a.output {
	case Probability:
		p := 1 / (1 + math.Exp(-z))
		return p, p * (1 - p)
	case Value:
		return z, 1
	}
	value = row.per * math.Exp(z)
	switch row.grouped {
	case "":
		return value, value
	case targetpair.Logit:
		p := 1 / (1 + 1/value)
		return p, p * (1 - p)
	}
	if value > most {
		return 1, 0
	}
	return -math.Expm1(-value), value * math.Exp(-value)
}

// most is a hazard over an interval whose probability of no event is 0 as a number.
const most = 800

// slope returns the slope of the regression of what was observed on the score, by Newton's method from the best constant,
// since from a slope of 1 it leaves scores that are far too extreme; NaN if there is none.
func (a *agreement) slope() float64 {
	start, slope := 0., 0.
	if a.output == Rate {
		var observed, per float64
		for _, r := range a.list {
			observed, per = observed+r.observed, per+r.per
		}
		if start = math.Log(observed / per); math.IsInf(start, 0) {
			return math.NaN() // nothing happened
		}
	}
	var first float64 // the information of the slope at the best constant
	for range 50 {
		var g, h [3]float64
		for _, r := range a.list {
			value, change := a.mean(r, start, slope)
			rest := r.observed - value
			if r.grouped != "" && r.grouped != targetpair.Logit { // whose link is not canonical: scoring by Fisher
				by := change / (value * (1 - value))
				if !(by < math.Inf(1)) {
					continue
				}
				rest, change = rest*by, change*by
			}
			g[0] += rest
			g[1] += rest * r.score
			h[0] += change
			h[1] += change * r.score
			h[2] += change * r.score * r.score
		}
		det := h[0]*h[2] - h[1]*h[1]
		if !(det > 1e-12*h[0]*h[2]) {
			return math.NaN() // all predictions are equal
		}
		if first == 0 {
			first = det / h[0]
		}
		along := (h[0]*g[1] - h[1]*g[0]) / det
		start, slope = start+(h[2]*g[0]-h[1]*g[1])/det, slope+along
		if math.Abs(along) < 1e-9 {
			if det/h[0] < separated*first {
				return math.NaN()
			}
			return slope
		}
	}
	return math.NaN()
}

// separated is the ratio of the information of the slope to that at the best constant below which the score separates
// the outcomes, so that the likelihood rises with the slope without end.
const separated = 1e-9

// set states the agreement in m. by is the column of the groups; "" leaves them out.
func (a *agreement) set(m *Metrics, by string) {
	var all [4]float64
	for name, g := range a.groups {
		for i, v := range g {
			all[i] += v
		}
		if n := g[0]; by != "" {
			of := group{name, int64(n), g[1] / n, g[2] / n, 0}
			bias := of.Observed - of.Predicted
			of.Error = math.Sqrt(max(g[3]/n-bias*bias, 0) / n)
			m.Groups = append(m.Groups, of)
		}
	}
	if all[0] == 0 {
		return
	}
	slices.SortFunc(m.Groups, func(x, y group) int { return cmp.Compare(x.Group, y.Group) })
	m.Predicted, m.Observed = new(all[1]/all[0]), new(all[2]/all[0])
	if s := a.slope(); !math.IsNaN(s) {
		m.Slope = &s
	}
}

// group is the type of the elements of Metrics.Groups.
type group = struct {
	Group     string  `json:"group"`
	N         int64   `json:"n"`
	Predicted float64 `json:"predicted"`
	Observed  float64 `json:"observed"`
	// Error is the standard error of Observed - Predicted by the sampling of rows.
	Error float64 `json:"standard_error"`
}

// groupText shows groups as a table, one a line.
func groupText(list []group) string {
	return safetext.Table([]string{"group", "rows", "predicted", "observed", "difference", "its standard error"},
		vector.Map(list, func(g group) []string {
			return []string{g.Group, strconv.FormatInt(g.N, 10), fmt.Sprintf("%.4g", g.Predicted), fmt.Sprintf("%.4g", g.Observed),
				fmt.Sprintf("%.2g", g.Observed-g.Predicted), fmt.Sprintf("%.2g", g.Error)}
		}))
}
