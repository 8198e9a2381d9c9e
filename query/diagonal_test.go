package query

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestDiagonalIsTheDiagonalMatrix: a diagonal metric must have the same integers, step, products and
// operator norm as the same matrix given in full.
func TestDiagonalIsTheDiagonalMatrix(t *testing.T) {
	r := rand.New(rand.NewPCG(43, 1))
	for range 300 {
		d := 1 + r.IntN(12)
		entries, full := make([]float64, d), make([]float64, d*d)
		for j := range entries {
			entries[j] = math.Exp2(-3+6*r.Float64()) * float64(1-r.IntN(3))
			full[j*d+j] = entries[j]
		}
		entries[0], full[0] = 1.5, 1.5
		m, err := NewDiagonal(entries)
		if err != nil {
			t.Fatal(err)
		}
		clear(entries) // the metric keeps its own copy
		want := metricOf(t, d, full)
		v, integers := make([]float64, 2*d), make([]int64, 2*d)
		for j := range v {
			v[j], integers[j] = r.NormFloat64(), int64(r.Uint64())
		}
		if !m.Diagonal() || want.Diagonal() || m.Dim() != d || m.Step() != want.Step() {
			t.Fatalf("%d features in steps of %v: want %v", m.Dim(), m.Step(), want.Step())
		}
		if !slices.Equal(m.Times(v), want.Times(v)) ||
			!slices.Equal(m.TimesIntegers(integers), want.TimesIntegers(integers)) {
			t.Fatal("products differ from those of the full matrix")
		}
		got, row, largest := make([]int64, d), make([]int64, d), int64(0)
		for j := range d {
			m.Row(got, j)
			want.Row(row, j)
			if !slices.Equal(got, row) || m.Entry(j) != row[j] || want.Entry(j) != row[j] {
				t.Fatalf("row %d is %v: want %v", j, got, row)
			}
			largest = max(largest, row[j], -row[j])
		}
		if m.Norm() != float64(largest) {
			t.Fatalf("norm %v: want %v", m.Norm(), largest)
		}
	}
}

// TestBlocksAreTheMatrix: a metric of blocks must have the same integers, step and products as the same matrix given in
// full, must travel, and its norm must be at least the length of every product with a vector of length 1.
func TestBlocksAreTheMatrix(t *testing.T) {
	r := rand.New(rand.NewPCG(44, 1))
	for range 300 {
		d := 1 + r.IntN(12)
		full, entries, whole := symmetric(r, d, 1), make([]float64, d), []int{}
		in := make([]bool, d)
		for j := range d {
			if in[j] = r.IntN(2) == 0; in[j] {
				whole = append(whole, j)
			}
		}
		var block []float64
		for j := range d {
			if entries[j] = r.NormFloat64(); !in[j] {
				full[j*d+j] = entries[j]
			}
			for k := range d {
				switch {
				case in[j] && in[k]:
					block = append(block, full[j*d+k])
				case j != k:
					full[j*d+k] = 0
				}
			}
		}
		m, err := NewBlocks(entries, whole, block)
		if err != nil {
			t.Fatal(err)
		}
		q, err := New(1, GradientInMetric(everyone, make([]float64, d), 1, 1, m))
		if err != nil {
			t.Fatal(err)
		}
		sent, err := DecodeQuestion(encoded(t, q))
		if err != nil {
			t.Fatal(err)
		}
		want := metricOf(t, d, full)
		v, integers := make([]float64, 3*d), make([]int64, 3*d)
		for j := range v {
			v[j], integers[j] = r.NormFloat64(), int64(r.Uint64())
		}
		for _, m := range []Metric{m, sent.First().Metric()} {
			if !m.Diagonal() || m.Dim() != d || m.Step() != want.Step() || m.Norm() > want.Norm() {
				t.Fatalf("%d features in steps of %v, norm %v: want %v and at most %v", m.Dim(), m.Step(), m.Norm(), want.Step(),
					want.Norm())
			}
			if !slices.Equal(m.Times(v), want.Times(v)) ||
				!slices.Equal(m.TimesIntegers(integers), want.TimesIntegers(integers)) {
				t.Fatal("products differ from those of the full matrix")
			}
			got, row := make([]int64, d), make([]int64, d)
			for j := range d {
				m.Row(got, j)
				want.Row(row, j)
				if !slices.Equal(got, row) || m.Entry(j) != row[j] {
					t.Fatalf("row %d is %v: want %v", j, got, row)
				}
			}
			u := v[:d]
			for range 30 { // towards the largest eigenvalue
				long := norm(u)
				for j := range u {
					u[j] /= long
				}
				if u = m.Times(u); norm(u) > m.Norm()*m.Step()*(1+1e-12) {
					t.Fatalf("a vector of length 1 has a product of length %v: the norm is %v", norm(u), m.Norm()*m.Step())
				}
			}
		}
	}
}

// TestBlocksRefuse: a block must have features of the table, in order, and an entry for each two of them, and a query
// about a block says of each feature whether it is in it.
func TestBlocksRefuse(t *testing.T) {
	for name, of := range map[string]struct {
		whole []int
		block []float64
		says  string
	}{
		"few entries":   {[]int{0, 1}, []float64{1}, "must have at most"},
		"out of order":  {[]int{1, 0}, make([]float64, 4), "increasing order"},
		"twice":         {[]int{1, 1}, make([]float64, 4), "increasing order"},
		"beyond":        {[]int{0, 3}, make([]float64, 4), "increasing order"},
		"below":         {[]int{-1}, make([]float64, 1), "increasing order"},
		"NaN":           {[]int{0}, []float64{math.NaN()}, "must be finite"},
		"huge":          {[]int{0}, []float64{0x1p41}, "must be between"},
		"not symmetric": {[]int{0, 1}, []float64{1, 2, 3, 4}, "must be equal"},
	} {
		if _, err := NewBlocks([]float64{1, 1, 1}, of.whole, of.block); err == nil || !strings.Contains(err.Error(), of.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	term := BlockMomentOf(everyone, make([]bool, 3))
	term.w[1] = .5
	if _, err := New(1, term); err == nil || !strings.Contains(err.Error(), "must be 0 or 1") {
		t.Errorf("half a feature in the block: %v", err)
	}
	many := make([]bool, MaxPairs+2)
	for j := range many {
		many[j] = j > 0
	}
	if _, err := New(1, BlockMomentOf(everyone, many)); err == nil || !strings.Contains(err.Error(), "at most 2000") {
		t.Errorf("a wide block: %v", err)
	}
	q, err := New(1, BlockMomentOf(everyone, many[:5]))
	if err != nil || q.Dim() != 5+6 || q.SumDim() != 5+6 || q.Name() != "squared features and pairs" {
		t.Errorf("%s has %d coordinates: %v", q.Name(), q.Dim(), err)
	}
}

// TestBlockOf: the answer to a query about a block of a symmetric matrix gives its entries.
func TestBlockOf(t *testing.T) {
	const r = math.Sqrt2
	got := BlockOf([]float64{1, 2, 3, 4, 5 * r, 6 * r, 7 * r}, 4, []int{0, 2, 3})
	if want := []float64{1, 5, 6, 5, 3, 7, 6, 7, 4}; !slices.EqualFunc(got, want, func(a, b float64) bool { return math.Abs(a-b) < 1e-12 }) {
		t.Errorf("%v: want %v", got, want)
	}
}

// TestForgedBlocks: no encoding of a metric of blocks decodes in which a feature is named twice, or is in the block and has
// an entry of its own beside it.
func TestForgedBlocks(t *testing.T) {
	for name, forge := range map[string]func(m *metric){
		"twice": func(m *metric) { m.whole[0] = 2 }, "beside": func(m *metric) { m.upper[2] = 1 },
		"larger":  func(m *metric) { m.inner.upper[1] = 1<<metricBits + 1 },
		"nothing": func(m *metric) { m.whole, m.inner = []int{}, &metric{step: m.step} },
	} {
		m, err := NewBlocks([]float64{1, 1, 1}, []int{0, 2}, []float64{1, .5, .5, 1})
		if err != nil {
			t.Fatal(err)
		}
		forge(m.m)
		q, err := New(1, GradientInMetric(everyone, make([]float64, 3), 1, 1, m))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := DecodeQuestion(encoded(t, q)); err == nil {
			t.Errorf("%s: decoded", name)
		}
	}
}

// TestDiagonalRefuses: entries must be finite, and the largest must be in the range in which integer
// sums cannot overflow. Weighted kinds must refuse a diagonal metric.
func TestDiagonalRefuses(t *testing.T) {
	for name, entries := range map[string][]float64{
		"none": nil, "NaN": {1, math.NaN()}, "infinite": {math.Inf(-1), 1}, "tiny": {0x1p-41, 0}, "huge": {1, 0x1p41},
	} {
		if _, err := NewDiagonal(entries); err == nil || !strings.Contains(err.Error(), "must be") {
			t.Errorf("%s: %v", name, err)
		}
	}
	m, err := NewDiagonal([]float64{1, 2})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New(1, WeightedGradientAt(everyone, at(1, 2), 1, 1, m)); err == nil ||
		!strings.Contains(err.Error(), "must not be diagonal") {
		t.Errorf("weighted gradient: %v", err)
	}
	if _, err := New(1, GradientInMetric(everyone, at(1, 2), 1, 1, m)); err != nil {
		t.Error(err)
	}
}

// TestManyFeaturesTravel: queries with a diagonal metric must be accepted and encoded for more features
// than MaxPairs, and the metric must take a few bytes for each feature.
func TestManyFeaturesTravel(t *testing.T) {
	const d = 5 * MaxPairs
	entries := make([]float64, d)
	for j := range entries {
		entries[j] = 1 + float64(j)/d
	}
	m, err := NewDiagonal(entries)
	if err != nil {
		t.Fatal(err)
	}
	for _, term := range []Term{SquaredFeaturesOf(everyone, d), GradientInMetric(everyone, make([]float64, d), 1, 1, m)} {
		q, err := New(1, term)
		if err != nil {
			t.Fatal(err)
		}
		b := encoded(t, q)
		got, err := DecodeQuestion(b)
		if err != nil || q.Dim() != d || got.Terms()[0].Metric().Norm() != term.Metric().Norm() {
			t.Errorf("%v: %v", term.Kind(), err)
		}
		if most := 8*d + 4*d + 100; len(b) > most {
			t.Errorf("%v: %d bytes: want at most %d", term.Kind(), len(b), most)
		}
	}
}
