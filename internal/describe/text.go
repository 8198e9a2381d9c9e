package describe

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/autobounds"
	"github.com/stillpoint-dp/stillpoint/internal/safetext"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
)

// Table is a table of a description, as texts.
type Table struct {
	Title string
	Head  []string
	Rows  [][]string
}

// Tables returns the description as tables of texts: its columns and, if they are described by the values of a
// category, a table with a column for each of these values.
func (d *Description) Tables() []Table {
	level := fmt.Sprintf("%v%% interval", tidy(100*d.Level))
	all := Table{"All rows", []string{"column", "of it", "value", level}, nil}
	for _, c := range d.Columns {
		name := c.Name
		add := func(of, value, interval string) {
			all.Rows = append(all.Rows, []string{name, of, value, interval})
			name = ""
		}
		for _, l := range c.Levels {
			add(l.Name, c.number(math.Round(l.Count.Estimate), 9)+" ("+share(l.Share.Estimate)+")", l.Share.between(share))
		}
		if c.Missing == nil {
			continue
		}
		add("missing", share(c.Missing.Estimate), c.Missing.between(share))
		if c.Mean == nil && c.Quantiles == nil {
			add("numbers", "none above the noise", "")
		}
		for _, q := range c.Quantiles {
			add(quantileName(q.Share), c.show(q.Estimate), q.between(c.show))
		}
		if c.Mean != nil {
			add("mean", c.show(c.Mean.Estimate), c.Mean.between(c.show))
		}
		if c.Spread != nil {
			plain := func(x float64) string { return c.number(x, 4) }
			add("standard deviation", plain(c.Spread.Estimate), c.Spread.between(plain))
		}
		if c.Mean != nil {
			add("clamped to", c.show(c.Within[0])+" to "+c.show(c.Within[1]), "")
		}
		if c.Beyond != nil {
			add("far beyond", share(c.Beyond.Estimate), c.Beyond.between(share))
		}
		if c.Bounds != nil {
			add("bounds for a fit", c.show(c.Bounds[0])+" to "+c.show(c.Bounds[1]), "")
		}
	}
	if d.By == "" {
		return []Table{all}
	}
	return []Table{all, d.grouped()}
}

// grouped returns the table with a column for each value of the category By that has rows above the noise.
func (d *Description) grouped() Table {
	t := Table{Title: "By " + d.By, Head: []string{"column", "of it"}}
	var groups []Level
	for _, c := range d.Columns {
		for _, l := range c.Levels {
			if c.Name == d.By && l.Columns != nil {
				groups = append(groups, l)
				t.Head = append(t.Head, d.By+" = "+l.Name)
			}
		}
	}
	if len(groups) == 0 {
		return t
	}
	t.Rows = append(t.Rows, append([]string{"rows", ""}, vector.Map(groups, func(g Level) string {
		return whole(g.Count.Estimate) + " (" + g.Count.between(whole) + ")"
	})...))
	for i, c := range groups[0].Columns {
		cells := func(column, of string, cell func(Column) string) {
			row := vector.Map(groups, func(g Level) string { return cell(g.Columns[i]) })
			t.Rows = append(t.Rows, append([]string{column, of}, row...))
		}
		if c.Levels == nil {
			cells(c.Name, "mean", func(c Column) string {
				if c.Mean == nil {
					return "-"
				}
				return c.show(c.Mean.Estimate) + " (" + c.Mean.between(c.show) + ")"
			})
		}
		name := c.Name
		for k, l := range c.Levels {
			cells(name, l.Name, func(c Column) string {
				s := c.Levels[k].Share
				return share(s.Estimate) + " (" + s.between(share) + ")"
			})
			name = ""
		}
	}
	return t
}

// Text returns the tables as aligned text.
func (d *Description) Text() string {
	var b strings.Builder
	for i, t := range d.Tables() {
		if i > 0 {
			fmt.Fprintf(&b, "\n%s\n", safetext.Text(t.Title))
		}
		b.WriteString(safetext.Table(t.Head, t.Rows))
	}
	trim := func(line string) string { return strings.TrimRight(line, " ") }
	return strings.Join(vector.Map(strings.Split(b.String(), "\n"), trim), "\n")
}

// between shows the interval of a value.
func (v Value) between(show func(float64) string) string { return show(v.Low) + " to " + show(v.High) }

// show writes a number of the column for readers: a date as a day, other numbers with four digits.
func (c Column) show(x float64) string {
	if math.Abs(x) >= autobounds.Number {
		return "no end"
	}
	if c.Kind == dataset.Date.String() {
		return dataset.ShowDay(math.Floor(x))
	}
	return c.number(x, 4)
}

// number writes a number with so many significant digits, and whole numbers below 10^9 with all of theirs.
func (Column) number(x float64, digits int) string {
	if x == math.Trunc(x) && math.Abs(x) < 1e9 {
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', digits, 64), 64)
	if a := math.Abs(rounded); a >= 1e-4 && a < 1e9 {
		return strconv.FormatFloat(rounded, 'f', -1, 64)
	}
	return strconv.FormatFloat(rounded, 'g', -1, 64)
}

// share writes a share as a percentage with one decimal, or three below .1%.
func share(x float64) string {
	decimals := 1
	if x > 0 && x < .001 {
		decimals = 3
	}
	return strconv.FormatFloat(100*x, 'f', decimals, 64) + "%"
}

func whole(x float64) string { return strconv.FormatFloat(math.Round(x), 'f', 0, 64) }

func quantileName(q float64) string {
	if q == .5 {
		return "median"
	}
	return strconv.FormatFloat(tidy(100*q), 'f', -1, 64) + "% quantile"
}

// Name is the name of descriptions in ledgers and certificates, where a fit has its algorithm.
const Name = "describe"

// Value is a released number with the ends of its confidence interval.
type Value struct {
	Estimate float64 `json:"estimate"`
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
}

// Description is what was released of a table.
type Description struct {
	// Level is the confidence level of the intervals, which are of the table's own values.
	Level float64 `json:"level"`
	// Rows is the number of rows.
	Rows Value `json:"rows"`
	// By names the category by whose values the columns are described, too.
	By      string   `json:"by,omitempty"`
	Columns []Column `json:"columns"`
}

// Column describes a column. Numbers of a date are days since 1970-01-01.
type Column struct {
	Name string `json:"name"`
	// Kind is number, date or category.
	Kind string `json:"kind"`
	// Missing is the share of missing and unreadable cells of a number or a date.
	Missing *Value `json:"missing,omitempty"`
	// Within is the range to whose ends numbers were clamped for Mean and Spread, the standard deviation. Mean,
	// Spread and Bounds are nil if no number but 0 was found above the noise.
	Within []float64 `json:"within,omitempty"`
	// Beyond is the share of rows whose numbers are far outside of Within: where the first release found none above the
	// noise. It is nil if Within was chosen from all public bounds.
	Beyond *Value `json:"beyond,omitempty"`
	Mean   *Value `json:"mean,omitempty"`
	Spread *Value `json:"standard_deviation,omitempty"`
	// Quantiles are the column's quantiles.
	Quantiles []Quantile `json:"quantiles,omitempty"`
	// Bounds are bounds of the column for a fit: the outer ends of the intervals of two quantiles near the ends (0.5%
	// and 99.5%, and nearer to the middle where the noise hides so few rows), a tenth of their distance further apart
	// and rounded outwards.
	Bounds []float64 `json:"bounds,omitempty"`
	// Levels are the values of a category. The last of them is other, which stands for missing cells and for values
	// that are not listed.
	Levels []Level `json:"levels,omitempty"`
}

// Quantile is the number below which a share of the column's numbers are.
type Quantile struct {
	Share float64 `json:"share"`
	Value
}

// Level is a value of a category.
type Level struct {
	Name  string `json:"name"`
	Share Value  `json:"share"`
	Count Value  `json:"count"`
	// Columns are the other columns in the rows with this value of the category By: means of numbers and shares of
	// values. It is nil for other categories, and where the rows are too few for the noise.
	Columns []Column `json:"columns,omitempty"`
}
