package dataset

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stillpoint-dp/stillpoint/internal/spline"
)

// curvy has curves and interactions of every kind.
const curvy = `
schema:
  columns:
    age: {number: [20, 60], curve: 5}
    gain: {number: [0, 3], transform: log1p, curve: 4}
    ward: {category: [heart, skin]}
    seen: {date: [2020-01-01, 2020-01-09], curve: 3}
    size: {number: [-1, 1]}
    rate: {number: [0, 15], transform: log1p, curve: [0, 1, 3, 15]}
    born: {date: [2020-01-01, 2020-01-11], curve: [2020-01-01, 2020-01-03, 2020-01-11]}
  interactions: [[size, age], [age, ward], [size, gain], [rate, ward]]
  target: {column: y, classes: [0, 1]}
`

var curvyHeader = []string{"age", "gain", "ward", "seen", "size", "rate", "born", "y"}

// TestCurveGolden tests hats computed by hand. S^2 is 30: 3 for each of 5 numbers with curves, 1
// each for ward and size, 4 for each of two interactions of two numbers, 2 for each of two
// interactions of a number and a category, and 1 for the intercept. log2(1+x) maps the knots of
// rate to 0, 1, 2 and 4.
func TestCurveGolden(t *testing.T) {
	s := mustLoad(t, curvy)
	if got := s.Scale() * s.Scale(); !(math.Abs(got-30) <= 1e-12) {
		t.Fatalf("S^2 = %v: want 30", got)
	}
	names := s.Features()
	want := "age age=missing age@20 age@30 age@40 age@50 age@60 gain gain=missing gain@0 "
	if got := strings.Join(names, " "); !strings.HasPrefix(got, want) ||
		!strings.Contains(got, "seen@2020-01-05 seen@2020-01-09 size size=missing rate") ||
		!strings.Contains(got, "ward=heart & age@20 ward=heart & age@30") {
		t.Fatalf("features %s", got)
	}
	m := mustBind(t, s, curvyHeader...)
	root := math.Sqrt2
	for _, test := range []struct {
		cells string
		want  map[string]float64 // values of hats; all others are zero
	}{
		{"30,0,skin,2020-01-09,0,3,2020-01-02,1", map[string]float64{
			"age@30": root, "gain@0": root, "seen@2020-01-09": root,
			"size@0 & age@30": 2, "ward=skin & age@30": root, "size@0 & gain@0": 2,
			"rate@3": root, "born@2020-01-01": root / 2, "born@2020-01-03": root / 2,
			"ward=skin & rate@1.828": root / 2, "ward=skin & rate@4.657": root / 2,
		}},
		{"35,9,other,1999-01-01,-.25,7,2030-01-01,1", map[string]float64{
			"age@30": root / 2, "age@40": root / 2, "gain@3": root, "seen@2020-01-01": root,
			"size@-0.5 & age@30": .5, "size@-0.5 & age@40": .5, "size@0 & age@30": .5, "size@0 & age@40": .5,
			"ward=other & age@30": root / 2, "ward=other & age@40": root / 2,
			"size@-0.5 & gain@3": 1, "size@0 & gain@3": 1,
			"rate@3": root / 2, "rate@15": root / 2, "born@2020-01-11": root,
			"ward=other & rate@4.657": 2 * root / 3, "ward=other & rate@15": root / 3,
		}},
		{",?,heart,,?,,,0", map[string]float64{}},
		{"20,,heart,,1,,,0", map[string]float64{"age@20": root, "size@1 & age@20": 2, "ward=heart & age@20": root}},
	} {
		row := make([]float32, s.Dim())
		if _, ok := m.Encode(row, strings.Split(test.cells, ",")); !ok {
			t.Fatal(test.cells)
		}
		for j, name := range names {
			if !strings.Contains(name, "@") {
				continue
			}
			if v := float64(row[j]) * s.Scale(); !(math.Abs(v-test.want[name]) <= 1e-5) {
				t.Errorf("%s: %s is %v: want %v", test.cells, name, v, test.want[name])
			}
			delete(test.want, name)
		}
		if len(test.want) > 0 {
			t.Errorf("%s: no feature has the names %v", test.cells, test.want)
		}
		for _, name := range []string{"age", "gain", "seen"} {
			missing := row[s.at(name)+1] != 0
			if cell := strings.Split(test.cells, ",")[map[string]int{"age": 0, "gain": 1,
				"seen": 3}[name]]; missing != (cell == "" || cell == "?") {
				t.Errorf("%s: the indicator of %s is %v", test.cells, name, missing)
			}
		}
	}
}

// TestCurvesHoldTheNorm tests that no encoded row is longer than NormBound, with and without a
// stated norm. The test fails if hats are left out of the row's norm.
func TestCurvesHoldTheNorm(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for _, norm := range []string{"", "  norm: 2\n", "  norm: 4.5\n"} {
		s := mustLoad(t, curvy+norm)
		m := mustBind(t, s, curvyHeader...)
		row := make([]float32, s.Dim())
		most := 0.
		for range 3000 {
			cell := func(values ...string) string { return values[r.IntN(len(values))] }
			m.Encode(row, []string{
				cell("20", "60", "30", "", fmt.Sprint(20+40*r.Float64())), cell("0", "3", "", fmt.Sprint(3*r.Float64())),
				cell("heart", "?"),
				cell("2020-01-01", "2020-01-05", "2020-01-09", "", "2020-01-03"), cell("-1", "1", "0", "", fmt.Sprint(r.Float64())),
				cell("0", "15", "3", "", fmt.Sprint(15*r.Float64())),
				cell("2020-01-01", "2020-01-03", "2020-01-11", "", "2020-01-07"), "1",
			})
			square, _ := squaredNorm(row).Float64()
			most = max(most, square)
		}
		if most > NormBound*NormBound || most < .9 {
			t.Errorf("norm %q: the longest squared norm is %v: must be near 1, and not above", norm, most)
		}
	}
}

// TestResolve tests the number of knots for given sizes N (records times mu), computed by hand: .42
// N^(1/3), twice as many from N = 20,000 on, from 3 to 64. With transform log1p and wide bounds it is twice that. If N is
// too small for 3 knots, a column has no curve. Interactions with numbers need a size of at least 1500.
func TestResolve(t *testing.T) {
	s := mustLoad(t, strings.Replace(strings.NewReplacer("curve: 5", "curve: auto", "curve: 4",
		"curve: auto", "[0, 3]", "[0, 99999]").Replace(curvy), "age, ward]", "ward, size]", 1))
	if !s.Unresolved() || !s.Adapts() {
		t.Error("a schema with curve: auto must be unresolved")
	}
	for _, test := range []struct {
		size        float64
		age, gain   int
		crossed     int
		linear, out int
	}{
		{1e7, 64, 128, 4, 0, 0}, {20_000, 23, 46, 4, 0, 0}, {19_999, 11, 22, 4, 0, 0},
		{8000, 8, 16, 4, 0, 0}, {1500, 5, 10, 4, 0, 0}, {1499, 5, 10, 0, 0, 4}, {1000, 4, 8, 0, 0, 4},
		{212, 3, 6, 0, 0, 4},
		{210, 0, 0, 0, 2, 4}, {0, 0, 0, 0, 2, 4}, {math.NaN(), 0, 0, 0, 2, 4},
	} {
		got, r, err := s.Resolve(test.size)
		if err != nil {
			t.Fatal(err)
		}
		age, _ := got.column("age")
		gain, _ := got.column("gain")
		if age.Curve != test.age || gain.Curve != test.gain || len(got.Interactions()) != test.crossed ||
			len(r.Linear) != test.linear || len(r.Without) != test.out {
			t.Errorf("size %v: %d and %d knots, %d interactions, %+v: want %+v", test.size, age.Curve, gain.Curve,
				len(got.Interactions()), r, test)
		}
		if seen, _ := got.column("seen"); seen.Curve != 3 || got.Unresolved() {
			t.Errorf("size %v: %+v", test.size, seen)
		}
	}
	linear := mustLoad(t, people)
	if got, r, err := linear.Resolve(5); got != linear || err != nil || len(r.Linear)+len(r.Without) > 0 ||
		linear.Adapts() {
		t.Errorf("a schema without choices must stay the same: %v, %v", r, err)
	}
}

// TestKnotsOfLogarithms tests the number of knots of a column with transform log1p against bounds whose ratio is computed
// by hand. Below a size of 20,000 a column has 8 knots (8,000), or 11 (19,999), times a 5.75th of the natural logarithm of
// the ratio, from 1 to 2. From 20,000 on it has twice 23 knots.
func TestKnotsOfLogarithms(t *testing.T) {
	for bounds, want := range map[string][3]int{
		"[0, 3]":         {8, 11, 46},  // ln 4 = 1.386
		"[0, 313]":       {8, 11, 46},  // ln 314 = 5.749
		"[0, 500]":       {9, 12, 46},  // ln 501 = 6.217, a factor of 1.081: 8.65 and 11.89
		"[1, 19999]":     {13, 18, 46}, // ln 10000 = 9.210, 1.602: 12.81 and 17.62
		"[0, 99999]":     {16, 22, 46}, // ln 100000 = 11.513, 2.002
		"[0, 1000000]":   {16, 22, 46},
		"[1000, 999999]": {10, 13, 46}, // ln (1000000/1001) = 6.907, 1.201: 9.61 and 13.21
	} {
		s := mustLoad(t, strings.NewReplacer("curve: 4", "curve: auto", "[0, 3]", bounds).Replace(curvy))
		for i, size := range []float64{8000, 19_999, 20_000} {
			got, _, err := s.Resolve(size)
			if err != nil {
				t.Fatal(err)
			}
			if gain, _ := got.column("gain"); gain.Curve != want[i] {
				t.Errorf("bounds %s, size %v: %d knots: want %d", bounds, size, gain.Curve, want[i])
			}
		}
	}
}

// TestCurvesOfASchema tests that curves: auto applies to every number and date without a curve: key
// of its own, and that a schema is equal after it was written and read.
func TestCurvesOfASchema(t *testing.T) {
	s := mustLoad(t, strings.Replace(strings.Replace(curvy, "size: {number: [-1, 1]}",
		"size: {number: [-1, 1], curve: none}\n    n: {number: [0, 1]}\n    d: {date: [2020-01-01, 2021-01-01], missing: indicator}", 1), "  columns:", "  curves: auto\n  columns:", 1))
	var got []string
	for _, c := range s.Columns() {
		got = append(got, fmt.Sprintf("%s %d", c.Name, c.Curve))
	}
	if diff := cmp.Diff([]string{"age 5", "gain 4", "ward 0", "seen 3", "size -2", "n -1", "d -1", "rate 4", "born 3"},
		got); diff != "" {
		t.Error(diff)
	}
	text, err := s.MarshalYAML()
	if err != nil {
		t.Fatal(err)
	}
	again := mustLoad(t, "\nschema:\n  "+strings.ReplaceAll(string(text), "\n", "\n  "))
	var third Schema
	js, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(js, &third); err != nil {
		t.Fatal(err)
	}
	for _, other := range []*Schema{again, &third} {
		if diff := cmp.Diff(s, other, cmp.AllowUnexported(Schema{}, Hats{})); diff != "" {
			t.Error(diff)
		}
	}
	for column, want := range map[string]string{
		"{number: [0, 1], curve: 2}":                                              `columns["x"].curve = 2: must be auto, none, knots or a number of knots from 3 to 256`,
		"{number: [0, 1], curve: 257}":                                            "from 3 to 256",
		"{number: [0, 1], curve: 0}":                                              "must be auto, none, a number of knots or the knots",
		"{number: [0, 1], curve: -1}":                                             "must be auto, none, a number of knots or the knots",
		"{number: [0, 1], curve: steep}":                                          "must be a finite number",
		"{number: [0, 1], curve: [0, 1]}":                                         "from 3 to 256",
		"{number: [0, 1], curve: [0, .5, .5, 1]}":                                 "knots must be finite and increase",
		"{number: [0, 1], curve: [0, .5, .9]}":                                    "the first and the last knot must be the column's bounds",
		"{number: [0, 1], curve: []}":                                             "must be auto, none, a number of knots or the knots",
		"{number: [0, 1], curve: [2020-01-01]}":                                   "the knots of a number must be numbers",
		"{number: [0, 1], curve: [0, a, 1]}":                                      "must be a finite number",
		"{date: [2020-01-01, 2021-01-01], curve: [1, 2, 3]}":                      "the knots of a date must be dates",
		"{date: [2020-01-01, 2021-01-01], curve: [2020-01-01, soon, 2021-01-01]}": "must be an ISO date",
		"{category: [a], curve: 3}":                                               "only a number or a date has a curve",
		"{category: [a], curve: auto}":                                            "only a number or a date has a curve",
		"{number: [0, 1]}\n  curves: 5\n  missing: ['']":                          "must be auto",
	} {
		_, err := load("\nschema:\n  columns:\n    x: " + strings.ReplaceAll(column, "\n  missing",
			"\n  missing") + "\n  target: {column: y, classes: [0, 1]}\n")
		if err == nil || !strings.Contains(err.Error(), strings.TrimPrefix(want, `columns["x"].`)) {
			t.Errorf("%s: %v: want %s", column, err, want)
		}
	}
	for _, bad := range []string{`"steep"`, `-3`, `0`, `1.5`, `[]`, `[20,60]`, `[20,"60"]`, `[20,10,60]`} {
		if err := json.Unmarshal([]byte(strings.Replace(string(js), `"curve":5`, `"curve":`+bad, 1)), &third); err == nil {
			t.Errorf("curve %s is read", bad)
		}
	}
}

// TestKnotNames tests that the names of knots differ, however close the knots are.
func TestKnotNames(t *testing.T) {
	for _, c := range []Column{
		{Name: "x", Kind: Number, Low: 1e6, High: 1e6 + 1, Curve: 9},
		{Name: "x", Kind: Number, Low: 1, High: math.Nextafter(1, 2), Curve: 5},
		{Name: "x", Kind: Date, Low: 18000, High: 18002, Curve: 12},
		{Name: "x", Kind: Number, Low: -1e300, High: 1e300, Curve: 256},
	} {
		s, err := New(Definition{Columns: []Column{c}, Target: Target{Column: "y", Kind: Number, High: 1}})
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, f := range s.Features() {
			seen[f] = true
		}
		if len(seen) != s.Dim() || s.Dim() != c.Curve+3 {
			t.Errorf("%+v: %d features, of %d names", c, s.Dim(), len(seen))
		}
	}
}

// unitOf returns the value of a cell in [-1, 1]. For a missing cell and for a cell that is not a number
// or date it returns 0 and false.
func (n *interval) unitOf(cell string, missing []string) (u float64, known bool) {
	x, known := n.read(cell, missing)
	if !known {
		return 0, false
	}
	return n.unit(x), true
}

// shares returns the values of a column's hats (basis functions of its curve) at a cell, by the names
// of their knots. It returns none for a missing cell.
func (c Column) shares(k spline.Knots, cell string) map[string]float64 {
	in := newInterval(c)
	u, known := in.unitOf(cell, []string{""})
	list := map[string]float64{}
	for i, v := range slowHatsAt(u, k) {
		if known {
			list[c.knotNames(k)[i]] = v / math.Sqrt2
		}
	}
	return list
}

// TestCurvesAddUp tests that the coefficients of Explain and the terms of Terms add up to the score
// of the encoded row, as their comments say. The test fails if a knot is left out or counted twice.
func TestCurvesAddUp(t *testing.T) {
	s := mustLoad(t, curvy)
	m := mustBind(t, s, curvyHeader...)
	w := make([]float64, s.Dim())
	for j := range w {
		w[j] = math.Sin(float64(3*j) + .5)
	}
	for _, cells := range [][]string{
		{"33", "2", "skin", "2020-01-04", ".3", "2", "2020-01-04", "0"}, {"20", "0", "heart", "2020-01-01", "-1", "0",
			"2020-01-01", "0"}, {"60", "3", "", "2020-01-09", "1", "15", "2020-01-11", "0"},
		{"", "1", "heart", "", ".2", "", "", "0"}, {"41", "", "skin", "2020-01-05", "", "7", "2020-01-02", "0"},
	} {
		row := make([]float32, s.Dim())
		m.Encode(row, cells)
		score := 0.
		for i, v := range row {
			score += w[i] * float64(v)
		}
		// The factor of each feature in the sum; 1 for levels.
		share := map[string]float64{"(intercept)": 1}
		inPairs := map[string]map[string]float64{}
		mid := map[string]string{"age": "40", "gain": "1", "seen": "2020-01-05", "size": "0", "rate": "3",
			"born": "2020-01-06"}
		at := map[string]float64{"age": 40, "gain": math.Log1p(1), "size": 0, "seen": 4, "rate": math.Log1p(3), "born": 5}
		for i, name := range curvyHeader[:7] {
			c, _ := s.column(name)
			cell := cells[i]
			if c.Kind == Category {
				level := name + "=" + cell
				if cell == "" {
					level = name + "=other"
				}
				share[level], inPairs[name] = 1, map[string]float64{level: 1}
				continue
			}
			inPairs[name] = c.shares(c.pairKnots(), cell)
			if cell == "" {
				share[name+"=missing"] = 1
			} else {
				in := newInterval(spanned(c))
				full := newInterval(c)
				u, _ := full.unitOf(cell, nil)
				at[name] = in.from + (u+1)/2*in.width
				mid[name] = cell
			}
			for knot, v := range c.shares(c.knots(), mid[name]) {
				share[knot] = v
			}
		}
		for _, pair := range s.Interactions() {
			for a, v := range inPairs[pair[0]] {
				for b, u := range inPairs[pair[1]] {
					share[a+" & "+b], share[b+" & "+a] = v*u, v*u
				}
			}
		}
		terms, raw := 0., 0.
		for _, x := range s.Terms(false) {
			switch {
			case x.Column == "size" && x.Per != "":
				terms += x.Of(w) * at["size"]
			case x.Column == "":
				terms += x.Of(w)
			default:
				terms += x.Of(w) * share[x.Name]
			}
		}
		for _, c := range s.Explain(w, false) {
			missing := share[c.Column+"=missing"] == 1
			switch {
			case c.Per != "":
				raw += c.Value * at[c.Column]
			case c.Column == "":
				raw += c.Value
			case missing && strings.Contains(c.Feature, "@") && c.Column != interacting:
			default:
				raw += c.Value * share[c.Feature]
			}
		}
		if !(math.Abs(terms-score) <= 1e-5) || !(math.Abs(raw-score) <= 1e-5) {
			t.Errorf("%q: the row gives %v, terms %v, coefficients %v", cells, score, terms, raw)
		}
	}
}

// TestSchemasKeepTheirKnots tests that a schema built by New encodes rows to the same bits after it
// was written and read: models and the workers of a fit use the written form. New must refuse a
// knot that the written form cannot represent.
func TestSchemasKeepTheirKnots(t *testing.T) {
	made := func(middle float64) (*Schema, error) {
		return New(Definition{
			Columns: []Column{
				{Name: "seen", Kind: Date, High: 200, Curve: 3, Knots: []float64{0, middle, 200}},
				{Name: "dose", Kind: Number, Low: -.1, High: .1 + .2, Curve: 4, Knots: []float64{-.1, 1e-300, 1. / 3 / 2, .1 + .2}},
			},
			Target: Target{Column: "ill", Kind: Category, Classes: []string{"no", "yes"}},
		})
	}
	if _, err := made(100.5); err == nil || !strings.Contains(err.Error(), "whole days") {
		t.Errorf("half a day is a knot of a date: %v", err)
	}
	s, err := made(100)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	read := new(Schema)
	if err := json.Unmarshal(text, read); err != nil {
		t.Fatal(err)
	}
	for i, h := range s.Hats() {
		for k, a := range h.Axes {
			if again := read.Hats()[i].Axes[k]; !again.knots().Equal(a.knots()) {
				t.Errorf("%s: knots %v, written and read %v", a.Column, a.knots(), again.knots())
			}
		}
	}
}

// TestPairsKeepOwnKnots tests the knots that a number with listed knots has in interactions. They
// must be equally spaced along the index of the listed knots, despite rounding.
func TestPairsKeepOwnKnots(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		at := make([]float64, 3+r.IntN(6))
		for i := range at {
			at[i] = r.ExpFloat64()
			if i > 0 {
				at[i] += at[i-1]
			}
		}
		c := Column{Name: "x", Kind: Number, Low: at[0], High: at[len(at)-1], Curve: len(at), Knots: at}
		k := c.pairKnots()
		for i := range pairKnots {
			whole, part := i*(len(at)-1)/4, float64(i*(len(at)-1)%4)/4
			want := at[whole]
			if part > 0 {
				want += part * (at[whole+1] - at[whole])
			}
			want = 2*(want-c.Low)/(c.High-c.Low) - 1
			if got := k.Position(i); !(math.Abs(got-want) <= 1e-12) {
				t.Fatalf("knots %v: knot %d in interactions is %v: must be %v", at, i, got, want)
			}
		}
	}
}
