package report

import (
	"fmt"
	"html/template"
	"strconv"
	"strings"
)

// svg writes an SVG image element by element. Every text is escaped. Attributes consist of numbers and
// constants, or are escaped. stack holds the names of the open elements.
type svg struct {
	b     strings.Builder
	stack []string
}

func newSVG(id string, width, height float64, title, description string) *svg {
	s := new(svg)
	s.open("svg",
		`xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %s %s" role="img" aria-labelledby="%s-t %s-d" font-family="system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'Liberation Sans', Arial, sans-serif" font-size="12"`,
		num(width), num(height), id, id)
	fmt.Fprintf(&s.b, `<title id="%s-t">%s</title><desc id="%s-d">%s</desc>`+"\n", id, escape(title), id,
		escape(description))
	return s
}

func (s *svg) open(name, attributes string, args ...any) {
	fmt.Fprintf(&s.b, "<%s %s>", name, fmt.Sprintf(attributes, args...))
	s.stack = append(s.stack, name)
}

func (s *svg) close() {
	last := len(s.stack) - 1
	s.b.WriteString("</" + s.stack[last] + ">")
	s.stack = s.stack[:last]
	if last <= 1 {
		s.b.WriteByte('\n')
	}
}

// end closes all open elements and returns the whole SVG.
func (s *svg) end() template.HTML {
	for len(s.stack) > 0 {
		s.close()
	}
	return template.HTML(strings.TrimSpace(s.b.String()))
}

// title writes a text that browsers show when the pointer is on the element opened last. It writes nothing
// for an empty text.
func (s *svg) title(t string) {
	if t != "" {
		fmt.Fprintf(&s.b, "<title>%s</title>", escape(t))
	}
}

func (s *svg) line(x1, y1, x2, y2 float64, style string) {
	fmt.Fprintf(&s.b, `<line x1="%s" y1="%s" x2="%s" y2="%s" %s/>`, num(x1), num(y1), num(x2), num(y2), style)
}

func (s *svg) rect(x, y, width, height float64, style string) {
	fmt.Fprintf(&s.b, `<rect x="%s" y="%s" width="%s" height="%s" %s/>`, num(x), num(y), num(width), num(height), style)
}

func (s *svg) path(d, style string) {
	fmt.Fprintf(&s.b, `<path d="%s" %s/>`, d, style)
}

// Values of SVG's attribute text-anchor: x is the start, the middle or the end of the text.
const (
	start  = "start"
	middle = "middle"
	finish = "end"
)

// text writes a line of text at (x, y). class is ink (dark) or soft (grey). more holds further attributes.
func (s *svg) text(x, y float64, anchor, class, text, more string) {
	colour := ink
	if class == "soft" {
		colour = soft
	}
	fmt.Fprintf(&s.b, `<text x="%s" y="%s" text-anchor="%s" class="%s" fill="%s"%s>%s</text>`, num(x), num(y), anchor,
		class, colour, more, escape(text))
}

// num formats a coordinate, rounded to a hundredth of a unit.
func num(x float64) string {
	t := trimZeros(strconv.FormatFloat(x, 'f', 2, 64))
	if t == "-0" {
		return "0"
	}
	return t
}

func index(i int) string { return strconv.Itoa(i % len(colours)) }

func strokeStyle(i int) string { return `stroke="` + colours[i%len(colours)] + `"` }

func fillStyle(i int) string { return `fill="` + colours[i%len(colours)] + `"` }

func dashed(pattern string) string {
	if pattern == "" {
		return ""
	}
	return ` stroke-dasharray="` + pattern + `"`
}

// polyline formats an SVG path through the points (x1, y1), (x2, y2) and so on, given as x1, y1, x2, y2,
// .... polygon also closes the path.
func polyline(points []float64) string {
	var b strings.Builder
	for i := 0; i+1 < len(points); i += 2 {
		if i == 0 {
			b.WriteByte('M')
		} else {
			b.WriteByte('L')
		}
		b.WriteString(num(points[i]) + " " + num(points[i+1]))
	}
	return b.String()
}

func polygon(points []float64) string { return polyline(points) + "Z" }

// colours are the colours of series: the palette of Okabe and Ito (2008), which readers with colour
// blindness can distinguish. Yellow is left out, because it is too light for lines.
var colours = [...]string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"}

// dashes are the dash patterns of series, one for each colour. Dashes and the shapes of markers distinguish
// series in black and white.
var dashes = [...]string{"", "7 3", "2.5 2.5", "10 3 2.5 3", "14 4", "5 2 1.5 2 1.5 2", "1 4"}

const (
	ink   = "#1c1f23"
	soft  = "#59616b"
	grid  = "#e3e6ea"
	frame = "#59616b"
)

// referenceDashes are the dash patterns of reference lines, lines in a plot that are not data.
var referenceDashes = [...]string{"6 4", "1.5 3", "9 3 1.5 3"}

// marker draws a point at (x, y) with the colour of series i. Browsers show title when the pointer is on the point.
func (b *svg) marker(i int, x, y float64, title string) {
	b.open("circle", `cx="%s" cy="%s" r="4" %s stroke="#ffffff" stroke-width="1" class="halo fill%s"`, num(x), num(y),
		fillStyle(i), index(i))
	b.title(title)
	b.close()
}
