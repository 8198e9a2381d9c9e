package model

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stillpoint-dp/stillpoint/internal/inference"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
	"github.com/stillpoint-dp/stillpoint/model/contrast"
)

// Reason says why some coefficients have no interval. State is the common state of these coefficients, Terms
// are their names, and Text is the reason in words.
type Reason struct {
	State contrast.State `json:"state"`
	Terms []string       `json:"terms"`
	Text  string         `json:"text"`
}

// reason says in words why the interval i is not stated. If it is stated, reason says which dropped features the
// weights also carry. has reports of a feature whether its weight is not 0.
func (m *Model) reason(i inference.Interval, has func(feature int) bool) string {
	switch i.State {
	case inference.Reported:
		return m.carried(has)
	case inference.Withheld:
		return m.withheld(percent(i.Remainder) + " of the half-width")
	case inference.Unidentified:
		return m.unidentified()
	case inference.Absent:
		for _, a := range m.inference.Absorbed {
			if names := m.schema.Features(); has(a.Feature) {
				return fmt.Sprintf("%s and %s are correlated (%s), and noise hides which of them has the effect. %s was left out of "+
					"the formula, and nothing is known of its coefficient apart from that of %s", names[m.feature(a.Feature)],
					names[m.feature(a.By)], correlation(a), names[m.feature(a.Feature)], names[m.feature(a.By)])
			}
		}
		for _, j := range m.inference.Merged {
			if has(j) {
				return fmt.Sprintf("levels that noise hides count as %s, since without their rows noise would hide the "+
					"formula's other columns. No difference from %[1]s alone is known. Differences between other levels of the "+
					"formula have intervals. A common level as the column's reference helps",
					m.schema.Features()[m.feature(j)])
			}
		}
		why := "a column or a level of it is not in the formula. The noise of the second moment or of the curvature " +
			"hides its rows, so that it was left out before the fit, with its rows or without, or counts as the reference " +
			"level. Nothing is known of its coefficient"
		if len(m.schema.Hats()) > 0 {
			why += "; a curve of which a knot is hidden has no intervals at all (fewer knots, or narrower public bounds, help)"
		}
		return why
	}
	return ""
}

// carried says in words which dropped features the columns with a weight also carry, as has tells; "" if there are
// none.
func (m *Model) carried(has func(feature int) bool) string {
	var list []string
	for _, a := range m.inference.Absorbed {
		if has(a.By) {
			list = append(list, fmt.Sprintf("%s (%s)", m.schema.Features()[m.feature(a.Feature)], correlation(a)))
		}
	}
	var why string
	if len(list) > 0 {
		why = "also carries " + strings.Join(list, ", ")
	}
	if far := m.far(has); len(far) > 0 {
		why = strings.TrimPrefix(why+"; ", "; ") + "the weights of rows leave " + strings.Join(far, ", ")
	}
	return why
}

// Columns are named of whose spread the weights of rows leave less than mostLeft, by more than leastFar standard deviations of
// the noise in it.
const mostLeft, leastFar = .9, 3

// far says of the columns that has tells which share of their spread the weights of rows leave, where it is clearly below
// mostLeft. The intercept is left out.
func (m *Model) far(has func(feature int) bool) (list []string) {
	f := m.inference
	for i := 0; i+1 < len(f.Left) && !f.Columns[i/2].Kept; i += 2 {
		if j := f.Columns[i/2].Feature; f.Left[i]+leastFar*f.Left[i+1] < mostLeft && has(j) {
			list = append(list, fmt.Sprintf("%s (noise %s) of the spread of %s", percent(f.Left[i]), percent(f.Left[i+1]),
				m.schema.Features()[j]))
		}
	}
	return list
}

// estimand says which coefficient the intervals are of if the model is wrong, and how far the weights of rows reach.
func (m *Model) estimand() string {
	f := m.inference
	left := ""
	if len(f.Gone) > 0 {
		left = " The rows of levels that are listed as left out with their rows weigh almost nothing."
	}
	if f.Unweighted {
		return "If the model is wrong the coefficient is that of the best fit to the population, in which every row weighs the same." + left
	}
	text := "If the model is wrong the coefficient is that of the best fit to the population in which rows far from the others " +
		"weigh less, by a weight that depends on their features alone"
	least, noise := math.Inf(1), 0.
	for i := 0; i+1 < len(f.Left) && !f.Columns[i/2].Kept; i += 2 {
		if f.Left[i]-2*f.Left[i+1] < least-2*noise {
			least, noise = f.Left[i], f.Left[i+1]
		}
	}
	far := m.far(func(int) bool { return true })
	switch {
	case len(far) > 0:
		text += fmt.Sprintf(": the weights leave %s, and `inference: {rows: unweighted}` asks for the best fit to rows that "+
			"weigh the same, with more noise", strings.Join(far[:min(len(far), 3)], ", "))
	case !math.IsInf(least, 1) && least > 2*noise:
		text += fmt.Sprintf(": the weights leave %s of each column's spread or more, with a noise of %s", percent(min(least, 1)),
			percent(noise))
	}
	return text + "." + left
}

// wider adds to the reason of the interval i that it is wider by the error of the last step, if it is.
func wider(why string, i inference.Interval) string {
	if i.State != inference.Reported || i.Remainder == 0 {
		return why
	}
	return strings.TrimPrefix(why+"; ", "; ") + fmt.Sprintf("the interval is %s wider, by a bound on the error of the last "+
		"Newton step", percent(i.Remainder))
}

// correlation writes a released correlation with the standard deviation of its noise. That of 1 is cut off there.
func correlation(a inference.Absorbed) string {
	text := fmt.Sprintf("correlation %.2f", a.Correlation)
	switch {
	case a.Correlation >= .995:
		text = "correlation near 1"
	case a.Correlation <= -.995:
		text = "correlation near -1"
	}
	if a.Noise > 0 {
		text += fmt.Sprintf(", noise %.1g", a.Noise)
	}
	return text
}

// withheld says in words why the model withholds an interval: the error that may remain after the last Newton step is
// too large in comparison with the interval. much is that error as a text, such as "130% of the half-width".
func (m *Model) withheld(much string) string {
	where := "where that step begins, since the first curvature was too close to its noise to tell where the step ends"
	if m.inference.Halfway {
		where = "halfway along that step as the first curvature foretold it, and the noise led the step elsewhere"
	}
	return fmt.Sprintf("what the last Newton step leaves out may be %s, and up to %s may be added to an interval: the last curvature was "+
		"released %s; more records, a larger epsilon or fewer columns help",
		much, percent(inference.WithheldAt), where)
}

// unidentified says in words which noise is too large to state an interval or, if the fit has intervals, a
// joint region.
func (m *Model) unidentified() string {
	f := m.inference
	if f.Method != inference.NotIdentified {
		return "the noise of the curvature is too large for a joint region: its intervals are projections of a Fieller " +
			"region, of one contrast each"
	}
	what := "is negative"
	if f.LeastCurvature > 0 {
		what = fmt.Sprintf("is %.2g times the largest to expect of its noise, so that the region of the coefficients has "+
			"no end", f.LeastCurvature)
	}
	return fmt.Sprintf("the noise of the last curvature hides how much the rows tell%s: its smallest eigenvalue %s; "+
		"more records, a larger epsilon or fewer columns help", m.along(), what)
}

// along returns a text that names at most three features with the largest entries in the direction of least
// curvature. It includes only features whose entry is at least .5 in absolute value, without the intercept.
// It returns "" if no feature has such an entry.
func (m *Model) along() string {
	const most, share = 3, .5
	f, names := m.inference, m.schema.Features()
	name := func(i int) string {
		if j := f.Columns[i].Feature; m.several() {
			return m.schema.Target().Classes[j/len(names)] + ": " + names[m.feature(j)]
		}
		return names[f.Columns[i].Feature]
	}
	var at []int
	for i, v := range f.LeastDirection {
		if math.Abs(v) >= share && !f.Columns[i].Kept {
			at = append(at, i)
		}
	}
	slices.SortStableFunc(at, func(a, b int) int {
		return int(math.Copysign(1, math.Abs(f.LeastDirection[b])-math.Abs(f.LeastDirection[a])))
	})
	list := vector.Map(at[:min(most, len(at))], name)
	if len(list) == 0 {
		return ""
	}
	return " about " + strings.Join(list, ", ")
}

// reasons returns a Reason for each state without an interval that occurs in list, and of coefficients outside the formula one
// for each text. If intervals of several coefficients are withheld, the text states the range of their remainders.
func (m *Model) reasons(list []Coefficient) (out []Reason) {
	for _, state := range []inference.State{inference.Withheld, inference.Unidentified, inference.Absent} {
		low, high, first := math.Inf(1), 0., len(out)
		for _, c := range list {
			if c.State != state {
				continue
			}
			at := first
			for state == inference.Absent && at < len(out) && out[at].Text != c.Reason {
				at++
			}
			if at == len(out) {
				out = append(out, Reason{State: state})
			}
			out[at].Terms, out[at].Text = append(out[at].Terms, c.Term), c.Reason
			low, high = min(low, c.Remainder), max(high, c.Remainder)
		}
		if state == inference.Withheld && len(out) > first && len(out[first].Terms) > 1 {
			out[first].Text = m.withheld(percent(low) + " to " + percent(high) + " of the half-widths")
		}
	}
	return out
}

// percent returns the share v as a text in whole percent, such as "30%" for .3.
func percent(v float64) string { return fmt.Sprintf("%.0f%%", 100*v) }
