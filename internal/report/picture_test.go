package report

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
)

// numbersOf returns the numbers in a text, in their order.
func numbersOf(t *testing.T, text string) (list []float64) {
	t.Helper()
	for _, m := range regexp.MustCompile(`-?[0-9.]+(?:e-?[0-9]+)?`).FindAllString(text, -1) {
		v, err := strconv.ParseFloat(m, 64)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, v)
	}
	return list
}

// TestMarkersSurroundTheirPoint tests the shapes of all markers: each is as far to the left of its point as to the right,
// contains it, has its halves as mirror images, and has the area of a circle of radius 3.4 to 4.8. No two are alike.
func TestMarkersSurroundTheirPoint(t *testing.T) {
	const x, y = 131., 47.
	seen := map[string]bool{}
	for i := range 7 {
		b := new(svg)
		b.marker(i, x, y, "")
		text := b.b.String()
		if seen[text] {
			t.Errorf("marker %d is that of another series", i)
		}
		seen[text] = true
		attribute := func(name string) []float64 {
			m := regexp.MustCompile(` ` + name + `="([^"]*)"`).FindStringSubmatch(text)
			if m == nil {
				t.Fatalf("marker %d has no %s: %s", i, name, text)
			}
			return numbersOf(t, m[1])
		}
		var points []float64
		switch {
		case strings.Contains(text, "<circle"):
			cx, cy, r := attribute("cx")[0], attribute("cy")[0], attribute("r")[0]
			if cx != x || cy != y || r != 4 {
				t.Errorf("marker %d: %s", i, text)
			}
			continue
		case strings.Contains(text, "<rect"):
			left, top, w, h := attribute("x")[0], attribute("y")[0], attribute("width")[0], attribute("height")[0]
			points = []float64{left, top, left + w, top, left + w, top + h, left, top + h}
		default:
			points = attribute("d")
		}
		low, high, area, inside := math.Inf(1), math.Inf(-1), 0., false
		corners := map[[2]float64]bool{}
		for k := 0; k < len(points); k += 2 {
			px, py := points[k], points[k+1]
			qx, qy := points[(k+2)%len(points)], points[(k+3)%len(points)]
			area += (px*qy - qx*py) / 2
			low, high = min(low, py), max(high, py)
			if (py > y) != (qy > y) && x < px+(y-py)/(qy-py)*(qx-px) {
				inside = !inside
			}
			corners[[2]float64{math.Round(100 * (px - x)), math.Round(100 * (py - y))}] = true
		}
		for c := range corners {
			if !corners[[2]float64{-c[0], c[1]}] {
				t.Errorf("marker %d: the corner %v has no mirror image among %v", i, c, corners)
			}
		}
		if a := math.Abs(area); a < 36 || a > 72 || !inside || low < y-6 || high > y+6 {
			t.Errorf("marker %d: area %v, from %v to %v, around its point %v", i, a, low-y, high-y, inside)
		}
	}
}

// TestLabelsPointAtTheirLines tests the labels of lines that end together, of one that ends before the plot does, and of
// one that has room: labels are 16 apart at least and in the order of their lines, a label that is not beside the end of
// its line has a leader that begins there, above and below alike, and a label that is beside it has none.
func TestLabelsPointAtTheirLines(t *testing.T) {
	p := Plot{Title: "t", X: Axis{Label: "x", Min: 0, Max: 10}, Y: Axis{Label: "y", Min: 0, Max: 100}, Series: []Series{
		{Name: "middle", Style: Line, X: []float64{0, 10}, Y: []float64{5, 50}},
		{Name: "above", Style: Line, X: []float64{0, 10}, Y: []float64{80, 51}},
		{Name: "below", Style: Line, X: []float64{0, 10}, Y: []float64{20, 49}},
		{Name: "early", Style: Line, X: []float64{0, 4}, Y: []float64{10, 5}},
		{Name: "free", Style: Line, X: []float64{0, 10}, Y: []float64{95, 95}}}}
	var b strings.Builder
	if err := p.SVG(&b); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	left, right, top, bottom := 0., 0., 0., 0. // of the frame
	if m := regexp.MustCompile(`<path d="M(\S+) (\S+)L\S+ (\S+)L(\S+) [^"]*" [^>]*class="frame"`).FindStringSubmatch(text); m != nil {
		v := numbersOf(t, strings.Join(m[1:], " "))
		left, top, bottom, right = v[0], v[1], v[2], v[3]
	}
	leaders := map[float64][]float64{} // by the height of their label
	for _, m := range regexp.MustCompile(`<path d="([^"]*)" fill="none" class="frame" stroke="#8d959e" stroke-width=".8"`).FindAllStringSubmatch(text, -1) {
		if v := numbersOf(t, m[1]); len(v) == 4 && v[2] > right {
			leaders[v[3]] = v
		}
	}
	last := math.Inf(-1)
	for _, w := range []struct {
		name   string
		x, y   float64
		leader bool
	}{{"free", 10, 95, false}, {"above", 10, 51, true}, {"middle", 10, 50, false}, {"below", 10, 49, true}, {"early", 4, 5, true}} {
		m := regexp.MustCompile(`<text x="\S+" y="(\S+)"[^>]*>` + w.name + `<`).FindStringSubmatch(text)
		if m == nil {
			t.Fatalf("no label %q in\n%s", w.name, text)
		}
		at := numbersOf(t, m[1])[0] - 4
		if at < last+15.99 {
			t.Errorf("%s at %v: must be 16 below %v", w.name, at, last)
		}
		last = at
		endY := bottom - (bottom-top)*w.y/100
		v, has := leaders[math.Round(100*at)/100]
		if has != w.leader {
			t.Errorf("%s: a leader %v among %v: must be %v", w.name, has, leaders, w.leader)
		}
		if endX := min(left+(right-left)*w.x/10+6, right+1); has && (!(math.Abs(v[0]-endX) <= .02) || !(math.Abs(v[1]-endY) <= .02)) {
			t.Errorf("%s: its leader begins at %v: must begin at %v, %v", w.name, v[:2], endX, endY)
		}
	}
}

// numbersHaveTheirColumns tests that a column of a table that is set as numbers has numbers, beside words for those that
// are not there, and that another column has not only numbers.
func numbersHaveTheirColumns(t *testing.T, table Table) {
	t.Helper()
	for j, c := range table.Columns {
		some, only := false, len(table.Rows) > 0
		for _, r := range table.Rows {
			some = some || regexp.MustCompile(`^[−≤<>≥ -]*[0-9]|^-$|^not `).MatchString(r.Cells[j])
			only = only && regexp.MustCompile(`^[−≤<>≥ 0-9.,×⁻⁰¹²³⁴⁵⁶⁷⁸⁹%-]*$`).MatchString(r.Cells[j])
		}
		if len(table.Rows) > 0 && (c.Number && !some || !c.Number && only) {
			t.Errorf("%s: column %q is set as numbers %v: it has %q", table.Title, c.Name, c.Number, table.Rows[0].Cells[j])
		}
	}
}

// TestNumbersHaveTheirColumns tests how the columns of all tables are set on the pages of a fit with a ledger, of one with
// intervals, of one with curves and of one on Poisson samples, and of the hazard ratios.
func TestNumbersHaveTheirColumns(t *testing.T) {
	kept := people(t, "p", 4)
	kept.ledger = entries(kept.budget, "/d/people.csv", "/d/other.csv", "/d/people.csv")
	seen := map[string]bool{}
	for _, f := range []*Fit{read(t, kept), read(t, withIntervals(t, .0004, .0001, 4)), read(t, knots(t, 2)),
		read(t, scheduled(t, account.SampledSteps{NoiseMultiplier: 3.25, Sampling: .125, Count: 2}))} {
		page, err := f.Page(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range page.Sections {
			for _, p := range s.Parts {
				if table, is := p.(Table); is {
					numbersHaveTheirColumns(t, table)
					seen[table.Title] = true
				}
			}
		}
	}
	numbersHaveTheirColumns(t, hazardTable([]HazardRatio{{Term: "sex=m", Reference: "sex=f", To: 2.5, Ratio: 1.25}}, Number))
	for _, want := range []string{"Coefficients", "The schedule", "Budgets reserved on this table", "The same in numbers",
		"Public facts about each column"} {
		if !seen[want] {
			t.Errorf("tables %v: %q must be among them", seen, want)
		}
	}
}
