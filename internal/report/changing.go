package report

import (
	"fmt"
	"math"
	"strings"
	"text/tabwriter"

	"github.com/stillpoint-dp/stillpoint/internal/inference"
)

// HazardRatio is the hazard ratio of a level of a column whose hazard ratios change, against the first level, in one
// interval of the time. Low and High are the ends of its confidence interval, of sampling and noise; nil where the error
// of the level's coefficient is not stated.
type HazardRatio struct {
	Term      string   `json:"term"`
	Reference string   `json:"reference"`
	From      float64  `json:"from"`
	To        float64  `json:"to"`
	Ratio     float64  `json:"hazard_ratio"`
	Low       *float64 `json:"low"`
	High      *float64 `json:"high"`
	state     string   // of the level's interval, in a fit with intervals
}

// changing returns the hazard ratios of the changing column; nil if there is none. A level's coefficient is the logarithm
// of the ratio of its whole hazard, and its hazards say how that is divided among the intervals. The standard error of the
// logarithm of a ratio counts those of both hazards, and the noise of the coefficient, or its standard error if there are
// intervals: the error is then rather too large.
func (f *Fit) changing(c *Coefficients) (list []HazardRatio) {
	t := f.Model.Schema().Target()
	k := len(t.Cuts)
	if _, effects := f.Model.Schema().Effects(); effects { // the coefficients are a part of the score alone
		return nil
	}
	if t.Changing == "" || len(t.HazardErrors) != len(t.Hazards) || len(t.Hazards) == 0 {
		return nil
	}
	level := map[string]int{}
	for _, column := range f.Model.Schema().Columns() {
		for i, v := range column.Categories {
			if column.Name == t.Changing {
				level[column.Name+"="+v] = i
			}
		}
	}
	share, quantile := .95, 0.
	if c.Intervals != nil {
		share = c.Intervals.Level
	}
	quantile = math.Sqrt2 * math.Erfinv(share)
	for i, term := range c.Terms {
		at := level[term.Term] * k
		if at == 0 || term.Value == nil {
			continue
		}
		deviation, state := term.Deviation, ""
		if c.Intervals != nil {
			of := c.Intervals.List[i]
			if deviation, state = nil, string(of.State); of.State == inference.Reported {
				deviation = &of.Error
			}
		}
		from := 0.
		for j, to := range t.Cuts {
			log := *term.Value + math.Log(t.Hazards[at+j]/t.Hazards[j])
			r := HazardRatio{Term: term.Term, Reference: term.Reference, From: from, To: to, Ratio: math.Exp(log),
				state: state}
			if deviation != nil {
				e := quantile * math.Sqrt(*deviation**deviation+t.HazardErrors[at+j]*t.HazardErrors[at+j]+
					t.HazardErrors[j]*t.HazardErrors[j])
				r.Low, r.High = new(math.Exp(log-e)), new(math.Exp(log+e))
			}
			list, from = append(list, r), to
		}
	}
	return list
}

// between returns the interval of a ratio as text.
func (r HazardRatio) between() string {
	if r.Low == nil && r.state != "" {
		return r.state
	}
	if r.Low == nil {
		return "not stated: inference asks for it"
	}
	return fmt.Sprintf("%.3g to %.3g", *r.Low, *r.High)
}

const ofChanging = "The intervals of hazard ratios take the other coefficients as known."

// HazardText returns hazard ratios by interval as a table of text; "" if there are none.
func HazardText(list []HazardRatio) string {
	if len(list) == 0 {
		return ""
	}
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "\nterm\tagainst\ttime\thazard ratio\tinterval\n")
	for _, r := range list {
		fmt.Fprintf(w, "%s\t%s\t%s to %s\t%.3g\t%s\n", oneLine(r.Term), oneLine(r.Reference), exact(r.From), exact(r.To),
			r.Ratio, r.between())
	}
	_ = w.Flush() // writing to a strings.Builder gives no error
	return b.String() + ofChanging + "\n"
}

// hazardTable returns hazard ratios by interval as a table of the report.
func hazardTable(list []HazardRatio) Table {
	t := Table{Title: "Hazard ratios by interval", Caption: ofChanging, Columns: []Column{{Name: "term"}, {Name: "against"},
		{Name: "time"}, {Name: "hazard ratio", Number: true}, {Name: "interval"}}}
	for _, r := range list {
		t.Rows = append(t.Rows, Row{Cells: []string{r.Term, r.Reference, exact(r.From) + " to " + exact(r.To),
			Number(r.Ratio), r.between()}})
	}
	return t
}
