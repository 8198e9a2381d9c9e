package dataset

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/stillpoint-dp/stillpoint/internal/cellstatus"
	"github.com/stillpoint-dp/stillpoint/internal/effects"
	"github.com/stillpoint-dp/stillpoint/internal/spline"
	"github.com/stillpoint-dp/stillpoint/internal/targetpair"
)

// TestReferenceKnots tests which knot a curve's values are relative to: the middle one, or the lower of the two in the middle.
func TestReferenceKnots(t *testing.T) {
	for n, want := range map[int]int{3: 1, 4: 1, 5: 2, 6: 2, 7: 3, 64: 31} {
		if got := referenceKnot(spline.Equal(n)); got != want {
			t.Errorf("%d knots: knot %d: must be %d", n, got, want)
		}
	}
}

// TestNumbersAsTheyWereWritten tests the text that a reader finds in a table whose numbers have a decimal comma, from the
// text with a decimal point that programs see, and whether the table had a point.
func TestNumbersAsTheyWereWritten(t *testing.T) {
	comma := CSV{Decimal: ",", Thousands: "."}
	for cell, want := range map[string]string{"1.5": "1,5", "-1.25e3": "-1,25e3", "12": "12", "north": "north", "1.2.3": "1.2.3", "": ""} {
		if got, pointed := comma.Written(cell); got != want || pointed {
			t.Errorf("%q: %q, %v: must be %q", cell, got, pointed, want)
		}
		if got, pointed := (CSV{}).Written(cell); got != cell || pointed {
			t.Errorf("%q, with points: %q, %v", cell, got, pointed)
		}
	}
	if got, pointed := comma.Written(comma.plain("1.5")); got != "1.5" || !pointed {
		t.Errorf("a number with a point: %q, %v", got, pointed)
	}
}

// TestTimesAtTheirEnd tests what is said of a time around the end that is modelled, and of an event.
func TestTimesAtTheirEnd(t *testing.T) {
	s, err := New(Definition{Columns: []Column{{Name: "age", Kind: Number, High: 1}},
		Target: Target{Column: "time", Kind: Number, High: 10, Event: "died", Entry: "entry"}, Missing: []string{"", "NA"}})
	if err != nil {
		t.Fatal(err)
	}
	m, err := s.Bind([]string{"age", "time", "died", "entry"})
	if err != nil {
		t.Fatal(err)
	}
	for i, cells := range []map[string]string{nil, {"0": cellstatus.Read, "10": cellstatus.Read, "10.001": cellstatus.Above, "-0.001": cellstatus.Unread,
		"x": cellstatus.Unread, "NA": cellstatus.Absent, "": cellstatus.Absent},
		{"1": cellstatus.Read, "0": cellstatus.Read, "true": cellstatus.Read, "False": cellstatus.Read, "2": cellstatus.Unlisted, "NA": cellstatus.Absent},
		{"0": cellstatus.Read, "10": cellstatus.Read, "11": cellstatus.Above, "-1": cellstatus.Unread, "": cellstatus.Absent}} {
		for cell, want := range cells {
			if _, got := m.Column(i).Status(cell); got != want {
				t.Errorf("column %d, %q: %s: must be %s", i, cell, got, want)
			}
		}
	}
}

// TestPlacesOfColumns tests how an error names a column: by its name, or by its number from 1 if the name may be a cell.
func TestPlacesOfColumns(t *testing.T) {
	for i, want := range []string{`column "age"`, "column 2", "column 3", `column "sex"`} {
		if got := place([]string{" age ", "39", "", "sex"}, i); got != want {
			t.Errorf("%s: must be %s", got, want)
		}
	}
}

// timed is a schema of the time to an event, with the given change.
func timed(change func(*Definition)) (*Schema, error) {
	def := Definition{Columns: []Column{{Name: "age", Kind: Number, High: 1}},
		Target: Target{Column: "time", Kind: Number, High: 10, Event: "died"}}
	change(&def)
	return New(def)
}

// TestHazardsAtTheirLimits tests both sides of the rules about hazards: their sum, their number, and their errors.
func TestHazardsAtTheirLimits(t *testing.T) {
	many := func(n int) (cuts, hazards []float64) {
		for i := range n {
			cuts, hazards = append(cuts, 10*float64(i+1)/float64(n)), append(hazards, 1/float64(n))
		}
		return cuts, hazards
	}
	for name, c := range map[string]struct {
		change func(*Target)
		valid  bool
	}{
		"none":                {func(*Target) {}, true},
		"a sum of 1":          {func(x *Target) { x.Cuts, x.Hazards = []float64{4, 10}, []float64{.25, .75} }, true},
		"a sum just above":    {func(x *Target) { x.Cuts, x.Hazards = []float64{4, 10}, []float64{.25, .75 + 9e-7} }, true},
		"a sum above":         {func(x *Target) { x.Cuts, x.Hazards = []float64{4, 10}, []float64{.25, .75 + 2e-6} }, false},
		"a sum below":         {func(x *Target) { x.Cuts, x.Hazards = []float64{4, 10}, []float64{.25, .75 - 2e-6} }, false},
		"a hazard below 0":    {func(x *Target) { x.Cuts, x.Hazards = []float64{4, 10}, []float64{-.25, 1.25} }, false},
		"a hazard of 0":       {func(x *Target) { x.Cuts, x.Hazards = []float64{4, 10}, []float64{0, 1} }, true},
		"one hazard too few":  {func(x *Target) { x.Cuts, x.Hazards = []float64{4, 10}, []float64{1} }, false},
		"64 intervals":        {func(x *Target) { x.Cuts, x.Hazards = many(64) }, true},
		"65 intervals":        {func(x *Target) { x.Cuts, x.Hazards = many(65) }, false},
		"a cut at 0":          {func(x *Target) { x.Cuts = []float64{0, 10} }, false},
		"a cut twice":         {func(x *Target) { x.Cuts = []float64{4, 4, 10} }, false},
		"an end that is less": {func(x *Target) { x.Cuts = []float64{4, 9} }, false},
		"an end that is more": {func(x *Target) { x.Cuts = []float64{4, 11} }, false},
		"errors": {func(x *Target) {
			x.Cuts, x.Hazards, x.HazardErrors = []float64{4, 10}, []float64{.5, .5}, []float64{1, 1}
		}, true},
		"one error too few": {func(x *Target) { x.Cuts, x.Hazards, x.HazardErrors = []float64{4, 10}, []float64{.5, .5}, []float64{1} }, false},
		"one error too many": {func(x *Target) {
			x.Cuts, x.Hazards, x.HazardErrors = []float64{4, 10}, []float64{.5, .5}, []float64{1, 1, 1}
		}, false},
		"errors of nothing": {func(x *Target) { x.Cuts, x.HazardErrors = []float64{4, 10}, []float64{1, 1} }, false},
		"cloglog":           {func(x *Target) { x.Grouped = cloglog }, true},
		"logit":             {func(x *Target) { x.Grouped = logit }, true},
		"probit":            {func(x *Target) { x.Grouped = "probit" }, false},
	} {
		if _, err := timed(func(d *Definition) { c.change(&d.Target) }); (err == nil) != c.valid {
			t.Errorf("%s: %v", name, err)
		}
	}
	sex := Column{Name: "sex", Kind: Category, Categories: []string{"f"}} // and other
	for name, c := range map[string]struct {
		change func(*Definition)
		valid  bool
	}{
		"two levels":                   {func(d *Definition) { d.Columns[1].Categories = []string{"f", "m"} }, true},
		"one level":                    {func(*Definition) {}, false},
		"a number":                     {func(d *Definition) { d.Target.Changing = "age" }, false},
		"one interval":                 {func(d *Definition) { d.Columns[1].Categories, d.Target.Cuts = []string{"f", "m"}, []float64{10} }, false},
		"with cloglog":                 {func(d *Definition) { d.Columns[1].Categories, d.Target.Grouped = []string{"f", "m"}, cloglog }, true},
		"with logit":                   {func(d *Definition) { d.Columns[1].Categories, d.Target.Grouped = []string{"f", "m"}, logit }, false},
		"64 levels and intervals":      {func(d *Definition) { d.Columns[1].Categories = []string{"a", "b", "c", "d", "e", "f", "g", "h"} }, true},
		"72 levels and intervals":      {func(d *Definition) { d.Columns[1].Categories = []string{"a", "b", "c", "d", "e", "f", "g", "h", "i"} }, false},
		"without the time to an event": {func(d *Definition) { d.Target.Event = "" }, false},
	} {
		if _, err := timed(func(d *Definition) {
			d.Columns, d.Target.Changing = append(d.Columns, sex), "sex"
			c.change(d)
		}); (err == nil) != c.valid {
			t.Errorf("changing hazards, %s: %v", name, err)
		}
	}
}

// TestRatesByHand tests the rate of a target that its largest value stands for, the least share of a record, and the share
// of one, for a target with an exposure, with an offset, and with neither.
func TestRatesByHand(t *testing.T) {
	for name, c := range map[string]struct {
		target             Target
		rate, least, share float64 // the share of a record of 2
	}{
		"a number":    {Target{High: 12}, 12, 0, 1},
		"a weight":    {Target{High: 12, Weight: "w"}, 12, 0, 1},
		"an exposure": {Target{High: 12, Exposure: Exposure{"e", .5, 4}}, 3, .125, .5},
		"an offset":   {Target{High: 12, Exposure: Exposure{"e", 1, 4}, Offset: true}, 12 * math.Exp(-4), math.Exp(-3), math.Exp(-2)},
		"a time":      {Target{High: 12, Event: "died"}, 1, targetpair.Least, 0},
	} {
		near := func(what string, got, want float64) {
			if !(math.Abs(got-want) <= 1e-15*want) {
				t.Errorf("%s: %s %v: must be %v", name, what, got, want)
			}
		}
		near("rate", c.target.Rate(), c.rate)
		near("least share", c.target.Least(), c.least)
		if c.target.beside() != "" {
			near("share", c.target.fraction(2), c.share)
			near("share of more than all", c.target.fraction(1e9), 1)
		}
	}
	if got := (Target{Weight: "w"}).fraction(-1); got != 0 {
		t.Errorf("the share of a weight below 0 is %v", got)
	}
}

// TestColumnsThatAreRead tests of each use of a column whether its cells are read as numbers or days, as numbers that a
// decimal comma spells, and to count records alone.
func TestColumnsThatAreRead(t *testing.T) {
	s, err := New(Definition{Columns: []Column{{Name: "n", Kind: Number, High: 1}, {Name: "d", Kind: Date, High: 1},
		{Name: "l", Kind: Date, High: 1, Layout: "%d.%m.%Y"}, {Name: "c", Kind: Category, Categories: []string{"a"}}, {Name: "h", Kind: Hash, Buckets: 2},
		{Name: "p", Kind: Public, Values: []string{"x", "y"}}, {Name: "i", Kind: Ignore}}, Where: "p=x", Unit: Unit{Column: "u", Rows: 2},
		Target: Target{Column: "time", Kind: Number, High: 10, Event: "died", Entry: "entry"}})
	if err != nil {
		t.Fatal(err)
	}
	header := []string{"n", "d", "l", "c", "h", "p", "i", "u", "time", "died", "entry"}
	m, err := s.Bind(header)
	if err != nil {
		t.Fatal(err)
	}
	cells := make([]string, len(header))
	for i := range cells {
		cells[i] = "1,5"
	}
	m.Respell(CSV{Decimal: ","}.Respelled())(cells)
	reads, count := m.Reads(), m.ReadsToCount()
	var got string
	for i, name := range header {
		c := m.Column(i)
		got += fmt.Sprintf("%s: number %v, days %v, comma %v, read %v, to count %v\n", name, c.Number(), c.Days(), cells[i] == "1.5", reads[i], count[i])
	}
	want := `n: number true, days false, comma true, read true, to count false
d: number false, days true, comma false, read true, to count false
l: number false, days false, comma false, read true, to count false
c: number false, days false, comma false, read true, to count false
h: number false, days false, comma false, read true, to count false
p: number false, days false, comma false, read true, to count true
i: number false, days false, comma false, read false, to count false
u: number false, days false, comma false, read true, to count true
time: number true, days false, comma true, read true, to count false
died: number false, days false, comma false, read true, to count false
entry: number true, days false, comma true, read true, to count false
`
	if got != want {
		t.Errorf("%s: must be\n%s", got, want)
	}
}

// TestEventsOfAnyCell tests what each cell says of an event, with a value that stands for it and without one, where the empty
// cell is no listed marker of missing cells: it says nothing all the same.
func TestEventsOfAnyCell(t *testing.T) {
	for event, cells := range map[string]map[string]float64{
		"died":      {"1": 1, "1.0": 1, "true": 1, "TRUE": 1, "0": 0, "False": 0, "": math.NaN(), "NA": math.NaN(), "2": math.NaN(), "yes": math.NaN()},
		"died=dead": {"dead": 1, "Dead": 0, "alive": 0, "1": 0, "true": 0, "": math.NaN(), "NA": math.NaN()},
		"died=NA":   {"NA": math.NaN(), "x": 0},
	} {
		s, err := timed(func(d *Definition) { d.Target.Event, d.Missing = event, []string{"NA"} })
		if err != nil {
			t.Fatal(err)
		}
		m, err := s.Bind([]string{"age", "time", "died"})
		if err != nil {
			t.Fatal(err)
		}
		for cell, want := range cells {
			if got := m.Column(2).Text(cell); got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
				t.Errorf("%s, %q: %v: must be %v", event, cell, got, want)
			}
		}
	}
}

// TestLayoutsToTheDigit tests layouts of dates: no digit may stand beside the directives, and a directive beside another one
// has all its digits.
func TestLayoutsToTheDigit(t *testing.T) {
	for _, digit := range "0123456789" {
		if _, rule := parseLayout("%Y-%m-%d " + string(digit)); rule != "must have no digit beside the directives" {
			t.Errorf("%c: %q", digit, rule)
		}
	}
	for layout, cells := range map[string]map[string]bool{
		"%Y-%m-%d":          {"2024-1-5": true, "2024-01-05": true, "24-1-5": false},
		"%Y-%m%d":           {"2024-0105": true, "2024-105": false, "2024-15": false},
		"%Y%m-%d":           {"202401-5": true, "202401-05": true, "20241-5": false},
		"%d%m%Y":            {"05012024": true, "5012024": false},
		"%d.%m.%Y %H%M":     {"5.1.2024 0730": true, "5.1.2024 730": false},
		"%d.%m.%Y %H:%M:%S": {"5.1.2024 7:3:9": true, "5.1.2024 24:0:0": false, "5.1.2024 7:60:0": false, "5.1.2024 7:3:60": false},
	} {
		l, rule := parseLayout(layout)
		if rule != "" {
			t.Fatal(layout, rule)
		}
		for cell, want := range cells {
			if x, ok := l.days(cell); ok != want || ok && math.Floor(x) != 19727 {
				t.Errorf("%s: %q: %v, %v: must be %v", layout, cell, x, ok, want)
			}
		}
	}
	for date, want := range map[string]bool{"2024-02-29": true, "2023-02-29": false, "1900-02-29": false, "2000-02-29": true, "2024-04-31": false,
		"2024-12-32": false, "2024-00-10": false, "2024-13-10": false, "2024-01-00": false, "0000-01-01": false, "9999-12-31": true} {
		if _, ok := isoDays(date); ok != want {
			t.Errorf("%s is a day: %v", date, ok)
		}
	}
}

// TestCellsOfKnotsAreWithinBounds tests that no knot is beside the bounds of its column, whatever the logarithm and its
// inverse are rounded to, and that the first and the last are the bounds or next to them.
func TestCellsOfKnotsAreWithinBounds(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 9))
	for range 500 {
		c := Column{Name: "x", Kind: Number, Low: r.NormFloat64()*.3 - .6, Transform: Log1p}
		c.Low = max(c.Low, -.99)
		c.High = c.Low + math.Exp(3*r.NormFloat64())
		for i, u := range []float64{-1, 1, -.999999999999, .999999999999, 0} {
			x := c.cellAt(u)
			if !(c.Low <= x && x <= c.High) || i < 2 && !(math.Abs(x-[]float64{c.Low, c.High}[i]) <= 1e-12*(1+math.Abs(x))) {
				t.Fatalf("bounds %v and %v: %v at %v", c.Low, c.High, x, u)
			}
		}
	}
}

// TestColumnsOfUnits tests that the column of a unit has no other use.
func TestColumnsOfUnits(t *testing.T) {
	for column, want := range map[string]bool{"u": true, "age": false, "y": false, "e": false, "": false} {
		_, err := New(Definition{Columns: []Column{{Name: "age", Kind: Number, High: 1}}, Unit: Unit{Column: column, Rows: 2},
			Target: Target{Column: "y", Kind: Number, High: 9, Exposure: Exposure{"e", 1, 2}}})
		if (err == nil) != want {
			t.Errorf("unit %q: %v", column, err)
		}
	}
	if _, err := New(Definition{Columns: []Column{{Name: "age", Kind: Number, High: 1}}, Unit: Unit{Column: "w", Rows: 2},
		Target: Target{Column: "y", Kind: Number, High: 9, Weight: "w"}}); err == nil {
		t.Error("the column of a weight is a unit")
	}
}

// TestEncodingsWithoutAHeader tests which encodings may be stated beside the names of columns: of utf-16 the first bytes of
// a record would tell which it is.
func TestEncodingsWithoutAHeader(t *testing.T) {
	for _, encoding := range encodings {
		for _, header := range [][]string{nil, {"a"}} {
			if err := (CSV{Encoding: encoding, Header: header}).Check(); (err == nil) != (encoding != "utf-16" || header == nil) {
				t.Errorf("%s, names %v: %v", encoding, header, err)
			}
		}
	}
}

// TestEffectsByHand tests what a schema with effects makes of its range and its curves: the range of waves with the weights 3
// and 4 is 5 times their amplitude, and a schema with effects keeps the features that it was found with.
func TestEffectsByHand(t *testing.T) {
	s, err := New(Definition{Columns: []Column{{Name: "a", Kind: Number, High: 1}, {Name: "b", Kind: Number, High: 1}},
		Target: Target{Column: "y", Kind: Number, High: 1}, Interactions: []Interaction{{"a", "b"}}})
	if err != nil {
		t.Fatal(err)
	}
	e := Effects{Seed: 1, Features: effects.Least, Weight: 2, Centres: make([]float64, len(s.Ranges())), Scale: 1, Weights: make([]float64, s.Dim())}
	with, err := s.WithEffects(e)
	if err != nil {
		t.Fatal(err)
	}
	w := make([]float64, with.Dim())
	w[s.Dim()-1], w[s.Dim()] = 3, 4
	amplitude, _ := with.EffectFactors()
	if want := e.Weight / with.Scale() / math.Sqrt(float64(e.Features/2)); !(math.Abs(amplitude/want-1) < 1e-6) {
		t.Errorf("amplitude %v: must be %v", amplitude, want)
	}
	if low, high := with.MarginRange(w); !(math.Abs(high/(5*amplitude)-1) < 1e-5) || low != -high {
		t.Errorf("from %v to %v: must be 5 times %v", low, high, amplitude)
	}
	for _, size := range []float64{1, leastPairs - 1, leastPairs, leastPairs + 1} {
		again, r, err := s.Resolve(size)
		if err != nil || (len(again.Interactions()) == 1) != (size >= leastPairs) || (len(r.Without) == 0) != (size >= leastPairs) {
			t.Errorf("size %v: %v, %+v, %v", size, again.Interactions(), r, err)
		}
		if kept, r, err := with.Resolve(size); kept != with || err != nil || r.Without != nil {
			t.Errorf("size %v, with effects: %+v, %v", size, r, err)
		}
	}
}

// TestSizesOfCurves tests both sides of the sizes at which a curve gets knots, and the size that is said to be needed.
func TestSizesOfCurves(t *testing.T) {
	s, err := New(Definition{Columns: []Column{{Name: "a", Kind: Number, High: 1, Curve: CurveAuto}}, Target: Target{Column: "y", Kind: Number, High: 1}})
	if err != nil {
		t.Fatal(err)
	}
	_, r, err := s.Resolve(1)
	if err != nil || len(r.Linear) != 1 || knotsFor(r.Needed) != leastAuto || knotsFor(r.Needed-1) != 0 {
		t.Errorf("%+v, %v: %d and %d knots", r, err, knotsFor(r.Needed), knotsFor(r.Needed-1))
	}
	for size, want := range map[float64]int{0: 0, 210: 0, 211: 3, 1000: 4, 19_999: 11, 20_000: 23, 100_000: 39, 1e9: 64, math.Inf(1): 64} {
		if got := knotsFor(size); got != want {
			t.Errorf("size %v: %d knots: must be %d", size, got, want)
		}
	}
	if _, r, _ := s.Resolve(math.NaN()); len(r.Linear) != 1 {
		t.Errorf("a size that is not known: %+v", r)
	}
}

// TestNamesOfLargeKnots tests the names of knots around the whole numbers that are written in full, for both signs.
func TestNamesOfLargeKnots(t *testing.T) {
	for x, want := range map[float64]string{999999999999999: "x@999999999999999", 1e15: "x@1e+15", -999999999999999: "x@-999999999999999", -1e15: "x@-1e+15",
		-.5: "x@-0.5", 0: "x@0"} {
		c := Column{Name: "x", Kind: Number, Low: x - 1e15, High: x + 1e15}
		if got := c.knotNames(spline.Equal(3)); got[1] != want && c.cellAt(0) == x {
			t.Errorf("%v: %s: must be %s", x, got, want)
		}
	}
}

// TestProjectionsServeTheirFeatures tests which numbers of features a projection maps.
func TestProjectionsServeTheirFeatures(t *testing.T) {
	p, err := ParseProjection("jl(3)", 10)
	if err != nil {
		t.Fatal(err)
	}
	for features, want := range map[int]bool{9: false, 10: true, 11: false} {
		if err := p.Serves(features); (err == nil) != want {
			t.Errorf("%d features: %v", features, err)
		}
	}
	for text, want := range map[string]bool{"jl(1)": true, "jl(9)": true, "jl(0)": false, "jl(10)": false, "jl(3,9007199254740991)": true,
		"jl(3,9007199254740992)": false, "jl(3,-1)": false, "jl(3": false, "jl 3)": false} {
		if _, err := ParseProjection(text, 10); (err == nil) != want {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// spoil changes every number and text in the slices of v.
func spoil(v reflect.Value) (changed int) {
	switch v.Kind() {
	case reflect.Slice:
		for i := range v.Len() {
			e := v.Index(i)
			switch changed++; e.Kind() {
			case reflect.Float64:
				e.SetFloat(e.Float() + 1)
			case reflect.String:
				e.SetString(e.String() + "!")
			default:
				changed += spoil(e) - 1
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				changed += spoil(v.Field(i))
			}
		}
	case reflect.Pointer:
		changed += spoil(v.Elem())
	}
	return changed
}

// TestSchemasAreNotChanged changes all that a schema was made of and all that its methods return: the schema stays as it was.
func TestSchemasAreNotChanged(t *testing.T) {
	def := Definition{Columns: []Column{{Name: "a", Kind: Number, High: 9, Curve: 4, Knots: []float64{0, 2, 5, 9}}, {Name: "c", Kind: Category,
		Categories: []string{"x", "y"}}, {Name: "p", Kind: Public, Values: []string{"1", "2"}}}, Interactions: []Interaction{{"a", "c"}}, Missing: []string{"NA"},
		Target: Target{Column: "time", Kind: Number, High: 10, Event: "died", Cuts: []float64{5, 10}, Hazards: []float64{.5, .5},
			HazardErrors: []float64{.1, .2}, Share: []float64{.5}}}
	classes := Definition{Columns: []Column{{Name: "a", Kind: Number, High: 9}}, Target: Target{Column: "y", Kind: Category, Classes: []string{"n", "y"}, Share: []float64{.25}}}
	for _, def := range []Definition{def, classes} {
		s, err := New(def)
		if err != nil {
			t.Fatal(err)
		}
		e := Effects{Features: effects.Least, Weight: 2, Centres: make([]float64, len(s.Ranges())), Scale: 1, Weights: make([]float64, s.Dim()), Deviations: []float64{1}}
		with, err := s.WithEffects(e)
		if err != nil {
			t.Fatal(err)
		}
		state := func() string {
			out := ""
			for _, s := range []*Schema{s, with} {
				found, _ := s.Effects()
				out += fmt.Sprint(s.Columns(), s.Target(), s.Interactions(), s.Missing(), s.Features(), s.Hats(), s.Groups(), found, s.Ranges())
			}
			return out
		}
		before := state()
		changed := spoil(reflect.ValueOf(&def)) + spoil(reflect.ValueOf(&e))
		for _, s := range []*Schema{s, with} {
			columns, target, pairs, missing, features, hats := s.Columns(), s.Target(), s.Interactions(), s.Missing(), s.Features(), s.Hats()
			found, _ := s.Effects()
			for _, v := range []any{&columns, &target, &pairs, &missing, &features, &hats, &found} {
				changed += spoil(reflect.ValueOf(v))
			}
		}
		if after := state(); after != before || changed < 20 {
			t.Errorf("after %d changes:\n%s\nbefore:\n%s", changed, after, before)
		}
	}
}

// TestNormsAtTheirLimits tests both sides of the norms that a schema may state: from a thousandth to the largest of a row.
func TestNormsAtTheirLimits(t *testing.T) {
	whole := math.Sqrt(3) // two numbers and the intercept
	for norm, want := range map[float64]bool{0: true, .001: true, .000999: false, whole: true, math.Nextafter(whole, 9): false, 1: true, -1: false, math.NaN(): false} {
		s, err := New(Definition{Columns: []Column{{Name: "a", Kind: Number, High: 1}, {Name: "b", Kind: Number, High: 1}}, Norm: norm,
			Target: Target{Column: "y", Kind: Number, High: 1}})
		if (err == nil) != want {
			t.Errorf("norm %v: %v", norm, err)
		}
		if err != nil {
			continue
		}
		if scale := s.Scale(); norm > 0 && scale != norm || norm == 0 && scale != whole {
			t.Errorf("norm %v: divided by %v", norm, scale)
		}
	}
}

// TestSharesAtTheirLimits tests both sides of the rules about shares, by kind of target.
func TestSharesAtTheirLimits(t *testing.T) {
	two, three := []string{"n", "y"}, []string{"a", "b", "c"}
	for _, c := range []struct {
		target Target
		share  []float64
		valid  bool
	}{
		{Target{Kind: Category, Classes: two}, []float64{.5}, true}, {Target{Kind: Category, Classes: two}, []float64{0}, false},
		{Target{Kind: Category, Classes: two}, []float64{1}, false}, {Target{Kind: Category, Classes: two}, []float64{.5, .5}, false},
		{Target{Kind: Category, Classes: three}, []float64{.2, .3, .5}, true}, {Target{Kind: Category, Classes: three}, []float64{.2, .3, .509}, true},
		{Target{Kind: Category, Classes: three}, []float64{.2, .3, .511}, false}, {Target{Kind: Category, Classes: three}, []float64{.2, .3, .489}, false},
		{Target{Kind: Category, Classes: three}, []float64{.5}, false}, {Target{Kind: Category, Classes: three}, []float64{0, .5, .5}, false},
		{Target{Kind: Number, Low: 2, High: 9}, []float64{5}, true}, {Target{Kind: Number, Low: 2, High: 9}, []float64{2}, false},
		{Target{Kind: Number, Low: 2, High: 9}, []float64{9}, false},
		{Target{Kind: Number, High: 9, Event: "died"}, []float64{.5}, true}, {Target{Kind: Number, High: 9, Event: "died"}, []float64{5}, false},
		{Target{Kind: Number, High: 9, Event: "died", Entry: "e"}, []float64{.5}, true}, {Target{Kind: Number, High: 9, Event: "died", Entry: "e"}, []float64{5}, false},
	} {
		c.target.Column, c.target.Share = "y", c.share
		if _, err := New(Definition{Columns: []Column{{Name: "a", Kind: Number, High: 1}}, Target: c.target}); (err == nil) != c.valid {
			t.Errorf("%+v: %v", c.target, err)
		}
	}
}

// TestMarksOfNumbers tests which characters separate thousands: none that a number has otherwise.
func TestMarksOfNumbers(t *testing.T) {
	for _, mark := range "0123456789+-eE\r\n." {
		if err := (CSV{Thousands: string(mark)}).Check(); err == nil {
			t.Errorf("%q separates thousands", mark)
		}
	}
	for _, mark := range ",' _\u202f" {
		if err := (CSV{Thousands: string(mark), Decimal: "."}).Check(); err != nil {
			t.Errorf("%q: %v", mark, err)
		}
	}
}

// TestMonotoneByHand tests by how much a weight of the wrong sign is moved: from -w to w over the scale of the rows, in the
// score, for each direction; and that no norm may be stated beside a direction.
func TestMonotoneByHand(t *testing.T) {
	for _, way := range []Monotone{Up, Down} {
		s, err := New(Definition{Columns: []Column{{Name: "a", Kind: Number, High: 1, Monotone: way}, {Name: "b", Kind: Number, High: 1}},
			Target: Target{Column: "y", Kind: Number, High: 1}})
		if err != nil {
			t.Fatal(err)
		}
		sign := map[Monotone]float64{Up: 1, Down: -1}[way]
		for w, want := range map[float64]float64{.75: 0, -.75: .75 / math.Sqrt(3)} {
			out, moved := s.ProjectMonotone([]float64{sign * w, 2, 3}, nil)
			if len(moved) != 1 || moved[0].Way != way || !(math.Abs(moved[0].Moved-want) <= 1e-15) || out[0] != sign*max(w, 0) || out[1] != 2 || out[2] != 3 {
				t.Errorf("%v, weight %v: %v, %+v: must be moved by %v", way, sign*w, out, moved, want)
			}
		}
		for _, norm := range []float64{.5, 1, 1.5} {
			if _, err := New(Definition{Columns: []Column{{Name: "a", Kind: Number, High: 1, Monotone: way}, {Name: "b", Kind: Number, High: 1}}, Norm: norm,
				Target: Target{Column: "y", Kind: Number, High: 1}}); err == nil {
				t.Errorf("%v, norm %v: no error", way, norm)
			}
		}
	}
}

// TestKnotsOfDatesAreDays tests that the knots of a date are the days that are nearest to the places where the ranks would
// put them.
func TestKnotsOfDatesAreDays(t *testing.T) {
	masses := make([]float64, rankBins+1)
	for i := range masses {
		masses[i] = 1 + float64(i%7)
	}
	date := Column{Name: "d", Kind: Date, High: 997, Curve: 9}
	number := date
	number.Kind = Number
	days, places := date.rankKnots(masses, 0), number.rankKnots(masses, 0)
	up := 0
	for i, x := range days {
		if x != math.Round(places[i]) {
			t.Errorf("knot %d is %v: must be the day next to %v", i, x, places[i])
		}
		if x > places[i] {
			up++
		}
	}
	if up == 0 || up > 6 {
		t.Errorf("%d of 9 knots are rounded up", up)
	}
}

// TestMarkersOfMissingCells tests what is said of an empty cell where the markers are others: it is absent all the same, in
// each use of a column.
func TestMarkersOfMissingCells(t *testing.T) {
	s, err := New(Definition{Columns: []Column{{Name: "n", Kind: Number, High: 1}, {Name: "c", Kind: Category, Categories: []string{"a"}},
		{Name: "p", Kind: Public, Values: []string{"x", "y"}}}, Where: "p=x", Missing: []string{"NA"},
		Target: Target{Column: "y", Kind: Category, Classes: []string{"no", "yes"}}})
	if err != nil {
		t.Fatal(err)
	}
	m, err := s.Bind([]string{"n", "c", "p", "y"})
	if err != nil {
		t.Fatal(err)
	}
	for i, known := range []string{"1", "a", "y", "yes"} {
		for cell, want := range map[string]string{"": cellstatus.Absent, "NA": cellstatus.Absent, known: cellstatus.Read} {
			if _, got := m.Column(i).Status(cell); got != want {
				t.Errorf("column %d, %q: %s: must be %s", i, cell, got, want)
			}
		}
		if _, got := m.Column(i).Status("?"); got != cellstatus.Unlisted && got != cellstatus.Unread {
			t.Errorf("column %d: %s", i, got)
		}
	}
}

// TestFeaturesOfNumbers tests how many features a number has, with and without an indicator and a curve.
func TestFeaturesOfNumbers(t *testing.T) {
	for _, c := range []struct {
		column Column
		want   int
	}{{Column{}, 1}, {Column{Indicator: true}, 2}, {Column{Indicator: true, Curve: 5}, 7}, {Column{Indicator: true, Curve: CurveNone}, 2},
		{Column{Indicator: true, Curve: CurveAuto}, 2}, {Column{Curve: CurveNone}, 1}} {
		for _, kind := range []ColumnKind{Number, Date} {
			if c.column.Kind = kind; c.column.width() != c.want {
				t.Errorf("%+v: %d: must be %d", c.column, c.column.width(), c.want)
			}
		}
	}
}

// TestCharactersOfClasses tests which characters a class may have: none that is not seen, but those that join letters.
func TestCharactersOfClasses(t *testing.T) {
	for text, want := range map[string]bool{"a": true, "a b": true, "a\u00a0b": true, "a\u200cb": true, "a\u200db": true, "a\u200bb": false, "a\u200eb": false,
		"a\u202eb": false, "a\nb": false, "a\x00b": false, "\u200d": true, "日本": true} {
		_, err := New(Definition{Columns: []Column{{Name: "a", Kind: Number, High: 1}}, Target: Target{Column: "y", Kind: Category, Classes: []string{"no", text}}})
		if (err == nil) != want {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestGroupsOfInteractions tests which group of one-hot features an interaction of a number depends on: hashes count.
func TestGroupsOfInteractions(t *testing.T) {
	s, err := New(Definition{Columns: []Column{{Name: "h", Kind: Hash, Buckets: 3}, {Name: "c", Kind: Category, Categories: []string{"x", "y"}},
		{Name: "n", Kind: Number, High: 1}, {Name: "d", Kind: Category, Categories: []string{"x"}}},
		Interactions: []Interaction{{"n", "d"}, {"c", "n"}}, Target: Target{Column: "y", Kind: Number, High: 8, Exposure: Exposure{"e", 1, 2}}})
	if err != nil {
		t.Fatal(err)
	}
	var groups []int
	for _, h := range s.Hats() {
		groups = append(groups, h.Group)
	}
	if got := fmt.Sprint(groups); got != "[2 1]" {
		t.Errorf("groups %s", got)
	}
	var others []int
	for i := range s.Dim() {
		if s.IsOther(i) {
			others = append(others, i)
		}
	}
	if got := fmt.Sprint(others); got != "[6 10]" { // 4 of h, 3 of c, the number and its indicator, and 2 of d
		t.Errorf("other levels %s", got)
	}
	list := s.Explain(make([]float64, s.Dim()), true)
	if got := list[len(list)-1].Value; !(math.Abs(got-math.Log(4)) <= 1e-15) {
		t.Errorf("the constant of a rate of 4 is %v", got)
	}
}
