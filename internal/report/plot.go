package report

import (
	"errors"
	"fmt"
	"html/template"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/stillpoint-dp/stillpoint/internal/vector"
)

// Plot shows series of points in one coordinate system.
type Plot struct {
	Title string `json:"title"`
	// Caption describes the plot, also for readers who cannot see it.
	Caption string   `json:"caption"`
	X       Axis     `json:"x"`
	Y       Axis     `json:"y"`
	Series  []Series `json:"series"`
	// References are lines that are not data, for example a theoretical bound. They are drawn dashed.
	References []Reference `json:"references,omitempty"`
	// Shaded are intervals of the horizontal axis. The plot's background is grey over them.
	Shaded []Interval `json:"shaded,omitempty"`
}

// Axis is an axis from Min to Max. If Min >= Max, the axis covers the data. If Log is true, it is logarithmic.
type Axis struct {
	// Label names the measured quantity and its unit.
	Label string  `json:"label"`
	Log   bool    `json:"log,omitempty"`
	Min   float64 `json:"min,omitempty"`
	Max   float64 `json:"max,omitempty"`
}

// Style is the way in which a series is drawn. The zero Style draws a marker at each point and joins the points.
type Style string

const (
	Joined Style = ""
	Line   Style = "line"  // joined without markers
	Steps  Style = "steps" // constant from each point to the next point
)

// Series is a named sequence of 1 to 1e7 points (X[i], Y[i]).
type Series struct {
	Name string    `json:"name"`
	X    []float64 `json:"x"`
	Y    []float64 `json:"y"`
	// Low and High are the lower and upper ends of a band around Y, for example quartiles. Both are nil if
	// there is no band.
	Low   []float64 `json:"low,omitempty"`
	High  []float64 `json:"high,omitempty"`
	Style Style     `json:"style,omitempty"`
}

// Reference is a line in a plot that is not data. It joins the points (X[i], Y[i]). If X is nil, it is a
// horizontal line at Y[0].
type Reference struct {
	Name string    `json:"name"`
	X    []float64 `json:"x,omitempty"`
	Y    []float64 `json:"y"`
}

// Level returns a horizontal reference line at y.
func Level(name string, y float64) Reference { return Reference{Name: name, Y: []float64{y}} }

// mostSeries is the largest number of series in a plot. Colours, dashes and markers could not distinguish more series.
const mostSeries = len(colours)

func (p Plot) check() error {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("plot %q: %w", p.Title, fmt.Errorf(format, args...))
	}
	switch {
	case p.Title == "":
		return errors.New("plot: title must be given")
	case p.X.Label == "" || p.Y.Label == "":
		return fail("both axes must have labels")
	case len(p.Series) == 0:
		return fail("must have a series")
	case len(p.Series) > mostSeries:
		return fail("%d series: must be at most %d, which can be told apart", len(p.Series), mostSeries)
	case len(p.References) > len(referenceDashes):
		return fail("%d references: must be at most %d", len(p.References), len(referenceDashes))
	}
	for _, a := range []Axis{p.X, p.Y} {
		if !vector.Finite(a.Min) || !vector.Finite(a.Max) || (a.Log && a.Min < a.Max && a.Min <= 0) {
			return fail("axis %q: ends %v, %v: must be finite, and > 0 on a logarithmic axis", a.Label, a.Min, a.Max)
		}
	}
	for _, s := range p.Series {
		if s.Name == "" || len(s.X) == 0 || len(s.X) > 1e7 {
			return fail("series %q: must have a name and between 1 and 1e7 points", s.Name)
		}
		if err := p.checkPoints(s); err != nil {
			return fail("series %q: %w", s.Name, err)
		}
	}
	for _, r := range p.Shaded {
		if !drawable(r.Low, p.X.Log) || !drawable(r.High, p.X.Log) || r.Low > r.High {
			return fail("shaded %v: must be a finite stretch of the axis", r)
		}
	}
	for _, r := range p.References {
		if r.X == nil && len(r.Y) != 1 {
			return fail("reference %q: must have one y where it has no x", r.Name)
		}
		x := r.X
		if x == nil {
			x = p.Series[0].X[:1]
		}
		if r.Name == "" {
			return fail("references must have names")
		}
		if err := p.checkPoints(Series{X: x, Y: r.Y}); err != nil {
			return fail("reference %q: %w", r.Name, err)
		}
	}
	return nil
}

func (p Plot) checkPoints(s Series) error {
	switch s.Style {
	case Joined, Line, Steps:
	default:
		return fmt.Errorf("style = %q: must be line, steps or empty", s.Style)
	}
	if len(s.Y) != len(s.X) || (s.Low != nil || s.High != nil) && (len(s.Low) != len(s.X) || len(s.High) != len(s.X)) {
		return fmt.Errorf("%d x, %d y, %d low, %d high: must be as many", len(s.X), len(s.Y), len(s.Low), len(s.High))
	}
	for _, of := range []struct {
		name   string
		log    bool
		values []float64
	}{{"x", p.X.Log, s.X}, {"y", p.Y.Log, s.Y}, {"low", p.Y.Log, s.Low}, {"high", p.Y.Log, s.High}} {
		for i, v := range of.values {
			if !drawable(v, of.log) {
				return fmt.Errorf("%s[%d] = %v: must be finite, below 1e200 and, on a logarithmic axis, above 1e-200", of.name, i,
					v)
			}
		}
	}
	for i := range s.Low {
		if s.Low[i] > s.High[i] {
			return fmt.Errorf("low[%d] = %v: must be at most high, %v", i, s.Low[i], s.High[i])
		}
	}
	return nil
}

// drawable reports whether |x| < 1e200 and, on a logarithmic axis, x > 1e-200. Sums and quotients of such
// values stay within the range of float64.
func drawable(x float64, log bool) bool {
	return vector.Finite(x) && math.Abs(x) < 1e200 && (!log || x > 1e-200)
}

// span returns the smallest and the largest x and y of all series, their bands and all reference lines.
func (p Plot) span() (x0, x1, y0, y1 float64) {
	x0, x1, y0, y1 = math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
	over := func(lo, hi *float64, lists ...[]float64) {
		for _, list := range lists {
			for _, v := range list {
				*lo, *hi = min(*lo, v), max(*hi, v)
			}
		}
	}
	for _, s := range p.Series {
		over(&x0, &x1, s.X)
		over(&y0, &y1, s.Y, s.Low, s.High)
	}
	for _, r := range p.References {
		over(&x0, &x1, r.X)
		over(&y0, &y1, r.Y)
	}
	return x0, x1, y0, y1
}

func (p Plot) html(id string) (template.HTML, error) {
	return figure(id, p.Title, p.Caption, p.draw(id))
}

// SVG writes the plot as an SVG file that needs no page around it.
func (p Plot) SVG(w io.Writer) error {
	if err := p.check(); err != nil {
		return err
	}
	_, err := io.WriteString(w, string(p.draw("plot"))+"\n")
	return err
}

// scale maps values to positions along an axis of a plot.
type scale struct {
	log      bool
	lo, hi   float64 // values at the ends
	from, to float64 // positions of the ends
}

// newScale returns a scale for the axis a between the positions from and to. If a.Min < a.Max, the scale
// covers exactly that range. Otherwise it covers the values from lo to hi with some margin at both ends,
// and a linear scale starts or ends at 0 if 0 is near.
func newScale(a Axis, lo, hi, from, to float64) scale {
	s := scale{log: a.Log, lo: lo, hi: hi, from: from, to: to}
	if a.Min < a.Max {
		s.lo, s.hi = a.Min, a.Max
		return s
	}
	if s.log {
		margin := .06 * (math.Log(hi) - math.Log(lo))
		if !(margin > .02) {
			margin = math.Log(2)
		}
		s.lo, s.hi = lo*math.Exp(-margin), hi*math.Exp(margin)
		return s
	}
	margin := .05 * (hi - lo)
	if !(margin > 1e-290) { // for a smaller range, rounding would lose the digits of a step
		margin = max(math.Abs(lo)/2, .5)
	}
	s.lo, s.hi = lo-margin, hi+margin
	if lo >= 0 && s.lo < .3*hi { // if zero is near, the axis starts there
		s.lo = 0
	} else if hi <= 0 && s.hi > .3*lo {
		s.hi = 0
	}
	return s
}

// at returns the position of a value along the axis. The value may be outside the axis.
func (s scale) at(x float64) float64 {
	share := (x - s.lo) / (s.hi - s.lo)
	if s.log {
		share = (math.Log(x) - math.Log(s.lo)) / (math.Log(s.hi) - math.Log(s.lo))
	}
	return s.from + share*(s.to-s.from)
}

// holds reports whether a value is within the axis, up to rounding errors.
func (s scale) holds(x float64) bool {
	slack := 1e-9 * (s.hi - s.lo)
	if s.log {
		return x >= s.lo*(1-1e-9) && x <= s.hi*(1+1e-9)
	}
	return x >= s.lo-slack && x <= s.hi+slack
}

// tick is a mark on an axis. A minor tick has no label.
type tick struct {
	at    float64
	label string
}

// ticks returns the marks of the axis: at round steps on a linear axis, at decades on a logarithmic axis.
// About as many marks as the number most have a label.
func (s scale) ticks(most int) []tick {
	if s.log {
		return s.logTicks(most)
	}
	return s.linearTicks(most)
}

func (s scale) linearTicks(most int) []tick {
	step := roundStep((s.hi - s.lo) / float64(most))
	var list []tick
	for i := math.Ceil(s.lo/step - 1e-9); i <= s.hi/step+1e-9; i++ {
		list = append(list, tick{i * step, tickLabel(i*step, step)})
	}
	return list
}

// roundStep returns the smallest number of the form 1, 2 or 5 times a power of ten that is at least x.
func roundStep(x float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(x)))
	for _, m := range []float64{1, 2, 5} {
		if m*power >= x*(1-1e-9) {
			return m * power
		}
	}
	return 10 * power
}

// tickLabel formats x, a multiple of step, with enough digits to distinguish x from the next multiples.
func tickLabel(x, step float64) string {
	if math.Abs(x) < step/2 {
		return "0"
	}
	if e := math.Floor(math.Log10(math.Abs(x)) + 1e-9); e < -4 || e > 6 {
		places := max(0, int(e-math.Floor(math.Log10(step)+1e-9)))
		mantissa, power, _ := strings.Cut(strconv.FormatFloat(math.Abs(x), 'e', places, 64), "e")
		n, _ := strconv.Atoi(power)
		return sign(x) + trimZeros(mantissa) + "×10" + superscript(n)
	}
	places := max(0, int(-math.Floor(math.Log10(step)+1e-9)))
	return sign(x) + grouped(strconv.FormatFloat(math.Abs(x), 'f', places, 64))
}

// logTicks labels the decades of a logarithmic axis. If the axis has more than most decades, it labels only
// every second decade, every third and so on. If this gives fewer than three labels, it also labels 2 and 5
// times each decade. If this gives fewer than two labels, it labels 1 to 9 times each decade. If this also
// gives fewer than two, it uses the steps of a linear axis.
func (s scale) logTicks(most int) []tick {
	first, last := math.Floor(math.Log10(s.lo)), math.Ceil(math.Log10(s.hi))
	// The logarithms are subtracted, because the quotient hi/lo could be outside the range of float64.
	every := max(1, math.Ceil((math.Log10(s.hi)-math.Log10(s.lo))/float64(most)))
	for _, named := range []string{"1", "125", "123456789"} {
		var list []tick
		count := 0
		for e := first; e <= last; e++ {
			for m := 1.0; m <= 9; m++ {
				v := m * math.Pow(10, e)
				if !s.holds(v) || (every > 1 && m > 1) {
					continue
				}
				t := tick{at: v}
				if strings.ContainsRune(named, rune('0'+int(m))) && math.Mod(e, every) == 0 {
					t.label = powerLabel(v, m, int(e))
					count++
				}
				list = append(list, t)
			}
		}
		if count >= 3 || (count == 2 && named != "1") {
			return list
		}
	}
	return s.linearTicks(most)
}

// powerLabel formats the number v = m 10^e: as a decimal number if e is between -3 and 5, otherwise with a
// power of ten.
func powerLabel(v, m float64, e int) string {
	if e >= -3 && e <= 5 {
		return grouped(trimZeros(strconv.FormatFloat(v, 'f', max(0, -e), 64)))
	}
	if m == 1 {
		return "10" + superscript(e)
	}
	return strconv.FormatFloat(m, 'f', 0, 64) + "×10" + superscript(e)
}
