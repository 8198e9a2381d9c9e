package dataset

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"testing"
)

const rankedText = `
schema:
  columns:
    age: {number: [0, 100], curve: 5}
    gain: {number: [0, 63], transform: log1p, curve: 7}
    ward: {category: [a, b]}
    seen: {date: [2020-01-01, 2020-04-10], curve: 6}
    size: {number: [-1, 1], curve: 9}
  interactions: [[age, ward]]
  target: {column: y, classes: [0, 1]}
`

// meanRow returns the mean row of cells under a schema.
func meanRow(t *testing.T, s *Schema, rows [][]string) []float64 {
	t.Helper()
	m := mustBind(t, s, "age", "gain", "ward", "seen", "size", "y")
	x, mean := make([]float32, m.Dim()), make([]float64, m.Dim())
	for _, r := range rows {
		if _, ok := m.Encode(x, r); !ok {
			t.Fatalf("%q is malformed", r)
		}
		for j, v := range x {
			mean[j] += float64(v) / float64(len(rows))
		}
	}
	return mean
}

// TestRankedGolden: ages are uniform in [0, 50], so that F(u) = min(2u, 1) and the knots of 5 are at
// (u + F(u))/2 = k/4: u = 1/6, 1/3 and 1/2. Three quarters of the gains are zero, and
// the others uniform on the scale of log2(1 + gain), from 0 to 6; half of them are missing and count in no bin. The
// dates are all the same day, so that F is about a step, and knots by ranks of whole days remain apart.
func TestRankedGolden(t *testing.T) {
	s := mustLoad(t, rankedText)
	var rows [][]string
	const n = 6400
	for i := range n {
		u := (float64(i) + .5) / n
		gain := "0"
		switch {
		case i%8 == 0:
			gain = strconv.FormatFloat(math.Exp2(6*u)-1, 'g', -1, 64)
		case i%8 == 1:
			gain = ""
		}
		rows = append(rows, []string{fmt.Sprint(50 * u), gain, "a", "2020-01-21", "0", "0"})
	}
	columns := []string{"age", "gain", "seen"}
	fine, err := s.Fine(columns)
	if err != nil {
		t.Fatal(err)
	}
	mean := meanRow(t, fine, rows)
	ranked, err := s.Ranked(columns, mean)
	if err != nil {
		t.Fatal(err)
	}
	if err := fine.Refines(s); err != nil {
		t.Error(err)
	}
	if err := ranked.Refines(s); err != nil || ranked.Dim() != s.Dim() {
		t.Errorf("%d features, %v: must refine the schema of %d", ranked.Dim(), err, s.Dim())
	}
	knots := map[string][]float64{}
	for _, c := range ranked.Columns() {
		knots[c.Name] = c.Knots
	}
	// The hats beside age 50 and beside the ends smear a bin's mass by a bin.
	near := func(name string, want []float64, tolerance float64) {
		t.Helper()
		got := knots[name]
		if len(got) != len(want) || !slices.IsSorted(got) {
			t.Fatalf("%s: %v, must be %v", name, got, want)
		}
		for i := range got {
			if !(math.Abs(got[i]-want[i]) <= tolerance) {
				t.Errorf("%s: %v, must be %v", name, got, want)
			}
		}
	}
	near("age", []float64{0, 100. / 6, 100. / 3, 50, 100}, 1)
	// Three quarters of the rows are at the bound 0. Those are left out, and the others are even on the scale.
	var want []float64
	for k := range 7 {
		want = append(want, math.Exp2(float64(k))-1)
	}
	near("gain", want, .15)
	if s := knots["seen"]; len(s) != 6 || slices.ContainsFunc(s, func(d float64) bool { return d != math.Trunc(d) }) {
		t.Errorf("days %v", s)
	}
	if knots["size"] != nil {
		t.Errorf("size was not asked for: %v", knots["size"])
	}

	// Noise may leave no positive mass, and any vector of numbers gives knots or leaves them equal.
	for j := range mean {
		mean[j] = -1
	}
	if ranked, err = s.Ranked(columns, mean); err != nil {
		t.Fatal(err)
	}
	for _, c := range ranked.Columns() {
		if c.Knots != nil {
			t.Errorf("%s without mass: %v", c.Name, c.Knots)
		}
	}
	for j := range mean {
		mean[j] = math.Pow(-7, float64(j%40))
	}
	if ranked, err = s.Ranked(columns, mean); err != nil || ranked.Refines(s) != nil {
		t.Error(err)
	}
}

// TestRankedTooNear: knots that ranks would put on the same day, or on the same float64, stay equally spaced, so that
// no released answer makes a schema that cannot be.
func TestRankedTooNear(t *testing.T) {
	s := mustLoad(t, `
schema:
  columns:
    seen: {date: [2020-01-01, 2020-01-05], curve: 5}
    mass: {number: [1e15, 1.00000000000001e15], curve: 60}
  target: {column: y, classes: [0, 1]}
`)
	columns := []string{"seen", "mass"}
	fine, err := s.Fine(columns)
	if err != nil {
		t.Fatal(err)
	}
	for at := range 65 {
		mean := make([]float64, fine.Dim())
		for _, h := range fine.Hats() {
			mean[h.First+at] = 1
		}
		ranked, err := s.Ranked(columns, mean)
		if err != nil {
			t.Fatalf("all mass at knot %d: %v", at, err)
		}
		for _, c := range ranked.Columns() {
			if c.Knots != nil && c.validateKnots() != nil || c.Curve != map[string]int{"seen": 5, "mass": 60}[c.Name] {
				t.Errorf("all mass at knot %d: %s has the knots %v", at, c.Name, c.Knots)
			}
		}
		if at == 0 && (ranked.Columns()[0].Knots != nil || ranked.Columns()[1].Knots != nil) {
			t.Error("no knots fall together, so that nothing is tested")
		}
	}
}

// TestRanksLeaveOutABound has columns from 0 to 64 with a knot for each bin, so that a knot is the place of a bin and the
// share of it. With the rows at a bound left out, a bin without mass has the width .1/64 = .0015625 of .1 u + .9 F.
func TestRanksLeaveOutABound(t *testing.T) {
	s := mustLoad(t, `
schema:
  columns:
    a: {number: [0, 64], curve: 5}
    b: {number: [0, 64], curve: 5}
  target: {column: y, classes: [0, 1]}
`)
	fine, err := s.Fine([]string{"a", "b"})
	if err != nil {
		t.Fatal(err)
	}
	first := fine.Hats()
	for name, test := range map[string]struct {
		a, b    map[int]float64
		columns []string
		want    []float64
	}{
		// Both bins of hat 40 are capped at 1/16 and have half of F. Bin 39 begins at .0609375 and is .4515625 wide.
		"no noise":        {a: map[int]float64{0: 5.5, 40: 4.5}, want: []float64{39.418685, 39.972318, 40.525952}},
		"just above .3":   {a: map[int]float64{0: 3.05, 40: 6.95}, want: []float64{39.418685, 39.972318, 40.525952}},
		"the upper bound": {a: map[int]float64{64: 7, 24: 3}, want: []float64{23.474048, 24.027682, 24.581315}},
		// v is .0009: .04 counts as .0256 and .06 as .048. Bins 19 and 20 are .158084 wide, 39 and 40 are .295041.
		"noise":       {a: map[int]float64{0: 9.9, 20: .04, 40: .06, 10: -.03}, want: []float64{20.393640, 39.427124, 40.274465}},
		"noise twice": {a: map[int]float64{0: 9.9, 20: .04, 40: .06, 10: -.03, 12: -.03}, want: []float64{20.393640, 39.427124, 40.274465}},
		"noise of another column": {a: map[int]float64{0: 9.9, 20: .04, 40: .06}, b: map[int]float64{1: 1, 5: -.03},
			want: []float64{20.393640, 39.427124, 40.274465}},
		// Without it bins 19 and 20 have .2 of F each and are .1815625 wide, bins 39 and 40 .3 and .2715625.
		"noise of no column of ranks": {a: map[int]float64{0: 9.9, 20: .04, 40: .06}, b: map[int]float64{3: -.03},
			columns: []string{"a"}, want: []float64{20.213425, 39.291139, 40.211738}},
		// Noise of .041 is above .004 of 10: bin 0 has .0625 of .0725, and is .438847 wide in (u + F)/2.
		"too much noise":         {a: map[int]float64{0: 9.9, 20: .04, 40: .06, 10: -.041}, want: []float64{.569675, 8.827586, 37.296552}},
		"a share of .3":          {a: map[int]float64{0: 3, 40: 7}, want: []float64{10.666667, 39.164179, 40.597015}},
		"within":                 {a: map[int]float64{24: 9.9, 40: .1}, want: []float64{23.293833, 24.338573, 36.740741}},
		"beside a bound, too":    {a: map[int]float64{0: 6, 1: 0.61, 40: 3.39}, want: []float64{4.697248, 36.697248, 40.534851}},
		"hardly beside a bound":  {a: map[int]float64{0: 6, 1: 0.6, 40: 3.4}, want: []float64{1.694818, 39.481553, 40.299572}},
		"beside the upper bound": {a: map[int]float64{64: 6, 63: 0.61, 40: 3.39}, want: []float64{32.000000, 40.292082, 59.302752}},
		"both bounds":            {a: map[int]float64{0: 4, 64: 4, 20: 2}, want: []float64{19.487889, 20.041522, 20.595156}},
		"all rows":               {a: map[int]float64{0: 10}},
	} {
		mean := make([]float64, fine.Dim())
		for at, m := range test.a {
			mean[first[0].First+at] = m
		}
		for at, m := range test.b {
			mean[first[1].First+at] = m
		}
		if test.columns == nil {
			test.columns = []string{"a", "b"}
		}
		ranked, err := s.Ranked(test.columns, mean)
		if err != nil {
			t.Fatal(err)
		}
		got := ranked.Columns()[0].Knots
		if len(test.want) == 0 && got == nil {
			continue
		}
		if len(got) != 5 || slices.ContainsFunc([]int{0, 1, 2}, func(k int) bool { return !(math.Abs(got[k+1]-test.want[k]) < 2e-6) }) {
			t.Errorf("%s: %v, must be %v between the bounds", name, got, test.want)
		}
	}
}
