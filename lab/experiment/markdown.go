package experiment

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/stillpoint-dp/stillpoint/internal/safetext"
	"github.com/stillpoint-dp/stillpoint/lab/measure"
)

// WriteMarkdown writes the tables of a summary. Gradient norms are also given in units of the noise level r
// (see optimize.Problem.Floor). After a median, the lower and the upper quartile follow in brackets.
func (s Summary) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%d runs", safetext.Text(s.Name), s.Done)
	if s.Missing > 0 {
		fmt.Fprintf(&b, "; %d are missing", s.Missing)
	}
	b.WriteString(".\n")
	slopes(&b, "Slopes", "gradient norm", s.Slopes)
	slopes(&b, "Slopes of the excess risk", "excess risk", s.Risks)
	if len(s.Comparisons) > 0 {
		fmt.Fprintf(&b,
			"\n## Against %s at equal budget\n\nRatios of median gradient norms, below 1 where the algorithm is better, with "+
				"95%% bootstrap intervals over seeds.\n\n", safetext.Text(s.Comparisons[0].Baseline))
		head := []string{"family", "d", "epsilon", "n", "N", "algorithm", "ratio", "interval"}
		risks := slices.ContainsFunc(s.Comparisons, func(x Comparison) bool { return x.Excess > 0 })
		if risks {
			head = append(head, "of median excess risks")
		}
		table(&b, head...)
		for _, x := range s.Comparisons {
			r := []any{x.Family, x.Dim, x.Epsilon, x.Records, fmt.Sprintf("%.0f", x.Effective), x.Label,
				fmt.Sprintf("%.3g", x.Value), fmt.Sprintf("%.3g to %.3g", x.Low, x.High)}
			if risks {
				r = append(r, orNothing(x.Excess > 0, "%.3g", x.Excess))
			}
			row(&b, r...)
		}
	}
	fmt.Fprintf(&b, "\n## Runs\n\n%s\n\n", runsCaption)
	head, rows := s.runs()
	table(&b, head...)
	for _, r := range rows {
		row(&b, r...)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// slopes writes a table of exponents with the given title. The parameter of is the name of the quantity,
// such as "gradient norm". It writes nothing for an empty list.
func slopes(b *strings.Builder, title, of string, list []Slope) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(b, "\n## %s\n\nExponents of the median %s in N, with 95%% bootstrap intervals over seeds.\n\n", title, of)
	table(b, "family", "d", "epsilon", "algorithm", "sizes", "slope", "interval")
	for _, x := range list {
		row[any](b, x.Family, x.Dim, x.Epsilon, x.Label, x.Sizes, fmt.Sprintf("%.3f", x.Value),
			fmt.Sprintf("%.3f to %.3f", x.Low, x.High))
	}
}

const runsCaption = "Medians over seeds with quartiles; r = 2 L0/N; passes over the records and seconds are medians."

// runs returns the table with one line for each cell of the grid.
func (s Summary) runs() (head []string, rows [][]string) {
	head = []string{
		"family", "d", "epsilon", "n", "N", "algorithm", "runs", "gradient norm", "/ r", "/ lower bound", "predicted / r",
		"loss", "steps", "passes", "seconds", "settings", "chosen from",
	}
	population, risks, curved := false, false, false
	for _, c := range s.Cells {
		curved = curved || c.SecondOrder != nil
		population, risks = population || c.Population.High > 0, risks || c.Excess != nil
	}
	if risks {
		head = append(head, "excess risk", "seen: F - min F <= (gamma ||grad F||)^kappa")
	}
	if population {
		head = append(head, "population gradient norm")
	}
	if curved {
		head = append(head, "least eigenvalue", "S1", "S2")
	}
	for _, c := range s.Cells {
		g := c.GradientNorm
		r := []string{
			c.Family, fmt.Sprint(c.Dim), fmt.Sprint(c.Epsilon), fmt.Sprint(c.Records), fmt.Sprintf("%.0f", c.Effective),
			c.Label, fmt.Sprint(c.Runs), g.String(), fmt.Sprintf("%.2f", g.Median/c.Floor),
			fmt.Sprintf("%.2f", g.Median/c.LowerBound),
			fmt.Sprintf("%.2f", c.Predicted/c.Floor), fmt.Sprintf("%.4g", c.Loss.Median), fmt.Sprint(c.Steps),
			fmt.Sprintf("%.4g", c.Passes.Median), fmt.Sprintf("%.2g", c.Seconds.Median), "`" + string(c.Settings) + "`",
			fmt.Sprint(c.Grid),
		}
		if risks {
			var q Quartiles
			var rise measure.Rise
			if c.Excess != nil {
				q = *c.Excess
			}
			if c.Rise != nil {
				rise = *c.Rise
			}
			r = append(r, orNothing(c.Excess != nil, "%v", q),
				orNothing(c.Rise != nil, "gamma %.3g, kappa %.3g", rise.Gamma, rise.Kappa))
		}
		if population {
			r = append(r, c.Population.String())
		}
		if curved {
			var o SecondOrder
			if c.SecondOrder != nil {
				o = *c.SecondOrder
			}
			there := c.SecondOrder != nil
			r = append(r, orNothing(there, "%v", o.Eigenvalue), orNothing(there, "%.2f", o.Near),
				orNothing(there, "%.2f", o.Close))
		}
		rows = append(rows, r)
	}
	return head, rows
}

// orNothing formats values, or returns an empty text if known is false.
func orNothing(known bool, format string, values ...any) string {
	if !known {
		return ""
	}
	return fmt.Sprintf(format, values...)
}

// String returns the median, followed by the lower and the upper quartile in brackets.
func (q Quartiles) String() string { return fmt.Sprintf("%.3g (%.3g, %.3g)", q.Median, q.Low, q.High) }

func table(b *strings.Builder, head ...string) {
	fmt.Fprintf(b, "| %s |\n|%s\n", strings.Join(head, " | "), strings.Repeat("---|", len(head)))
}

func row[V any](b *strings.Builder, values ...V) {
	for _, v := range values {
		fmt.Fprintf(b, "| %s ", safetext.Text(fmt.Sprint(v)))
	}
	b.WriteString("|\n")
}
