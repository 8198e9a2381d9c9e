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
