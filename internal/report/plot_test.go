package report

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func onePlot(p Plot) Page { return Page{Title: "p", Sections: []Section{{"s", []Part{p}}}} }

func simple() Plot {
	return Plot{
		Title: "t", Caption: "c", X: Axis{Label: "x"}, Y: Axis{Label: "y"},
		Series: []Series{{Name: "a", X: []float64{1, 2, 3}, Y: []float64{1, 4, 9}}},
	}
}

// TestPlotRefuses tests that each invalid plot gives an error that names the invalid field.
func TestPlotRefuses(t *testing.T) {
	for want, change := range map[string]func(p *Plot){
		"title must be given":  func(p *Plot) { p.Title = "" },
		"both axes must have":  func(p *Plot) { p.Y.Label = "" },
		"must have a series":   func(p *Plot) { p.Series = nil },
		"8 series: must be at": func(p *Plot) { p.Series = slices.Repeat(p.Series, 8) },
		"must have a name":     func(p *Plot) { p.Series[0].Name = "" },
		"3 x, 2 y":             func(p *Plot) { p.Series[0].Y = []float64{1, 2} },
		"1 low, 0 high":        func(p *Plot) { p.Series[0].Low = []float64{1} },
		"y[1] = NaN":           func(p *Plot) { p.Series[0].Y[1] = math.NaN() },
		"y[2] = +Inf":          func(p *Plot) { p.Series[0].Y[2] = math.Inf(1) },
		"x[0] = -Inf":          func(p *Plot) { p.Series[0].X[0] = math.Inf(-1) },
		"y[0] = 0":             func(p *Plot) { p.Y.Log, p.Series[0].Y[0] = true, 0 },
		"x[1] = -1":            func(p *Plot) { p.X.Log, p.Series[0].X[1] = true, -1 },
		"low[1] = 5: must be": func(p *Plot) {
			p.Series[0].Low, p.Series[0].High = []float64{0, 5, 0}, []float64{9, 4, 9}
		},
		"style = \"dotted\"":       func(p *Plot) { p.Series[0].Style = "dotted" },
		"must have one y":          func(p *Plot) { p.References = []Reference{{Name: "r"}} },
		"reference \"r\"":          func(p *Plot) { p.References = []Reference{Level("r", math.NaN())} },
		"4 references":             func(p *Plot) { p.References = slices.Repeat([]Reference{Level("r", 1)}, 4) },
		"ends 0, 5: must be":       func(p *Plot) { p.X = Axis{Label: "x", Log: true, Max: 5} },
		"axis \"x\": ends 0, +Inf": func(p *Plot) { p.X.Max = math.Inf(1) },
	} {
		p := simple()
		change(&p)
		if err := onePlot(p).Render(new(bytes.Buffer)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: want %q", err, want)
		}
	}
	for want, b := range map[string]Bars{
		"title must be given":   {},
		"must have a label":     {Title: "b"},
		"0 items":               {Title: "b", X: Axis{Label: "x"}},
		"no zero for bars":      {Title: "b", X: Axis{Label: "x", Log: true}, Items: []Bar{{Value: 1}}},
		"NaN":                   {Title: "b", X: Axis{Label: "x"}, Items: []Bar{{Value: math.NaN()}}},
		"low must be at most":   {Title: "b", X: Axis{Label: "x"}, Items: []Bar{{Interval: Interval{2, 1}}}},
		"4 marks":               {Title: "b", X: Axis{Label: "x"}, Items: []Bar{{}}, Marks: make([]Mark, 4)},
		"201 items: must be be": {Title: "b", X: Axis{Label: "x"}, Items: make([]Bar, 201)},
	} {
		if err := b.check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: want %q", err, want)
		}
	}
}

// TestAnyPlotIsDrawn tests plots of few or many values of any size, equal or different, on linear
// and logarithmic axes. All coordinates must be finite and all text must be inside the picture.
func TestAnyPlotIsDrawn(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	plots := 400
	if testing.Short() {
		plots = 80
	}
	for range plots {
		size, spread := math.Pow(10, 340*r.Float64()-170), math.Pow(10, 20*r.Float64()-14)
		log := r.IntN(2) == 0
		draw := func() float64 {
			switch r.IntN(20) {
			case 0, 1, 2, 3:
				return size
			case 4:
				return 1e-199
			case 5:
				return 1e199
			}
			x := size * math.Exp(min(spread, 15)*r.NormFloat64())
			if !log && r.IntN(2) == 0 {
				x = -x
			}
			return x
		}
		p := Plot{Title: "t", X: Axis{Label: "x", Log: log}, Y: Axis{Label: "y", Log: log}}
		for k := range 1 + r.IntN(mostSeries) {
			s := Series{Name: strings.Repeat("n", 1+r.IntN(40)), Style: []Style{Joined, Line, Steps}[k%3]}
			for range 1 + r.IntN(5) {
				y := draw()
				s.X, s.Y = append(s.X, draw()), append(s.Y, y)
				s.Low, s.High = append(s.Low, min(y, y*2)), append(s.High, max(y, y*2))
			}
			p.Series = append(p.Series, s)
		}
		p.References = []Reference{Level("r", draw())}
		nodes := inert(t, render(t, onePlot(p)))
		named := 0
		for _, n := range nodes {
			if n.name != "text" {
				continue
			}
			x, _ := strconv.ParseFloat(n.attributes["x"], 64)
			y, _ := strconv.ParseFloat(n.attributes["y"], 64)
			if x < 0 || x > plotWidth || y < 0 || y > plotHeight {
				t.Fatalf("%q at %v, %v: outside of the picture", n.text, x, y)
			}
			if n.attributes["class"] == "soft" {
				named++
			}
		}
		if named < 4 {
			t.Errorf("%d ticks are named on both axes together: %v", named, p)
		}
	}
}

// TestTicks tests that the ticks of an axis are within the axis and in order. Each label, read as a
// number, must be the tick's value to within a hundredth of the distance to the next labelled tick.
func TestTicks(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 5000 {
		log := r.IntN(2) == 0
		lo := math.Pow(10, 24*r.Float64()-12)
		hi := lo * (1 + math.Pow(10, 10*r.Float64()-3))
		if !log && r.IntN(2) == 0 {
			lo = -lo
		}
		s := newScale(Axis{Log: log}, lo, hi, 0, 100)
		var named []tick
		last := math.Inf(-1)
		for _, k := range s.ticks(7) {
			if at := s.at(k.at); !(k.at > last) || at < -1e-6 || at > 100+1e-6 {
				t.Fatalf("%v to %v: tick at %v (%v) after %v", s.lo, s.hi, k.at, at, last)
			}
			last = k.at
			if k.label != "" {
				named = append(named, k)
			}
		}
		if len(named) < 2 || len(named) > 19 {
			t.Fatalf("log %v, %v to %v: %d named ticks", log, s.lo, s.hi, len(named))
		}
		for i, k := range named {
			label := k.label
			if strings.HasPrefix(label, "10⁻") || strings.HasPrefix(label, "10⁰") ||
				len(label) > 2 && label[:2] == "10" && label[2] > 127 {
				label = "1×" + label
			}
			near := math.Abs(named[max(i, 1)].at - named[max(i, 1)-1].at)
			if got := value(t, label); !(math.Abs(got-k.at) <= near/100) {
				t.Fatalf("%v to %v: tick at %v is named %q", s.lo, s.hi, k.at, k.label)
			}
		}
	}
}

// TestDecades tests that a logarithmic axis has labels at powers of ten, and ticks without labels
// at 2 to 9 times a power of ten.
func TestDecades(t *testing.T) {
	for _, decades := range []float64{8, 20, 100, 420} {
		named := 0
		for _, k := range (scale{log: true, lo: math.Pow(10, -decades/2), hi: math.Pow(10, decades/2), to: 100}).ticks(7) {
			if k.label != "" {
				named++
			}
		}
		if named < 3 || named > 9 {
			t.Errorf("%v decades: %d are named", decades, named)
		}
	}
	s := scale{log: true, lo: .001, hi: 1000, to: 100}
	var named []string
	minor := 0
	for _, k := range s.ticks(7) {
		if k.label == "" {
			minor++
			continue
		}
		named = append(named, k.label)
	}
	if want := []string{"0.001", "0.01", "0.1", "1", "10", "100", "1000"}; !slices.Equal(named, want) || minor != 48 {
		t.Errorf("%q and %d minor ticks", named, minor)
	}
	if at := s.at(1); !(math.Abs(at-50) <= 1e-9) {
		t.Errorf("1 is at %v", at)
	}
}

// TestPointsAreWhereTheirValuesAre tests plots whose axes state their ends: the position of a
// marker must be a linear function of its value or, on a logarithmic axis, of the value's
// logarithm.
func TestPointsAreWhereTheirValuesAre(t *testing.T) {
	p := simple()
	p.X, p.Y = Axis{Label: "x", Min: 0, Max: 4}, Axis{Label: "y", Log: true, Min: 1, Max: 100}
	p.Series[0].Y = []float64{1, 10, 100}
	var x, y []float64
	for _, n := range inert(t, render(t, onePlot(p))) {
		if n.name == "circle" {
			cx, _ := strconv.ParseFloat(n.attributes["cx"], 64)
			cy, _ := strconv.ParseFloat(n.attributes["cy"], 64)
			x, y = append(x, cx), append(y, cy)
		}
	}
	// The last circle is the sample in the label.
	top, bottom := topRoom, plotHeight-bottomRoom
	if len(x) != 4 || !(math.Abs(x[1]-x[0]-(x[2]-x[1])) <= .02) || !(math.Abs(y[0]-bottom) <= .01) ||
		!(math.Abs(y[1]-(top+bottom)/2) <= .01) || !(math.Abs(y[2]-top) <= .01) {
		t.Errorf("marks at %v, %v", x, y)
	}
}

// TestThinKeepsExtremes tests that a long series, of which thin chooses the points to draw, keeps
// its first, last, largest and smallest point, in order.
func TestThinKeepsExtremes(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 100 {
		n := 1 + r.IntN(20000)
		y := make([]float64, n)
		for i := range y {
			y[i] = r.NormFloat64()
		}
		least, greatest := r.IntN(n), r.IntN(n)
		y[least], y[greatest] = -100, 100
		keep := thin(Series{Y: y})
		if len(keep) > mostPoints || !slices.IsSorted(keep) || len(slices.Compact(slices.Clone(keep))) != len(keep) {
			t.Fatalf("%d of %d points, %v", len(keep), n, keep)
		}
		for _, k := range []int{0, least, greatest, n - 1} {
			if y[k] != -100 && y[k] != 100 && k != 0 && k != n-1 {
				continue // y[k] is neither an extreme nor an end of the series
			}
			if !slices.Contains(keep, k) {
				t.Fatalf("point %d of %d, %v, is not drawn", k, n, y[k])
			}
		}
	}
}

// TestLabelsKeepApart tests that spread, wherever the lines of a plot end, moves their labels so
// that they do not overlap and stay between top and bottom. A single label that is already inside
// must not move.
func TestLabelsKeepApart(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for range 2000 {
		list := make([]label, 1+r.IntN(mostSeries+len(referenceDashes)))
		for i := range list {
			list[i].fromY = 14 + 336*math.Pow(r.Float64(), float64(1+r.IntN(9)))
		}
		slices.SortFunc(list, func(a, b label) int { return int(math.Copysign(1, a.fromY-b.fromY)) })
		spread(list, 18, 348)
		for i, l := range list {
			if l.y < 18-1e-9 || l.y > 348+1e-9 || i > 0 && l.y-list[i-1].y < labelHeight-1e-9 {
				t.Fatalf("labels %v", list)
			}
		}
		if len(list) == 1 && list[0].fromY >= 18 && list[0].fromY <= 348 && list[0].y != list[0].fromY {
			t.Fatalf("a lone label was moved: %v", list)
		}
	}
}

// TestMovedLabelsHaveALeader tests the lines from the ends of series to labels that were moved, up or down, or that are
// away from the end: each begins beside the last point of its series.
func TestMovedLabelsHaveALeader(t *testing.T) {
	p := simple()
	p.X, p.Y = Axis{Label: "x", Min: 0, Max: 10}, Axis{Label: "y", Min: 0, Max: 10}
	ends := func(x float64, y ...float64) (list []Series) {
		for i, v := range y {
			list = append(list, Series{Name: fmt.Sprint("series ", i), X: []float64{0, x}, Y: []float64{1, v}})
		}
		return list
	}
	number := func(s string) float64 {
		v, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, c := range []struct {
		series  []Series
		leaders int
	}{{ends(10, 5), 0}, {ends(10, 5, 5, 5), 2}, {ends(6, 3), 1}, {ends(6, 8, 2), 2}, {ends(10, 8, 2), 0}} {
		p.Series = c.series
		var leaders []string
		marks := map[string]bool{} // where the points of the series are
		for _, n := range inert(t, render(t, onePlot(p))) {
			switch {
			case n.name == "path" && n.attributes["stroke"] == "#8d959e":
				leaders = append(leaders, n.attributes["d"])
			case n.name == "circle":
				marks[fmt.Sprintf("%.0f %.0f", number(n.attributes["cx"]), number(n.attributes["cy"]))] = true
			}
		}
		if len(leaders) != c.leaders {
			t.Errorf("%d series that end at %v: %d leaders: must be %d", len(c.series), c.series[0].X[1], len(leaders), c.leaders)
		}
		for _, d := range leaders {
			f := strings.FieldsFunc(d, func(r rune) bool { return strings.ContainsRune("ML, ", r) })
			if x := number(f[0]); len(c.series) == 1 && !marks[fmt.Sprintf("%.0f %.0f", x-6, number(f[1]))] {
				t.Errorf("a leader %q begins beside no end of a series: %v", d, marks)
			}
		}
	}
}

// TestBarsStandOnZero tests that each bar of a chart is drawn from zero to its value. With Dots
// there must be no bars.
func TestBarsStandOnZero(t *testing.T) {
	b := Bars{Title: "b", X: Axis{Label: "x", Min: -10, Max: 10},
		Items: []Bar{{Name: "up", Value: 5}, {Name: "down", Value: -5, Interval: Interval{-6, -4}}, {Name: "none"}}}
	rects := func(b Bars) (list [][2]float64) {
		for _, n := range inert(t, render(t, Page{Title: "p", Sections: []Section{{"s", []Part{b}}}})) {
			if n.name == "rect" {
				x, _ := strconv.ParseFloat(n.attributes["x"], 64)
				w, _ := strconv.ParseFloat(n.attributes["width"], 64)
				list = append(list, [2]float64{x, x + w})
			}
		}
		return list
	}
	got := rects(b)
	if len(got) != 3 || !(math.Abs(got[0][0]-got[1][1]) <= .02) ||
		!(math.Abs((got[0][1]-got[0][0])-(got[1][1]-got[1][0])) <= .02) || got[2][0] != got[2][1] {
		t.Errorf("bars from and to %v", got)
	}
	b.Dots = true
	if got := rects(b); len(got) != 0 {
		t.Errorf("dots have bars %v", got)
	}
}

// TestPlotIsAPictureOfItsOwn tests that the method SVG writes a plot as a file that is valid
// without the page.
func TestPlotIsAPictureOfItsOwn(t *testing.T) {
	var file bytes.Buffer
	if err := simple().SVG(&file); err != nil {
		t.Fatal(err)
	}
	var root struct {
		XMLName xml.Name `xml:"http://www.w3.org/2000/svg svg"`
		Title   string   `xml:"title"`
		Desc    string   `xml:"desc"`
	}
	if err := xml.Unmarshal(file.Bytes(), &root); err != nil {
		t.Fatal(err)
	}
	if root.Title != "t" || !strings.Contains(root.Desc, "y over x: a, from 1 at 1 to 9 at 3") {
		t.Errorf("%+v", root)
	}
	if err := (Plot{Title: "t"}).SVG(&file); err == nil {
		t.Error("a plot without axes is drawn")
	}
}
