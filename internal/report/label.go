package report

import (
	"cmp"
	"math"
	"slices"
)

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
	inside := func(y float64) float64 { return math.Min(math.Max(y, d.y.to), d.y.from) }
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
	style := strokeStyle(l.i) + ` class="stroke` + index(l.i) + `" stroke-width="2"`
	if l.style != Points {
		style += dashed(dashes[l.i])
	}
	if l.reference {
		style = referenceStyle(l.i)
	}
	if math.Abs(l.y-l.fromY) > 2 || l.fromX < at-8 {
		d.path(polyline([]float64{math.Min(l.fromX+6, at+1), l.fromY, at + 8, l.y}),
			`fill="none" class="frame" stroke="#8d959e" stroke-width=".8"`)
	}
	if l.style != Points || l.reference {
		d.line(at+9, l.y, at+gap-5, l.y, style)
	}
	if !l.reference && (l.style == Joined || l.style == Points) {
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
