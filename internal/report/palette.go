package report

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

// marker draws a point at (x, y) with the shape and the colour of series i. There are seven shapes.
// Browsers show title when the pointer is on the point.
func (b *svg) marker(i int, x, y float64, title string) {
	const r = 4.0
	style := fillStyle(i) + ` stroke="#ffffff" stroke-width="1" class="halo fill` + index(i) + `"`
	path := func(points ...float64) {
		b.open("path", `d="%s" %s`, polygon(points), style)
	}
	switch i % 7 {
	case 0:
		b.open("circle", `cx="%s" cy="%s" r="%s" %s`, num(x), num(y), num(r), style)
	case 1:
		b.open("rect", `x="%s" y="%s" width="%s" height="%s" %s`, num(x-3.6), num(y-3.6), num(7.2), num(7.2), style)
	case 2:
		path(x, y-5.2, x+4.8, y+3.6, x-4.8, y+3.6)
	case 3:
		path(x, y-5.4, x+5.4, y, x, y+5.4, x-5.4, y)
	case 4:
		path(x, y+5.2, x+4.8, y-3.6, x-4.8, y-3.6)
	case 5:
		path(x-1.6, y-5, x+1.6, y-5, x+1.6, y-1.6, x+5, y-1.6, x+5, y+1.6, x+1.6, y+1.6, x+1.6, y+5, x-1.6, y+5, x-1.6, y+1.6,
			x-5, y+1.6, x-5, y-1.6, x-1.6, y-1.6)
	default:
		path(x-5, y-2, x, y-5.4, x+5, y-2, x+3.2, y+4.4, x-3.2, y+4.4)
	}
	b.title(title)
	b.close()
}
