package dataset

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/stillpoint-dp/stillpoint/internal/spline"
)

// TestEncodeGolden tests rows computed by hand from the package comment: S = 2, so a number u
// becomes u/2, and the category and the intercept become 1/2. log1p maps [0, 3] to [0, log 4], so 1
// is the midpoint and sqrt 2 - 1 a quarter.
func TestEncodeGolden(t *testing.T) {
	m := mustBind(t, mustLoad(t, people), peopleHeader...)
	for _, test := range []struct {
		name   string
		cells  []string
		want   []float32
		target float64
		ok     bool
	}{
		{"plain", []string{"train", "1", "7.5", "1", "state", "x"}, []float32{.25, 0, 0, .5, 0, .5}, 1, true},
		{"lowest", []string{"train", "0", "0", "0", "private", "x"}, []float32{-.5, -.5, .5, 0, 0, .5}, -1, true},
		{"highest", []string{"train", "0", "10", "3", "private", "x"}, []float32{.5, .5, .5, 0, 0, .5}, -1, true},
		{"clamped", []string{"train", "0", "-3", "1e9", "private", "x"}, []float32{-.5, .5, .5, 0, 0, .5}, -1, true},
		{"infinite", []string{"train", "0", "Inf", "-inf", "private", "x"}, []float32{.5, -.5, .5, 0, 0, .5}, -1, true},
		{"beyond float64", []string{"train", "0", "-1e400", "1e400", "private", "x"}, []float32{-.5, .5, .5, 0, 0, .5}, -1,
			true},
		{"quarter", []string{"train", "0", "2.5", "0.41421356237309515", "private", "x"}, []float32{-.25, -.25, .5, 0, 0, .5},
			-1, true},
		{"trimmed", []string{"train", " 1\t", " 7.5 ", "\u00a01", " state ", ""}, []float32{.25, 0, 0, .5, 0, .5}, 1, true},
		{"missing", []string{"train", "1", "", "?", "?", ""}, []float32{0, 0, 0, 0, .5, .5}, 1, true},
		{"missing marker that is a number", []string{"train", "1", "-1", "-1", "-1", ""}, []float32{0, 0, 0, 0, .5, .5}, 1,
			true},
		{"unparsable", []string{"train", "1", "seven", "1,5", "State", ""}, []float32{0, 0, 0, 0, .5, .5}, 1, true},
		{"NaN", []string{"train", "1", "NaN", "-nan", "other", ""}, []float32{0, 0, 0, 0, .5, .5}, 1, true},
		{"target unknown", []string{"train", "2", "7", "1", "state", "x"}, make([]float32, 6), 0, false},
		{"target missing", []string{"train", "", "7", "1", "state", "x"}, make([]float32, 6), 0, false},
		{"too few", []string{"train", "1", "7", "1", "state"}, make([]float32, 6), 0, false},
		{"too many", []string{"train", "1", "7", "1", "state", "x", "y"}, make([]float32, 6), 0, false},
		{"no cells", nil, make([]float32, 6), 0, false},
	} {
		dst := []float32{9, 9, 9, 9, 9, 9, 42, 43}
		target, ok := m.Encode(dst, test.cells)
		if diff := cmp.Diff(append(test.want, 42, 43), dst); diff != "" {
			t.Errorf("%s: row (-want +got):\n%s", test.name, diff)
		}
		if target != test.target || ok != test.ok {
			t.Errorf("%s: target %v, %v: want %v, %v", test.name, target, ok, test.target, test.ok)
		}
	}
}

func TestEncodeRegressionTarget(t *testing.T) {
	s := mustLoad(t, `
schema:
  columns: {x: {number: [0, 1]}}
  target: {column: delay, number: [-60, 240]}
  missing: [-99]
`)
	m := mustBind(t, s, "x", "delay")
	for _, test := range []struct {
		cell       string
		want, user float64
		ok         bool
	}{
		{"-60", -1, -60, true},
		{" 240 ", 1, 240, true},
		{"90", 0, 90, true},
		{"165", .5, 165, true},
		{"1971", 1, 240, true},
		{"-Inf", -1, -60, true},
		{"1e999", 1, 240, true},
		{"-99", 0, 90, false},
		{"", 0, 90, false},
		{"NaN", 0, 90, false},
		{"late", 0, 90, false},
	} {
		dst := []float32{7, 7}
		got, ok := m.Encode(dst, []string{"1", test.cell})
		if got != test.want || ok != test.ok {
			t.Errorf("%q: target %v, %v: want %v, %v", test.cell, got, ok, test.want, test.ok)
		}
		if back := s.TargetFromUnit(got); back != test.user {
			t.Errorf("TargetFromUnit(%v) = %v: want %v", got, back, test.user)
		}
		if !ok && (dst[0] != 0 || dst[1] != 0) {
			t.Errorf("%q: row %v: want zeros", test.cell, dst)
		}
	}
}

func TestEncodeUnlabelled(t *testing.T) {
	s := mustLoad(t, people)
	all, err := s.Where("")
	if err != nil {
		t.Fatal(err)
	}
	m, err := all.BindUnlabelled([]string{"id", "work", "gain", "age"})
	if err != nil {
		t.Fatal(err)
	}
	row := make([]float32, m.Dim())
	target, ok := m.Encode(row, []string{"17", "state", "1", "7.5"})
	if diff := cmp.Diff([]float32{.25, 0, 0, .5, 0, .5}, row); diff != "" || target != 0 || !ok {
		t.Errorf("target %v, %v, row (-want +got):\n%s", target, ok, diff)
	}
	if _, ok := m.Encode(row, []string{"17", "state", "1"}); ok || row[5] != 0 {
		t.Errorf("short row: ok %v, row %v", ok, row)
	}
}

func TestEncodeShortRowPanics(t *testing.T) {
	m := mustBind(t, mustLoad(t, people), peopleHeader...)
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	m.Encode(make([]float32, 5, 6), nil)
}

func TestZeroMap(t *testing.T) {
	var m Map
	if _, ok := m.Encode(nil, nil); ok || !m.Keep(nil) || m.Dim() != 0 {
		t.Error("the zero Map must take every row for malformed")
	}
}

// slowEncode implements the package comment without regard to speed or rounding.
func slowEncode(s *Schema, header, cells []string) []float64 {
	cell := func(name string) (string, bool) {
		for i, h := range header {
			if h == name {
				c := strings.TrimSpace(cells[i])
				for _, m := range s.Missing() {
					if c == m {
						return "", false
					}
				}
				return c, true
			}
		}
		panic("no column " + name)
	}
	var x []float64
	levels := map[string][]float64{}
	terms := 1.0
	for _, c := range s.Columns() {
		if c.Kind == Ignore || c.Kind == Public {
			continue
		}
		terms++
		text, present := cell(c.Name)
		if c.Kind == Category {
			hot := len(c.Categories)
			for i, v := range c.Categories {
				if present && v == text {
					hot = i
				}
			}
			for i := range len(c.Categories) + 1 {
				if i == hot {
					x = append(x, 1)
				} else {
					x = append(x, 0)
				}
			}
			levels[c.Name] = x[len(x)-len(c.Categories)-1:]
			continue
		}
		if c.Kind == Hash {
			hot := c.Buckets
			if present && text != "" {
				hot = bigBucket(c.Name, text, c.Buckets)
			}
			one := make([]float64, c.Buckets+1)
			one[hot] = 1
			x = append(x, one...)
			continue
		}
		v, err := strconv.ParseFloat(text, 64)
		if strings.ContainsAny(text, "xX_") { // hexadecimal, or with underscores
			err, v = strconv.ErrSyntax, 0
		}
		if c.Kind == Date {
			v, err = slowDays(c.Layout, text)
		}
		known := present && !math.IsNaN(v) && (err == nil || math.IsInf(v, 0))
		indicators := []float64{1}
		if known {
			indicators[0] = 0
		}
		if !c.Indicator {
			indicators = nil
		}
		if !known {
			x = append(append(x, 0), indicators...)
			x = append(x, make([]float64, c.Curve)...)
			levels[c.Name] = make([]float64, 5)
			if c.Curve > 0 {
				terms += 2
			}
			continue
		}
		v, lo, hi := math.Max(c.Low, math.Min(c.High, v)), c.Low, c.High
		if c.Transform == Log1p {
			v, lo, hi = math.Log1p(v), math.Log1p(lo), math.Log1p(hi)
		}
		u := (v-lo)/(hi-lo)*2 - 1
		x = append(append(x, u), indicators...)
		if c.Curve > 0 {
			x = append(x, slowHats(u, c.Curve)...)
			terms += 2
		}
		levels[c.Name] = slowHats(u, 5)
	}
	for _, pair := range s.Interactions() {
		a, _ := s.column(pair[0])
		b, _ := s.column(pair[1])
		most := 1.
		for _, c := range []Column{a, b} {
			if c.Kind != Category {
				most *= 2
			}
		}
		terms += most
		if a.Kind != Category && b.Kind == Category {
			pair[0], pair[1] = pair[1], pair[0]
		}
		for _, a := range levels[pair[0]] {
			for _, b := range levels[pair[1]] {
				x = append(x, a*b)
			}
		}
	}
	x = append(x, 1)
	for i := range x {
		x[i] /= math.Sqrt(terms)
	}
	return x
}

// slowHats returns sqrt 2 times the value at u of each of n hats whose knots are equally spaced
// from -1 to 1.
func slowHats(u float64, n int) (x []float64) {
	apart := 2 / float64(n-1)
	for i := range n {
		x = append(x, math.Sqrt2*math.Max(0, 1-math.Abs(u-(float64(i)*apart-1))/apart))
	}
	return x
}

// slowHatsAt returns sqrt 2 times the value at u of each hat with the given knots.
func slowHatsAt(u float64, k spline.Knots) (x []float64) {
	for i := range k.Len() {
		v := 0.
		switch at := k.Position(i); {
		case u == at:
			v = 1
		case u < at && i > 0:
			v = math.Max(0, (u-k.Position(i-1))/(at-k.Position(i-1)))
		case u > at && i < k.Len()-1:
			v = math.Max(0, (k.Position(i+1)-u)/(k.Position(i+1)-at))
		}
		x = append(x, math.Sqrt2*v)
	}
	return x
}

// squaredNorm returns the exact squared norm: float32 squares and their sums fit in 700 bits here.
func squaredNorm(row []float32) *big.Float {
	sum := new(big.Float).SetPrec(700)
	for _, v := range row {
		x := new(big.Float).SetPrec(700).SetFloat64(float64(v))
		sum.Add(sum, x.Mul(x, x))
	}
	return sum
}

var squaredBound = func() *big.Float {
	b := new(big.Float).SetPrec(700).SetFloat64(NormBound)
	return b.Mul(b, b)
}()

func anyCell(s *Schema) *rapid.Generator[string] {
	listed := []string{"", " ", "NaN", "Inf", "-inf", "1e999", "-1e999", "0x1p-3", "1_0", "1e-999", "\x00", "\xff\xfe",
		"other", "−1"}
	for _, c := range s.Columns() {
		listed = append(listed, c.Categories...)
		listed = append(listed, showFloat(c.Low), showFloat(c.High))
	}
	return rapid.OneOf(
		rapid.SampledFrom(listed),
		anyDate(),
		rapid.String(),
		rapid.Map(rapid.Float64(), showFloat),
		rapid.Map(rapid.Float64Range(-1, 100), showFloat),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
	)
}

func TestEncodeProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anySchema().Draw(t, "schema")
		header := fullHeader(s)
		m, err := s.Bind(header)
		if err != nil {
			t.Fatal(err)
		}
		cells := rapid.SliceOfN(anyCell(s), len(header), len(header)).Draw(t, "cells")
		row := make([]float32, s.Dim())
		target, ok := m.Encode(row, cells)
		if !(target >= -1 && target <= 1) {
			t.Fatalf("target %v outside [-1, 1]", target)
		}
		for i, v := range row {
			if !(v >= -1 && v <= 1) {
				t.Fatalf("feature %d = %v outside [-1, 1]", i, v)
			}
		}
		if squaredNorm(row).Cmp(squaredBound) > 0 {
			t.Fatalf("squared norm %v beyond the bound", squaredNorm(row))
		}
		if !ok {
			return
		}
		for i, want := range slowEncode(s, header, cells) {
			// The tolerance covers five differences. slowEncode rounds in float64 only. log1p may differ
			// in the last places, which narrow bounds can magnify. float32 rounds by 2^-24. Hats are
			// computed from the rounded number, and 16 knots have 15 intervals, which magnifies this
			// rounding 15 times. The factor of hats is sqrt 2 (1 - 2^-20) and not sqrt 2.
			tolerance := 1e-7
			if strings.Contains(s.Features()[i], "@") {
				tolerance = 3e-6
			}
			if !(math.Abs(float64(row[i])-want) <= tolerance) {
				t.Fatalf("%s = %v: want %v", s.Features()[i], row[i], want)
			}
		}
	})
}

// TestEncodeIsLocal tests that the row of a record depends on its own cells only.
func TestEncodeIsLocal(t *testing.T) {
	m := mustBind(t, mustLoad(t, people), peopleHeader...)
	s := mustLoad(t, people)
	rapid.Check(t, func(t *rapid.T) {
		record := rapid.SliceOfN(anyCell(s), 0, 7)
		mine := record.Draw(t, "mine")
		encode := func(neighbours ...[]string) ([]float32, float64, bool) {
			row := make([]float32, m.Dim())
			for _, n := range neighbours {
				m.Encode(row, n)
				m.Keep(n)
			}
			target, ok := m.Encode(row, mine)
			return row, target, ok
		}
		row1, target1, ok1 := encode()
		row2, target2, ok2 := encode(record.Draw(t, "a"), record.Draw(t, "b"))
		if !cmp.Equal(row1, row2) || target1 != target2 || ok1 != ok2 {
			t.Fatalf("%v, %v, %v after other rows: want %v, %v, %v", row2, target2, ok2, row1, target1, ok1)
		}
	})
}

// TestNormBoundAtTheBounds tests the largest possible norms of rows: schemas of K numbers, for every
// K up to 3000, with all numbers at their bounds.
func TestNormBoundAtTheBounds(t *testing.T) {
	most := 3000
	if testing.Short() {
		most = 300
	}
	worst := new(big.Float)
	for k := 2; k <= most; k++ {
		m := &Map{schema: &Schema{}, cells: 1, dim: k, scale: math.Sqrt(float64(k)), target: -1, beside: -1, where: -1}
		for j := range k - 1 {
			m.inputs = append(m.inputs, input{at: j, interval: newInterval(Column{Low: 0, High: 1})})
		}
		m.bindColumns()
		row := make([]float32, k)
		m.Encode(row, []string{"1"})
		if norm := squaredNorm(row); norm.Cmp(worst) > 0 {
			worst = norm
		}
	}
	if worst.Cmp(squaredBound) > 0 {
		t.Errorf("largest squared norm %v: beyond the bound", worst)
	}
	if one := big.NewFloat(1); worst.Cmp(one) <= 0 {
		t.Errorf("largest squared norm %v: float32 rounding must show for the test to mean anything", worst)
	}
}

// TestEncodeFrozenBits tests that rows have the same bits on every machine. The goldens come from
// 50-digit decimal arithmetic, rounded once to float32.
func TestEncodeFrozenBits(t *testing.T) {
	s := mustLoad(t, `
schema:
  columns:
    a: {number: [17, 90]}
    b: {number: [0, 99999], transform: log1p}
    c: {category: [x, y]}
    d: {category: [x]}
  target: {column: y, classes: [0, 1]}
`)
	m := mustBind(t, s, "a", "b", "c", "d", "y")
	row := make([]float32, s.Dim())
	m.Encode(row, []string{"39", "2174", "y", "x", "1"})
	var got []uint32
	for _, v := range row {
		got = append(got, math.Float32bits(v))
	}
	want := []uint32{0xbe35ec8e, 0x3e19679a, 0, 0x3ee4f92e, 0, 0x3ee4f92e, 0, 0x3ee4f92e}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("bits (-want +got):\n%s", diff)
	}
}

func FuzzEncode(f *testing.F) {
	m := mustBind(f, mustLoad(f, people), peopleHeader...)
	f.Add("train,1,7.5,1,state,x")
	f.Add("train,0,Inf,1e999,?,")
	f.Add(",,,,,")
	f.Add("\x00\xff")
	f.Fuzz(func(t *testing.T, record string) {
		row := make([]float32, m.Dim())
		target, ok := m.Encode(row, strings.Split(record, ","))
		if !ok && target != 0 || math.IsNaN(target) {
			t.Errorf("target %v, ok %v", target, ok)
		}
		if squaredNorm(row).Cmp(squaredBound) > 0 {
			t.Errorf("row %v is too long", row)
		}
		for _, v := range row {
			if math.IsNaN(float64(v)) || !ok && v != 0 {
				t.Errorf("row %v, ok %v", row, ok)
			}
		}
	})
}

func BenchmarkEncode(b *testing.B) {
	m := mustBind(b, mustLoad(b, people), peopleHeader...)
	row := make([]float32, m.Dim())
	cells := []string{"train", "1", "7.5", "2174", "state", "x"}
	b.ReportAllocs()
	for b.Loop() {
		m.Encode(row, cells)
	}
}

// TestEncodeHoldsTheNorm tests that the norm is bounded even if the scale is too small. Such a
// scale cannot occur; the test sets it by hand.
func TestEncodeHoldsTheNorm(t *testing.T) {
	m := *mustBind(t, mustLoad(t, people), peopleHeader...)
	m.scale /= 8
	row := make([]float32, m.dim)
	m.Encode(row, []string{"train", "1", "7.5", "3", "state", ""})
	// u = (1/2, 1, 1, 1) has norm sqrt 13 / 2.
	one := float32(2 / math.Sqrt(13))
	if diff := cmp.Diff([]float32{one / 2, one, 0, one, 0, one}, row); diff != "" {
		t.Errorf("row (-want +got):\n%s", diff)
	}
}

// bigBucket computes the formula of Hashing in unbounded integers.
func bigBucket(column, text string, buckets int) int {
	p, q := big.NewInt(1<<31-1), big.NewInt(1<<31-19)
	sum := func(text string, salt *big.Int) *big.Int {
		s := new(big.Int).Set(salt)
		for i, c := range []rune(text) {
			u := new(big.Int).Mul(big.NewInt(1103515245), big.NewInt(int64(c)))
			u.Add(u, new(big.Int).Mul(big.NewInt(1597334677), big.NewInt(int64(i+1)))).Add(u, salt).Mod(u, p)
			u.Mul(u, u).Mod(u, q)
			s.Add(s, u.Mul(u, u).Mod(u, p))
		}
		return s.Mod(s, q)
	}
	s := sum(text, sum(column, big.NewInt(1)))
	return int(s.Mul(s, s).Mod(s, p).Mod(s, big.NewInt(int64(buckets))).Int64())
}

// TestNumbersThatNobodyElseReads tests that texts which only some programs read as a number are none, and that
// infinities, in each of their spellings, and numbers that are too large count as the bound.
func TestNumbersThatNobodyElseReads(t *testing.T) {
	for _, text := range []string{"0x1p4", "0X1P4", "-0x1p-2", "0x_1p4", "0x10", "1_000", "1e", "1,5", "inf1", "nan"} {
		if x, ok := parse(text, nil); ok {
			t.Errorf("%q is read as %v", text, x)
		}
	}
	for text, want := range map[string]float64{"inf": math.Inf(1), "+Infinity": math.Inf(1), "-INF": math.Inf(-1), "1e400": math.Inf(1),
		"1e-400": 0, "16": 16, "1.6e1": 16} {
		if x, ok := parse(text, nil); !ok || x != want {
			t.Errorf("%q is read as %v, %v: must be %v", text, x, ok, want)
		}
	}
}
