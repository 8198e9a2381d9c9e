package report

import (
	"html/template"
	"math"
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
	left := 0.0
	yTicks := y.ticks(7)
	for _, t := range yTicks {
		left = max(left, wide(t.label)*labelSize)
	}
	left += 34
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
	w := 0.0
	for _, s := range p.Series {
		w = max(w, wide(s.Name))
	}
	for _, r := range p.References {
		w = max(w, wide(r.Name))
	}
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

// band draws the range of series i: the area between its Low and High. If the points are not joined, or if
// there is one point, it also draws an error bar at each point. It draws nothing if the series has no
// range.
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
	if len(keep) == 1 || s.Style == Points {
		for _, k := range keep {
			d.whisker(d.x.at(s.X[k]), d.y.at(s.Low[k]), d.y.at(s.High[k]), i)
		}
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
	if s.Style != Points && len(keep) > 1 {
		d.path(polyline(points),
			strokeStyle(i)+` class="stroke`+index(i)+`" stroke-width="2" stroke-linejoin="round"`+dashed(dashes[i]))
	}
	if s.Style == Joined || s.Style == Points || len(keep) == 1 {
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
		keep := make([]int, n)
		for i := range keep {
			keep[i] = i
		}
		return keep
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
