package synthetic

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/stillpoint-dp/stillpoint/dataset"
)

const peopleYAML = `columns:
  age: {number: [0, 80], curve: 5}
  income: {number: [0, 100], curve: 4, missing: indicator}
  rooms: {number: [1, 9]}
  born: {date: [1950-01-01, 2000-01-01], curve: 3}
  region: {category: [north, east, south]}
  street: {hash: 4}
  note: ignore
  split: {public: [train, test]}
interactions: [[age, region]]
target: {column: rent, number: [0, 1]}
where: split=train
`

// people returns a schema with each kind of column, and the second moment of n rows under it whose columns depend on
// each other. weights are weights of its features.
func people(t testing.TB, n int) (s *dataset.Schema, moment, weights []float64) {
	t.Helper()
	s = new(dataset.Schema)
	if err := yaml.Unmarshal([]byte(peopleYAML), s); err != nil {
		t.Fatal(err)
	}
	names := []string{"age", "income", "rooms", "born", "region", "street", "note", "split"}
	m, err := s.BindUnlabelled(names)
	if err != nil {
		t.Fatal(err)
	}
	d := s.Dim()
	moment, weights = make([]float64, d*d), make([]float64, d)
	coin := rand.New(rand.NewPCG(1, 2))
	for j := range weights {
		weights[j] = coin.NormFloat64()
	}
	x := make([]float32, d)
	for range n {
		z := coin.NormFloat64()
		age := 40 + 15*z
		income := fmt.Sprintf("%.1f", 30+10*z+8*coin.NormFloat64())
		if coin.IntN(10) == 0 {
			income = ""
		}
		region := "north"
		if u := z + coin.NormFloat64(); u > 1 {
			region = "south"
		} else if u > 0 {
			region = "east"
		}
		m.Encode(x, []string{fmt.Sprintf("%.1f", age), income, fmt.Sprintf("%.2f", 4+z+coin.NormFloat64()),
			fmt.Sprintf("%d-05-01", min(max(1975-int(10*z), 1950), 1999)), region, fmt.Sprint("s", coin.IntN(5)), "", "train"})
		for j, v := range x {
			for k, u := range x {
				moment[j*d+k] += float64(v) * float64(u) / float64(n)
			}
		}
	}
	return s, moment, weights
}

func distance(a, b []float64) (sum float64) {
	for j, v := range a {
		sum += (v - b[j]) * (v - b[j])
	}
	return math.Sqrt(sum)
}

// TestPopulationHasTheMoment: the second moment of a synthetic table must be near the given one, far nearer than that
// of rows with equal masses, which already have each column's distribution. Noise in the moment must not make it fail. A
// Population whose columns are independent, or that leaves out a kind of column, misses the bounds.
func TestPopulationHasTheMoment(t *testing.T) {
	s, moment, weights := people(t, 20_000)
	d := s.Dim()
	coin := rand.New(rand.NewPCG(3, 4))
	noisy := append([]float64(nil), moment...)
	for j := range d {
		for k := range j + 1 {
			noisy[j*d+k] += 1e-3 * coin.NormFloat64()
			noisy[k*d+j] = noisy[j*d+k]
		}
	}
	for name, c := range map[string]struct {
		moment []float64
		most   float64
	}{"exact": {moment, .03}, "noisy": {noisy, .04}} {
		p, err := New(s, c.moment, weights, 5, 4000)
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.Moment(s)
		if err != nil {
			t.Fatal(err)
		}
		far := distance(got, moment)
		var mass float64
		for i := range p.Mass {
			mass += p.Mass[i]
			p.Mass[i] = 1 / float64(len(p.Mass))
		}
		equal, err := p.Moment(s)
		if err != nil {
			t.Fatal(err)
		}
		if before := distance(equal, moment); far > c.most || far > before/2 || before > .15 || !(math.Abs(mass-1) <= 1e-9) {
			t.Errorf("%s: distance %v, with equal masses %v, sum of masses %v", name, far, before, mass)
		}
		if name == "exact" && !(math.Abs(p.Error-far) <= .1*far) {
			t.Errorf("stated distance %v: is %v", p.Error, far)
		}
	}
}

// TestMomentIsTheSum compares Moment with a sum over the rows, for a number of rows and of features that fill no block.
func TestMomentIsTheSum(t *testing.T) {
	s, moment, weights := people(t, 500)
	p, err := New(s, moment, weights, 5, 2*block+7)
	if err != nil {
		t.Fatal(err)
	}
	d := s.Dim()
	want := make([]float64, d*d)
	if err := p.Features(s, func(_ int, x []float32, mass float64) {
		for j, v := range x {
			for k, u := range x {
				want[j*d+k] += mass * float64(v) * float64(u)
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
	got, err := p.Moment(s)
	if far := distance(got, want); err != nil || far > 1e-12 {
		t.Errorf("distance %v, %v", far, err)
	}
}

// TestBitsAreTheSame: the readings and masses of a synthetic table are known to the bit.
func TestBitsAreTheSame(t *testing.T) {
	s, moment, weights := people(t, 500)
	for j, v := range moment {
		moment[j] = math.Round(v*0x1p20) * 0x1p-20
	}
	p, err := New(s, moment, weights, 7, 1000)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.New()
	for _, list := range append(p.readings, p.Mass) {
		for _, v := range list {
			_ = binary.Write(sum, binary.LittleEndian, v)
		}
	}
	const want = "01f14f6ac6efc1ca"
	if got := fmt.Sprintf("%x", sum.Sum(nil)[:8]); got != want {
		t.Errorf("digest %s: want %s", got, want)
	}
	if _, err := New(s, moment[1:], weights, 7, 1000); err == nil {
		t.Error("a moment of another size is taken")
	}
	moment[0] = math.NaN()
	if _, err := New(s, moment, weights, 7, 1000); err == nil {
		t.Error("a moment that is not finite is taken")
	}
}

// TestAlgebra compares the quantile with the distribution function, and the other functions with their definitions.
func TestAlgebra(t *testing.T) {
	for _, q := range []float64{1e-4, .01, .02425, .3, .5, .8, .999} {
		x := quantile(q)
		if got := math.Erfc(-x/math.Sqrt2) / 2; !(math.Abs(got-q) <= 1e-8) {
			t.Errorf("quantile of %v is %v, where the distribution function is %v", q, x, got)
		}
	}
	coin := rand.New(rand.NewPCG(5, 6))
	for _, p := range []int{1, 2, 7, 20} {
		a := make([]float64, p*p)
		for i := range p {
			for j := range i + 1 {
				a[i*p+j] = coin.NormFloat64()
				a[j*p+i] = a[i*p+j]
			}
		}
		up := raised(a, p, .5)
		// A matrix is raised if it is at least .5, and raising it again to less changes nothing.
		if far := distance(up, raised(up, p, .4)); far > 1e-9 {
			t.Errorf("%d rows: raising twice moves by %v", p, far)
		}
		shifted := append([]float64(nil), up...)
		for i := range p {
			shifted[i*p+i] -= .5 - 1e-9
		}
		product := func(l []float64) []float64 {
			out := make([]float64, p*p)
			for i := range p {
				for j := range p {
					for k := range p {
						out[i*p+j] += l[i*p+k] * l[j*p+k]
					}
				}
			}
			return out
		}
		if far := distance(product(cholesky(shifted, p)), shifted); far > 1e-6 {
			t.Errorf("%d rows: below .5 by %v", p, far)
		}
		// The difference to a is positive semidefinite and orthogonal to the part of a above .5.
		var trace float64
		for i := range p {
			for j := range p {
				trace += (up[i*p+j] - a[i*p+j]) * (up[i*p+j] - map[bool]float64{true: .5}[i == j])
			}
		}
		if !(math.Abs(trace) <= 1e-9) {
			t.Errorf("%d rows: not the nearest matrix: %v", p, trace)
		}
		corr := positive(a, p)
		for i := range p {
			if !(math.Abs(corr[i*p+i]-1) <= 1e-12) {
				t.Errorf("%d rows: diagonal %v", p, corr[i*p+i])
			}
		}
	}
}

func BenchmarkNew(b *testing.B) {
	s, moment, weights := people(b, 2000)
	for b.Loop() {
		if _, err := New(s, moment, weights, 1, Rows); err != nil {
			b.Fatal(err)
		}
	}
}
