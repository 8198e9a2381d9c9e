package report

import (
	"errors"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/stillpoint-dp/stillpoint/internal/vector"
)

// Bars is a chart that compares values, with one bar on each line.
type Bars struct {
	Title   string `json:"title"`
	Caption string `json:"caption"`
	X       Axis   `json:"x"`
	Items   []Bar  `json:"items"`
	// If Dots is true, each value is drawn as a point instead of a bar from zero. Dots are for scales on
	// which zero has no meaning.
	Dots bool `json:"dots,omitempty"`
	// Marks are values with which the bars are compared. Each is drawn as a line across all bars.
	Marks []Mark `json:"marks,omitempty"`
}

// Bar is one value of Bars. Interval is drawn as an error bar; an Interval from 0 to 0 is not drawn. If
// Faint is true, the bar is drawn hollow. Points ([Bars.Dots]) are never hollow.
type Bar struct {
	Name     string   `json:"name"`
	Value    float64  `json:"value"`
	Interval Interval `json:"interval,omitzero"`
	Faint    bool     `json:"faint,omitempty"`
}

// Interval is a range around a value, for example a confidence interval.
type Interval struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Mark is a named value with which the bars of a chart are compared.
type Mark struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
}

// mostBars is the largest number of bars in one chart. A chart of that size fills a few printed pages.
const mostBars = 200

func (b Bars) check() error {
	switch {
	case b.Title == "":
		return errors.New("bars: title must be given")
	case b.X.Label == "":
		return fmt.Errorf("bars %q: the axis must have a label", b.Title)
	case len(b.Items) == 0 || len(b.Items) > mostBars:
		return fmt.Errorf("bars %q: %d items: must be between 1 and %d", b.Title, len(b.Items), mostBars)
	case b.X.Log && !b.Dots:
		return fmt.Errorf("bars %q: a logarithmic axis has no zero for bars to start from: use dots", b.Title)
	case len(b.Marks) > len(referenceDashes):
		return fmt.Errorf("bars %q: %d marks: must be at most %d", b.Title, len(b.Marks), len(referenceDashes))
	}
	for _, v := range b.values() {
		if !drawable(v, b.X.Log) {
			return fmt.Errorf("bars %q: %v: must be finite, below 1e200 and, on a logarithmic axis, above 1e-200", b.Title, v)
		}
	}
	for _, i := range b.Items {
		if i.Interval.Low > i.Interval.High {
			return fmt.Errorf("bars %q: interval %v of %q: low must be at most high", b.Title, i.Interval, i.Name)
		}
	}
	return nil
}

func (b Bars) values() []float64 {
	var all []float64
	for _, i := range b.Items {
		all = append(all, i.Value)
		if i.Interval != (Interval{}) {
			all = append(all, i.Interval.Low, i.Interval.High)
		}
	}
	return append(all, vector.Map(b.Marks, func(m Mark) float64 { return m.Value })...)
}

func (b Bars) html(id string) (template.HTML, error) {
	return figure(id, b.Title, b.Caption, b.draw(id))
}

const (
	barHeight = 22.0
	mostName  = 16.0 // largest width of a name beside its bar, in units of the text's size
)

// above reports whether names stand above their bars, since one of them is too long to stand beside its bar.
func (b Bars) above() bool {
	return slices.ContainsFunc(b.Items, func(i Bar) bool { return wide(oneLine(i.Name)) > mostName })
}

func (b Bars) draw(id string) template.HTML {
	left, right, barHeight := 0.0, 0.0, barHeight
	for _, i := range b.Items {
		left = max(left, wide(oneLine(i.Name))*labelSize)
		right = max(right, wide(b.written(i.Value))*labelSize)
	}
	if b.above() {
		left, barHeight = 0, barHeight+15
	}
	left, right = left+18, plotWidth-right-20
	top := 6.0
	if len(b.Marks) > 0 {
		top = 26
	}
	bottom := top + barHeight*float64(len(b.Items)) + 4
	height := bottom + bottomRoom

	values := b.values()
	if !b.Dots {
		values = append(values, 0)
	}
	lo, hi := slices.Min(values), slices.Max(values)
	x := newScale(b.X, lo, hi, left, right)
	if !b.Dots && b.X.Min >= b.X.Max { // if no value lies on the other side of zero, bars start at the edge
		if lo == 0 {
			x.lo = 0
		}
		if hi == 0 {
			x.hi = 0
		}
	}
	s := newSVG(id, plotWidth, height, b.Title, b.description())
	for _, t := range x.ticks(max(3, int((right-left)/80))) {
		at := x.at(t.at)
		if t.label == "" {
			s.line(at, bottom, at, bottom+3, `class="frame" stroke="`+frame+`"`)
			continue
		}
		s.line(at, top, at, bottom, `class="grid" stroke="`+grid+`"`)
		s.text(at, bottom+17, middle, "soft", t.label, "")
	}
	s.line(left, bottom, right, bottom, `class="frame" stroke="`+frame+`"`)
	for i, m := range b.Marks {
		at := x.at(m.Value)
		s.line(at, top-4, at, bottom, referenceStyle(i))
		s.text(min(max(at, left+wide(m.Name)*6), right-wide(m.Name)*6), top-9, middle, "ink", m.Name, "")
	}
	for i, item := range b.Items {
		y := top + barHeight*(float64(i)+.5) + 2
		if b.above() {
			y += 8
		}
		b.item(s, x, item, y)
	}
	if !b.Dots {
		s.line(x.at(0), top, x.at(0), bottom, `class="frame" stroke="`+frame+`"`)
	}
	s.text((left+right)/2, height-8, middle, "ink", shorten(b.X.Label, (plotWidth-20)/labelSize), "")
	return s.end()
}

func (b Bars) item(s *svg, x scale, item Bar, y float64) {
	note := item.Name + ": " + Number(item.Value)
	if item.Interval != (Interval{}) {
		note += ", interval " + Number(item.Interval.Low) + " to " + Number(item.Interval.High)
	}
	s.open("g", `font-size="%s"`, num(labelSize))
	s.title(note)
	if b.above() {
		s.text(x.from-10, y-12, start, "ink", shorten(oneLine(item.Name), (plotWidth-20)/labelSize), "")
	} else {
		s.text(x.from-10, y+4, finish, "ink", oneLine(item.Name), "")
	}
	colour := 0
	if item.Value < 0 {
		colour = 1
	}
	at := x.at(item.Value)
	if b.Dots {
		if item.Interval != (Interval{}) {
			s.interval(x.at(item.Interval.Low), x.at(item.Interval.High), y,
				strokeStyle(0)+` class="stroke0" stroke-width="1.8"`)
		}
		s.marker(0, at, y, "")
	} else {
		zero := x.at(0)
		style := fillStyle(colour) + ` class="fill` + index(colour) + `" fill-opacity=".85"`
		if item.Faint {
			style = `fill="none" ` + strokeStyle(colour) + ` class="stroke` + index(colour) + `"`
		}
		s.rect(min(zero, at), y-7, math.Abs(at-zero), 14, style)
		if item.Interval != (Interval{}) {
			s.interval(x.at(item.Interval.Low), x.at(item.Interval.High), y, `class="frame" stroke="`+ink+`" stroke-width="1.3"`)
		}
	}
	s.text(plotWidth-8, y+4, finish, "soft", b.written(item.Value), "")
	s.close()
}

// written formats a value for the chart. All values of the chart have the same number of decimals, chosen
// so that the value closest to 0, except 0 itself, has two significant digits. If this would take more than
// 5 decimals, or if a value is at least 1e5 or all values are 0, written uses [Number].
func (b Bars) written(v float64) string {
	least, most := math.Inf(1), 0.0
	for _, i := range b.Items {
		if i.Value != 0 {
			least, most = min(least, math.Abs(i.Value)), max(most, math.Abs(i.Value))
		}
	}
	places := max(0, 1-math.Floor(math.Log10(least)))
	if most == 0 || most >= 1e5 || places > 5 {
		return Number(v)
	}
	return sign(v) + grouped(strconv.FormatFloat(math.Abs(v), 'f', int(places), 64))
}

// interval draws an error bar: a horizontal line from low to high at the height y, with a short
// stroke at both ends.
func (s *svg) interval(low, high, y float64, style string) {
	s.line(low, y, high, y, style)
	s.line(low, y-4, low, y+4, style)
	s.line(high, y-4, high, y+4, style)
}

func (b Bars) description() string {
	items := vector.Map(b.Items, func(item Bar) string { return item.Name + " " + Number(item.Value) })
	return b.X.Label + ": " + strings.Join(items, "; ") + ". " + b.Caption
}

// Heat is a small table of numbers with coloured cells. Numbers above 0 have one colour and numbers below 0
// another colour. The colour is stronger for a larger absolute value.
type Heat struct {
	Title   string `json:"title"`
	Caption string `json:"caption"`
	// X names what the columns of the table stand for, and Y what its rows stand for.
	X       string       `json:"x"`
	Y       string       `json:"y"`
	Columns []string     `json:"columns"`
	Rows    []string     `json:"rows"`
	Cells   [][]HeatCell `json:"cells"`
}

// HeatCell is a cell of a Heat. A faint cell is drawn without colour. A thin cell is also drawn without
// colour, and has a dash instead of its text.
type HeatCell struct {
	Value float64 `json:"value"`
	Text  string  `json:"text"`
	Faint bool    `json:"faint,omitempty"`
	Thin  bool    `json:"thin,omitempty"`
}

// mostHeat is the largest number of rows of a Heat, and also of columns.
const mostHeat = 60

func (h Heat) check() error {
	switch {
	case h.Title == "" || h.X == "" || h.Y == "":
		return errors.New("heat: title, x and y must be given")
	case len(h.Rows) == 0 || len(h.Columns) == 0 || len(h.Rows) > mostHeat || len(h.Columns) > mostHeat:
		return fmt.Errorf("heat %q: %d rows, %d columns: must be between 1 and %d", h.Title, len(h.Rows), len(h.Columns),
			mostHeat)
	case len(h.Cells) != len(h.Rows):
		return fmt.Errorf("heat %q: %d rows of cells: must be %d", h.Title, len(h.Cells), len(h.Rows))
	}
	for _, row := range h.Cells {
		if len(row) != len(h.Columns) {
			return fmt.Errorf("heat %q: %d cells: must be %d", h.Title, len(row), len(h.Columns))
		}
		for _, c := range row {
			if !drawable(c.Value, false) {
				return fmt.Errorf("heat %q: %v: must be finite and below 1e200", h.Title, c.Value)
			}
		}
	}
	return nil
}

func (h Heat) html(id string) (template.HTML, error) {
	return figure(id, h.Title, h.Caption, h.draw(id))
}

// Sizes of a cell of a Heat in units of the picture: its height, and its largest width.
const cellHeight, mostCell = 24.0, 90.0

func (h Heat) draw(id string) template.HTML {
	left := 34 + vector.Most(h.Rows, func(name string) float64 { return min(wide(name), mostName) * labelSize })
	width := min((plotWidth-left-10)/float64(len(h.Columns)), mostCell)
	bottom := 6 + cellHeight*float64(len(h.Rows))
	most := vector.Most(slices.Concat(h.Cells...), func(c HeatCell) float64 { return math.Abs(c.Value) })
	s := newSVG(id, plotWidth, bottom+44, h.Title, h.description())
	for i, row := range h.Cells {
		y := 6 + cellHeight*float64(i)
		s.text(left-8, y+cellHeight/2+4, finish, "soft", shorten(oneLine(h.Rows[i]), mostName), "")
		for j, c := range row {
			s.cell(c, left+width*float64(j), y, width, most, h.Rows[i]+", "+h.Columns[j])
		}
	}
	for j, name := range h.Columns {
		s.text(left+width*(float64(j)+.5), bottom+16, middle, "soft", shorten(oneLine(name), width/labelSize*1.6), "")
	}
	s.text(left+width*float64(len(h.Columns))/2, bottom+36, middle, "ink", shorten(h.X, (plotWidth-left)/labelSize), "")
	s.text(13, 6+(bottom-6)/2, middle, "ink", shorten(h.Y, bottom/labelSize),
		` transform="rotate(-90 13 `+num(6+(bottom-6)/2)+`)"`)
	return s.end()
}

// cell draws a cell of a Heat with its upper left corner at (x, y). most is the largest absolute value of
// the Heat, which has the strongest colour.
func (s *svg) cell(c HeatCell, x, y, width, most float64, name string) {
	s.open("g", `font-size="%s"`, num(labelSize-1))
	s.title(name + ": " + c.Text)
	colour := 0
	if c.Value < 0 {
		colour = 1
	}
	style := `fill="none"`
	if !c.Faint && !c.Thin && most > 0 {
		style = fillStyle(colour) + ` class="fill` + index(colour) + `" fill-opacity="` + num(.1+.55*math.Abs(c.Value)/most) +
			`"`
	}
	s.rect(x+1, y+1, width-2, cellHeight-2, style)
	s.rect(x+1, y+1, width-2, cellHeight-2, `fill="none" class="grid" stroke="`+grid+`"`)
	text, class := c.Text, "ink"
	if c.Thin {
		text, class = "–", "soft"
	}
	s.text(x+width/2, y+cellHeight/2+4, middle, class, text, "")
	s.close()
}

func (h Heat) description() string {
	t := h.Y + " by " + h.X + ":"
	for i, row := range h.Cells {
		for j, c := range row {
			t += " " + h.Rows[i] + ", " + h.Columns[j] + " " + c.Text + ";"
		}
	}
	return t + " " + h.Caption
}
