package experiment

import (
	"fmt"
	"strings"

	"github.com/stillpoint-dp/stillpoint/internal/report"
)

// together is the largest number of algorithms in one plot.
const together = 6

// Study returns the content of a page about the summary. question is the question that
// the page answers. commands are the commands that reproduce the results.
func (s Summary) Study(question string, commands ...string) Study {
	study := Study{Title: s.Name, Question: question, Reproduce: Reproduce{Commands: commands}}
	if s.Missing > 0 {
		study.Caveats = append(study.Caveats, fmt.Sprintf("%d of %d runs are missing.", s.Missing, s.Missing+s.Done))
	}
	for _, cells := range s.problems() {
		for i := 0; i < len(cells); i += together {
			part := cells[i:min(i+together, len(cells))]
			study.Curves = append(study.Curves, curves(part))
			if p := charges(part); len(p.Series) > 0 {
				study.Charges = append(study.Charges, p)
			}
		}
	}
	if len(s.Slopes) > 0 {
		study.Slopes = &Slopes{
			Title: "Exponents of the gradient norm in N", Label: "d log gradient norm / d log N",
			Caption: "Least squares through medians; 95% bootstrap intervals over seeds.",
		}
		for _, x := range s.Slopes {
			study.Slopes.Items = append(study.Slopes.Items, Fitted{
				Name: strings.Join(append([]string{x.Label}, s.telling(x.Group)...), ", "), Value: x.Value,
				Interval: report.Interval{Low: x.Low, High: x.High}, Points: x.Sizes,
			})
		}
	}
	study.Comparisons = s.bars()
	if len(s.Cells) > 0 {
		study.Tables = []report.Table{s.table()}
	}
	return study
}

func (g Group) problem() string {
	return fmt.Sprintf("%s, d = %d, epsilon = %g", g.Family, g.Dim, g.Epsilon)
}

// telling returns the parts of a group's name (family, dimension, epsilon) in which another slope of this
// summary differs from the group.
func (s Summary) telling(g Group) (parts []string) {
	differs := func(of func(Group) any) bool {
		for _, x := range s.Slopes {
			if of(x.Group) != of(g) {
				return true
			}
		}
		return false
	}
	if differs(func(g Group) any { return g.Family }) {
		parts = append(parts, g.Family)
	}
	if differs(func(g Group) any { return g.Dim }) {
		parts = append(parts, fmt.Sprintf("d %d", g.Dim))
	}
	if differs(func(g Group) any { return g.Epsilon }) {
		parts = append(parts, fmt.Sprintf("eps %g", g.Epsilon))
	}
	return parts
}

// problems groups the cells of the summary by problem (family, dimension and epsilon) and then by
// algorithm.
func (s Summary) problems() [][][]Cell {
	var list [][][]Cell
	problems, labels := map[string]int{}, map[Group]int{}
	for _, c := range s.Cells {
		i, ok := problems[c.problem()]
		if !ok {
			i = len(list)
			problems[c.problem()] = i
			list = append(list, nil)
		}
		j, ok := labels[c.Group]
		if !ok {
			j = len(list[i])
			labels[c.Group] = j
			list[i] = append(list[i], nil)
		}
		list[i][j] = append(list[i][j], c)
	}
	return list
}

// onLog limits a norm to [1e-290, 1e290], the range of a logarithmic axis.
func onLog(x float64) float64 { return min(max(x, 1e-290), 1e290) }

func curves(algorithms [][]Cell) report.Plot {
	p := report.Plot{
		Title: algorithms[0][0].problem(),
		Caption: "Medians over seeds of the gradient norm on all rows, with quartiles. The lower bound is that of the " +
			"worst problem, up to a constant.",
		X: report.Axis{Label: "effective size N", Log: true}, Y: report.Axis{Label: "gradient norm", Log: true},
	}
	floor, bound := report.Reference{Name: "noise level"}, report.Reference{Name: "lower bound"}
	for i, cells := range algorithms {
		x := report.Series{Name: cells[0].Label}
		for _, c := range cells {
			x.X = append(x.X, c.Effective)
			x.Y = append(x.Y, onLog(c.GradientNorm.Median))
			x.Low = append(x.Low, onLog(c.GradientNorm.Low))
			x.High = append(x.High, onLog(c.GradientNorm.High))
			if i == 0 {
				floor.X, floor.Y = append(floor.X, c.Effective), append(floor.Y, c.Floor)
				bound.X, bound.Y = append(bound.X, c.Effective), append(bound.Y, c.LowerBound)
			}
		}
		p.Series = append(p.Series, x)
	}
	p.References = []report.Reference{floor, bound}
	return p
}

// charges plots the budget spent up to each step, for each algorithm's first run at the last size of the
// specification. It leaves out algorithms whose schedule of Poisson samples is charged before the run.
func charges(algorithms [][]Cell) report.Plot {
	p := report.Plot{
		X: report.Axis{Label: "step", Log: true}, Y: report.Axis{Label: "charged (mu squared)"},
		Caption: "What a run has charged by each step. Schedules of Poisson samples are charged beforehand and not shown.",
	}
	for _, cells := range algorithms {
		c := cells[len(cells)-1]
		p.Title = fmt.Sprintf("%s, N = %.0f", c.problem(), c.Effective)
		x := report.Series{Name: c.Label, Style: report.Line}
		for _, point := range c.Series {
			x.X, x.Y = append(x.X, float64(point.Step)), append(x.Y, point.Charged)
		}
		if len(x.Y) > 0 && x.Y[len(x.Y)-1] > 0 {
			p.Series = append(p.Series, x)
		}
	}
	return p
}

// bars returns, for each problem (family, dimension and epsilon), the comparisons of the algorithms with
// the first algorithm at the last size of the specification.
func (s Summary) bars() []report.Bars {
	var list []report.Bars
	last := map[string]int{}
	for _, x := range s.Comparisons {
		last[x.problem()] = x.Records
	}
	at := map[string]int{}
	for _, x := range s.Comparisons {
		if x.Records != last[x.problem()] {
			continue
		}
		i, ok := at[x.problem()]
		if !ok {
			i = len(list)
			at[x.problem()] = i
			list = append(list, report.Bars{
				Title:   fmt.Sprintf("%s, N = %.0f", x.problem(), x.Effective),
				Caption: "Ratios of median gradient norms at equal budget; 95% bootstrap intervals over seeds.",
				X:       report.Axis{Label: "gradient norm over that of " + x.Baseline}, Dots: true,
				Marks: []report.Mark{{Name: x.Baseline, Value: 1}},
			})
		}
		list[i].Items = append(list[i].Items,
			report.Bar{Name: x.Label, Value: x.Value, Interval: report.Interval{Low: x.Low, High: x.High}})
	}
	return list
}

// table returns the table of runs, as in the Markdown.
func (s Summary) table() report.Table {
	head, rows := s.runs()
	t := report.Table{Title: "Runs", Caption: runsCaption}
	for _, h := range head {
		number := !strings.Contains("family algorithm settings", h) && !strings.HasPrefix(h, "seen")
		t.Columns = append(t.Columns, report.Column{Name: h, Number: number})
	}
	for _, r := range rows {
		for i := range r {
			r[i] = strings.Trim(r[i], "`") // the backquotes are Markdown
		}
		t.Rows = append(t.Rows, report.Row{Cells: r})
	}
	return t
}
