package report

import (
	"cmp"
	"html/template"
	"math"
	"slices"

	"github.com/stillpoint-dp/stillpoint/internal/vector"
)

// Sizes in units of the SVG's view box. Text is 12 units high. A chart is as wide as the column of text on any screen: on
// a telephone, where a column has some 360 pixels, the text of a chart is then 9 pixels high, and no page scrolls
// sideways.
const (
	plotWidth  = 480.0
	plotHeight = 300.0
	topRoom    = 14.0
	bottomRoom = 50.0
	labelSize  = 12.0
	mostLabel  = 11.0 // largest width of a line's name, in units of the text's size
	gap        = 30.0 // width between plot and labels: for a connecting line and a line sample
)

// drawing is a plot with the scales of its axes and the SVG that is being written.
type drawing struct {
	Plot
	*svg
	x, y scale
}

func (p Plot) draw(id string) template.HTML {
	x0, x1, y0, y1 := p.span()
	top, bottom := topRoom, plotHeight-bottomRoom
	y := newScale(p.Y, y0, y1, bottom, top)
	yTicks := y.ticks(7)
	left := 34 + max(0, vector.Most(yTicks, func(t tick) float64 { return wide(t.label) * labelSize }))
	right := plotWidth - gap - 6 - p.labelWidth()
	x := newScale(p.X, x0, x1, left, right)
	d := &drawing{p, newSVG(id, plotWidth, plotHeight, p.Title, p.description()), x, y}
	d.open("clipPath", `id="%s-c"`, id)
	d.rect(left, top-5, right-left+5, bottom-top+10, "")
	d.close()
	for _, r := range p.Shaded {
		from, to := max(x.at(r.Low), left), min(x.at(r.High), right)
		d.rect(from, top, max(to-from, 0), bottom-top, `class="shade" fill="`+soft+`" fill-opacity=".13"`)
	}
	d.axes(yTicks)
	d.open("g", `clip-path="url(#%s-c)" fill="none"`, id)
	for i, s := range p.Series {
		d.band(i, s)
	}
	for i, r := range p.References {
		d.reference(i, r)
	}
	for i, s := range p.Series {
		d.series(i, s)
	}
	d.close()
	d.labels()
	return d.end()
}

// labelWidth returns the width in units of the view box that the names of the plot's lines need at its
// right side. Longer names are cut to mostLabel.
func (p Plot) labelWidth() float64 {
	w := max(0, vector.Most(p.Series, func(s Series) float64 { return wide(s.Name) }),
		vector.Most(p.References, func(r Reference) float64 { return wide(r.Name) }))
	return min(w, mostLabel) * labelSize * 1.02
}

func (p Plot) description() string {
	kind := func(a Axis) string {
		if a.Log {
			return " (logarithmic)"
		}
		return ""
	}
	t := p.Y.Label + kind(p.Y) + " over " + p.X.Label + kind(p.X) + ":"
	for i, s := range p.Series {
		if i > 0 {
			t += ";"
		}
		last := len(s.X) - 1
		t += " " + s.Name + ", from " + Number(s.Y[0]) + " at " + Number(s.X[0]) + " to " + Number(s.Y[last]) + " at " +
			Number(s.X[last])
	}
	for _, r := range p.References {
		t += "; dashed: " + r.Name
	}
	return t + ". " + p.Caption
}

func (d *drawing) axes(yTicks []tick) {
	left, right, top, bottom := d.x.from, d.x.to, d.y.to, d.y.from
	const (
		gridStyle  = `class="grid" stroke="` + grid + `" stroke-width="1"`
		frameStyle = `class="frame" stroke="` + frame + `" stroke-width="1"`
	)
	for _, t := range yTicks {
		at := d.y.at(t.at)
		if t.label == "" {
			d.line(left-3, at, left, at, frameStyle)
			continue
		}
		d.line(left, at, right, at, gridStyle)
		d.line(left-5, at, left, at, frameStyle)
		d.text(left-9, at+4, finish, "soft", t.label, "")
	}
	for _, t := range d.x.ticks(max(3, int((right-left)/64))) {
		at := d.x.at(t.at)
		if t.label == "" {
			d.line(at, bottom, at, bottom+3, frameStyle)
			continue
		}
		d.line(at, top, at, bottom, gridStyle)
		d.line(at, bottom, at, bottom+5, frameStyle)
		d.text(at, bottom+19, middle, "soft", t.label, "")
	}
	d.path(polyline([]float64{left, top, left, bottom, right, bottom}), `fill="none" `+frameStyle)
	d.text((left+right)/2, plotHeight-8, middle, "ink", shorten(d.X.Label, (right-left+60)/labelSize), "")
	d.text(13, (top+bottom)/2, middle, "ink", shorten(d.Y.Label, (bottom-top+20)/labelSize),
		` transform="rotate(-90 13 `+num((top+bottom)/2)+`)"`)
}

// band draws the range of series i: the area between its Low and High. If the points are not joined, or if there is one
// point, it also draws an error bar at each point. It draws nothing if the series has no range.
func (d *drawing) band(i int, s Series) {
	if s.Low == nil {
		return
	}
	keep := thin(s)
	var points []float64
	for _, k := range keep {
		points = append(points, d.x.at(s.X[k]), d.y.at(s.High[k]))
	}
	for j := len(keep) - 1; j >= 0; j-- {
		points = append(points, d.x.at(s.X[keep[j]]), d.y.at(s.Low[keep[j]]))
	}
	d.path(polygon(points), fillStyle(i)+` class="fill`+index(i)+`" fill-opacity=".16" stroke="none"`)
	if len(keep) == 1 {
		d.whisker(d.x.at(s.X[0]), d.y.at(s.Low[0]), d.y.at(s.High[0]), i)
	}
}

func (d *drawing) whisker(x, low, high float64, i int) {
	style := strokeStyle(i) + ` class="stroke` + index(i) + `" stroke-width="1.3"`
	d.line(x, low, x, high, style)
	d.line(x-3, low, x+3, low, style)
	d.line(x-3, high, x+3, high, style)
}

func (d *drawing) series(i int, s Series) {
	keep := thin(s)
	var points []float64
	for j, k := range keep {
		x, y := d.x.at(s.X[k]), d.y.at(s.Y[k])
		if s.Style == Steps && j > 0 {
			points = append(points, x, points[len(points)-1])
		}
		points = append(points, x, y)
	}
	if len(keep) > 1 {
		d.path(polyline(points),
			strokeStyle(i)+` class="stroke`+index(i)+`" stroke-width="2" stroke-linejoin="round"`+dashed(dashes[i]))
	}
	if s.Style == Joined || len(keep) == 1 {
		for _, k := range keep {
			note := ""
			if len(keep) <= 100 {
				note = s.Name + ": " + Number(s.Y[k]) + " at " + Number(s.X[k])
			}
			if d.x.holds(s.X[k]) && d.y.holds(s.Y[k]) {
				d.marker(i, d.x.at(s.X[k]), d.y.at(s.Y[k]), note)
			}
		}
	}
}

func (d *drawing) reference(i int, r Reference) {
	points := []float64{d.x.from, d.y.at(r.Y[0]), d.x.to, d.y.at(r.Y[0])}
	if r.X != nil {
		points = nil
		for _, k := range thin(Series{X: r.X, Y: r.Y}) {
			points = append(points, d.x.at(r.X[k]), d.y.at(r.Y[k]))
		}
	}
	d.path(polyline(points), referenceStyle(i))
}

func referenceStyle(i int) string {
	return `class="frame" stroke="` + ink + `" stroke-width="1.4"` + dashed(referenceDashes[i])
}

// mostPoints is the largest number of points that are drawn of one series.
const mostPoints = 600

// thin returns the indices of the points of s to draw. A series of at most mostPoints points is drawn
// whole. A longer series is divided into stretches of about equally many points. thin then keeps the first
// and the last point of the series, and the points with the smallest and the largest Y of each stretch.
func thin(s Series) []int {
	n := len(s.Y)
	if n <= mostPoints {
		return vector.Make(n, func(i int) int { return i })
	}
	keep := []int{0}
	const stretches = (mostPoints - 2) / 2
	for b := range stretches {
		lo, hi := 1+b*(n-2)/stretches, 1+(b+1)*(n-2)/stretches
		least, greatest, a, z := math.Inf(1), math.Inf(-1), lo, lo
		for k := lo; k < hi; k++ {
			if s.Y[k] < least {
				least, a = s.Y[k], k
			}
			if s.Y[k] > greatest {
				greatest, z = s.Y[k], k
			}
		}
		keep = append(keep, min(a, z))
		if a != z {
			keep = append(keep, max(a, z))
		}
	}
	return append(keep, n-1)
}

// label is the name of a series or reference line, written at the right of a plot.
type label struct {
	name         string
	i            int // index of the series, or of the reference line if reference is true
	reference    bool
	style        Style
	fromX, fromY float64 // the line's right end
	midY         float64 // the line's height in the middle of the plot, which orders lines that end together
	y            float64 // height of the label
}

const labelHeight = 16.0

// labels writes the name of each series and reference line at the right of the plot, near the height at
// which the line ends. A sample of the line stands before the name.
func (d *drawing) labels() {
	var list []label
	inside := func(y float64) float64 { return min(max(y, d.y.to), d.y.from) }
	for i, s := range d.Series {
		last := rightmost(s.X)
		list = append(list, label{name: s.Name, i: i, style: s.Style, fromX: d.x.at(s.X[last]),
			fromY: inside(d.y.at(s.Y[last])), midY: d.middle(s.X, s.Y)})
	}
	for i, r := range d.References {
		l := label{name: r.Name, i: i, reference: true, fromX: d.x.to, fromY: inside(d.y.at(r.Y[0])), midY: d.y.at(r.Y[0])}
		if r.X != nil {
			last := rightmost(r.X)
			l.fromX, l.fromY = d.x.at(r.X[last]), inside(d.y.at(r.Y[last]))
			l.midY = d.middle(r.X, r.Y)
		}
		list = append(list, l)
	}
	slices.SortStableFunc(list, func(a, b label) int {
		if math.Abs(a.fromY-b.fromY) > .5 {
			return cmp.Compare(a.fromY, b.fromY)
		}
		return cmp.Compare(a.midY, b.midY)
	})
	spread(list, d.y.to+4, d.y.from-2)
	for _, l := range list {
		d.label(l)
	}
}

// middle returns the height at which the line through the points (x, y) first passes the plot's horizontal
// middle. It returns the height of the last point if the line does not pass it.
func (d *drawing) middle(x, y []float64) float64 {
	half := (d.x.from + d.x.to) / 2
	for i := 1; i < len(x); i++ {
		a, b := d.x.at(x[i-1]), d.x.at(x[i])
		if a <= half && half < b {
			share := (half - a) / (b - a)
			return (1-share)*d.y.at(y[i-1]) + share*d.y.at(y[i])
		}
	}
	return d.y.at(y[len(y)-1])
}

// rightmost returns the index of the greatest x, and of the last one if several are equal.
func rightmost(x []float64) int {
	best := 0
	for i, v := range x {
		if v >= x[best] {
			best = i
		}
	}
	return best
}

func (d *drawing) label(l label) {
	at := d.x.to
	style := strokeStyle(l.i) + ` class="stroke` + index(l.i) + `" stroke-width="2"` + dashed(dashes[l.i])
	if l.reference {
		style = referenceStyle(l.i)
	}
	if math.Abs(l.y-l.fromY) > 2 || l.fromX < at-8 {
		d.path(polyline([]float64{math.Min(l.fromX+6, at+1), l.fromY, at + 8, l.y}),
			`fill="none" class="frame" stroke="#8d959e" stroke-width=".8"`)
	}
	d.line(at+9, l.y, at+gap-5, l.y, style)
	if !l.reference && l.style == Joined {
		d.marker(l.i, at+(9+gap-5)/2, l.y, "")
	}
	name := shorten(oneLine(l.name), mostLabel)
	d.open("g", `font-size="%s"`, num(labelSize))
	if name != oneLine(l.name) {
		d.title(l.name)
	}
	d.text(at+gap, l.y+4, start, "ink", name, "")
	d.close()
}

// spread sets the heights y of labels: as near as possible to fromY, the height at which the label's line
// ends, at least labelHeight apart and between top and bottom. The list must be sorted by fromY. Labels
// that would overlap form a block, and the block is centred at the mean of its labels' fromY.
func spread(list []label, top, bottom float64) {
	type block struct {
		first, n int
		mean     float64 // height of the first label if the block is centred at its mean
	}
	var blocks []block
	position := func(b block) float64 {
		return math.Max(top, math.Min(b.mean, bottom-float64(b.n-1)*labelHeight))
	}
	for i, l := range list {
		b := block{i, 1, l.fromY}
		for len(blocks) > 0 {
			up := blocks[len(blocks)-1]
			if position(up)+float64(up.n)*labelHeight <= position(b) {
				break
			}
			b = block{up.first, up.n + b.n, (up.mean*float64(up.n) +
				(b.mean-float64(up.n)*labelHeight)*float64(b.n)) / float64(up.n+b.n)}
			blocks = blocks[:len(blocks)-1]
		}
		blocks = append(blocks, b)
	}
	for _, b := range blocks {
		for k := range b.n {
			list[b.first+k].y = position(b) + float64(k)*labelHeight
		}
	}
}
