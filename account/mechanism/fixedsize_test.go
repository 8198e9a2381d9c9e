package mechanism

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// The tests below use a slow second implementation of samples: it enumerates every sample and sums
// the hockey stick over a fine grid of outputs, from the definition.

// point is an output or a record, of one or two coordinates.
type point [2]float64

// outcome is the sum of the records of one possible sample, which is a mean of the Gaussian output,
// with the sample's probability.
type outcome struct {
	probability float64
	mean        point
}

// fixedOutcomes returns the sums of all samples of batch records, with their probabilities.
func fixedOutcomes(records []point, batch int) []outcome {
	var out []outcome
	for set := range 1 << len(records) {
		var o outcome
		var size int
		for i, r := range records {
			if set>>i&1 == 1 {
				size++
				o.mean[0] += r[0]
				o.mean[1] += r[1]
			}
		}
		if size == batch {
			out = append(out, o)
		}
	}
	for i := range out {
		out[i].probability = 1 / float64(len(out))
	}
	return out
}

// coinOutcomes returns the sums of all Poisson samples, with their probabilities.
func coinOutcomes(records []point, q float64) []outcome {
	var out []outcome
	for set := range 1 << len(records) {
		o := outcome{probability: 1}
		for i, r := range records {
			if set>>i&1 == 1 {
				o.probability *= q
				o.mean[0] += r[0]
				o.mean[1] += r[1]
			} else {
				o.probability *= 1 - q
			}
		}
		out = append(out, o)
	}
	return out
}

func lineDensity(outcomes []outcome, z, x float64) float64 {
	var sum float64
	for _, o := range outcomes {
		d := (x - o.mean[0]) / z
		sum += o.probability * math.Exp(-d*d/2)
	}
	return sum / (z * math.Sqrt(2*math.Pi))
}

// lineHockey returns the hockey stick at u of two mixtures of Gaussians with standard deviation z,
// whose means are the outcomes p and q on a line.
func lineHockey(p, q []outcome, z, u float64) float64 {
	const n = 6000
	lo, hi := -9*z-10, 9*z+10
	step := (hi - lo) / n
	var sum float64
	for k := range n {
		x := lo + (float64(k)+.5)*step
		sum += max(0, lineDensity(p, z, x)-u*lineDensity(q, z, x))
	}
	return sum * step
}

// planeHockey returns the hockey stick at u of two mixtures of Gaussians with standard deviation z
// whose means are the outcomes p and q in a plane. It uses a sum over a grid of points. The density
// at a grid point is a product of one factor for each axis, which is computed beforehand.
func planeHockey(p, q []outcome, z, u float64) float64 {
	const n = 160
	lo, hi := -6*z-4, 6*z+4
	step := (hi - lo) / n
	axes := func(outcomes []outcome) (a [2][][]float64) {
		for c := range 2 {
			for _, o := range outcomes {
				line := make([]float64, n)
				for k := range n {
					d := (lo + (float64(k)+.5)*step - o.mean[c]) / z
					line[k] = math.Exp(-d * d / 2)
				}
				a[c] = append(a[c], line)
			}
		}
		return a
	}
	ap, aq := axes(p), axes(q)
	var sum float64
	for i := range n {
		for j := range n {
			var x float64
			for k, o := range p {
				x += o.probability * ap[0][k][i] * ap[1][k][j]
			}
			for k, o := range q {
				x -= u * o.probability * aq[0][k][i] * aq[1][k][j]
			}
			sum += max(0, x)
		}
	}
	return sum * step * step / (2 * math.Pi * z * z)
}

// ball returns a random record in the unit ball, more often on its surface.
func ball(r *rand.Rand, plane bool) point {
	length := 1.0
	if r.IntN(3) == 0 {
		length = r.Float64()
	}
	if !plane {
		return point{length * float64(2*r.IntN(2)-1)}
	}
	a := 2 * math.Pi * r.Float64()
	return point{length * math.Cos(a), length * math.Sin(a)}
}

// exchanged returns random neighbouring tables that differ in the first k rows.
func exchanged(r *rand.Rand, n, k int, plane bool) (before, after []point) {
	for i := range n {
		x := ball(r, plane)
		before, after = append(before, x), append(after, x)
		if i < k {
			after[i] = ball(r, plane)
		}
	}
	return before, after
}

// checkAbove fails the test unless the upper end of delta is at least the hockey stick of p and q,
// in either order.
func checkAbove(t *testing.T, m Mechanism, epsilon float64, hockey func(p, q []outcome, z, u float64) float64, p,
	q []outcome, z, tolerance float64) {
	t.Helper()
	b, err := compose(t, 1e-3, Composed{m, 1}).Delta(t.Context(), epsilon)
	if err != nil {
		t.Fatal(err)
	}
	found := max(hockey(p, q, z, math.Exp(epsilon)), hockey(q, p, z, math.Exp(epsilon)))
	if found > b.Upper*(1+tolerance)+tolerance {
		t.Errorf("%v, epsilon %v: delta %v of\n%v\n%v\nis above %v", m, epsilon, found, p, q, b)
	}
}

// TestFixedSizeAboveEveryTable tests that no table of a few records, on a line or in a plane, has a
// larger delta than the computed bound, for one record and for groups, for u below and above 1 (both
// orders).
func TestFixedSizeAboveEveryTable(t *testing.T) {
	r := rand.New(rand.NewPCG(51, 1))
	for i := range trials(60) {
		n := 3 + r.IntN(4)
		batch := 1 + r.IntN(n)
		k := 1 + r.IntN(min(3, n))
		z := logUniform(r, .6, 3)
		m, err := NewFixedSizeGaussian(z, n, batch)
		if m = mustMechanism(t, m, err); k > 1 {
			m, err = Group(m, k)
			m = mustMechanism(t, m, err)
		}
		plane := i%6 == 0
		hockey, tolerance := lineHockey, 1e-5
		if plane {
			hockey, tolerance = planeHockey, 2e-4
		}
		before, after := exchanged(r, n, k, plane)
		checkAbove(t, m, r.Float64()*2, hockey, fixedOutcomes(before, batch), fixedOutcomes(after, batch), z, tolerance)
	}
}

// TestFixedSizeIsAttained tests that the bound is attained if all other records and the old record
// contribute -1 and the new record contributes 1.
func TestFixedSizeIsAttained(t *testing.T) {
	for _, c := range []struct {
		n, batch   int
		z, epsilon float64
	}{{5, 2, 1, .5}, {6, 5, 2, .1}, {7, 1, .8, 1}, {4, 4, 3, 0}} {
		m, err := NewFixedSizeGaussian(c.z, c.n, c.batch)
		m = mustMechanism(t, m, err)
		before := make([]point, c.n)
		for i := range before {
			before[i][0] = -1
		}
		after := append([]point(nil), before...)
		after[0][0] = 1
		want := lineHockey(fixedOutcomes(after, c.batch), fixedOutcomes(before, c.batch), c.z, math.Exp(c.epsilon))
		b, err := compose(t, 1e-4, Composed{m, 1}).Delta(t.Context(), c.epsilon)
		if err != nil {
			t.Fatal(err)
		}
		checkBracket(t, m.String(), b, want, 1e-5)
		if b.width() > 1e-3 {
			t.Errorf("%v: width %v", m, b.width())
		}
	}
}

// refFolded returns the hockey-stick curve at u of a fixed-size sample for a group of one record.
// It follows the formula at NewFixedSizeGaussian, with the closed form of the Gaussian mechanism's
// curve.
func refFolded(mu, q, u float64) float64 {
	if u < 1 {
		return 1 - u + u*refFolded(mu, q, 1/u)
	}
	epsilon := math.Log1p((u - 1) / q)
	return q * (refNormal(mu/2-epsilon/mu) - math.Exp(epsilon)*refNormal(-mu/2-epsilon/mu))
}

// refFoldedTwo composes the curves of two fixed-size samples by the definition. The result is the
// expectation of the second curve over the first loss L, with P(L > l) = H - u H' at u = e^l,
// computed as a Stieltjes sum.
func refFoldedTwo(mu1, q1, mu2, q2, epsilon float64) float64 {
	above := func(l float64) float64 { // P(L > l) from a secant of H
		u, h := math.Exp(l), 1e-5
		slope := (refFolded(mu1, q1, u*(1+h)) - refFolded(mu1, q1, u*(1-h))) / (2 * h)
		return refFolded(mu1, q1, u) - slope
	}
	const n = 20000
	lo, hi := -9*mu1-mu1*mu1, 9*mu1+mu1*mu1
	step := (hi - lo) / n
	sum := refFolded(mu2, q2, math.Exp(epsilon-lo)) * (1 - above(lo))
	for k := range n {
		l := lo + float64(k)*step
		sum += (above(l) - above(l+step)) * refFolded(mu2, q2, math.Exp(epsilon-l-step/2))
	}
	return sum
}

// TestTwoFixedSamples compares the composition of two different fixed-size samples with the
// reference. The composition uses the curves for u < 1 and u > 1 and the atom at u = 1.
func TestTwoFixedSamples(t *testing.T) {
	for _, c := range [][5]float64{{2, .4, 1, .2, .3}, {1, .05, 1.5, .5, .1}, {3, .01, 2, .02, .05}, {2, .9, 2, .5, 1}} {
		z1, q1, z2, q2, epsilon := c[0], c[1], c[2], c[3], c[4]
		one, err := NewFixedSizeGaussian(z1, 100, int(math.Round(100*q1)))
		one = mustMechanism(t, one, err)
		two, err := NewFixedSizeGaussian(z2, 100, int(math.Round(100*q2)))
		two = mustMechanism(t, two, err)
		b, err := compose(t, 1e-3, Composed{one, 1}, Composed{two, 1}).Delta(t.Context(), epsilon)
		if err != nil {
			t.Fatal(err)
		}
		checkBracket(t, fmt.Sprint(c), b, refFoldedTwo(2/z1, q1, 2/z2, q2, epsilon), 1e-3)
		if b.width() > 2e-3 {
			t.Errorf("%v: width %v", c, b.width())
		}
	}
}

// TestFoldedLawIsComplete tests that both P and Q of a folded law sum to 1, also for groups.
func TestFoldedLawIsComplete(t *testing.T) {
	r := rand.New(rand.NewPCG(51, 2))
	for range trials(40) {
		n := logUniformInt(r, 2, 100000)
		batch := 1 + r.IntN(n)
		k := 1 + r.IntN(min(n, 9))
		m, err := newFixedSample(float64(k)*logUniform(r, 1.5, 30), n, batch, k)
		m = mustMechanism(t, m, err)
		f, folded := m.(fixedSample)
		if !folded {
			continue // J is released
		}
		l := f.laws()[0]
		g, err := discretise(newEffort(t.Context(), effortMost), l, .02, 1e-30, 1e-30)
		if err != nil {
			t.Fatal(err)
		}
		var p, q float64
		for i, x := range g.upper.mass {
			p += x
			q += x * math.Exp(-g.upper.on(i))
		}
		if !(math.Abs(p-1) <= 1e-9) || !(math.Abs(q-1) <= 1e-9) {
			t.Errorf("%v: P %v, Q %v", m, p, q)
		}
	}
}

// TestReplacedGroupOnCoins tests groups of exchanged records in Poisson samples: no table may have
// a larger delta than the bound, and one table must attain it.
func TestReplacedGroupOnCoins(t *testing.T) {
	r := rand.New(rand.NewPCG(51, 3))
	for i := range trials(30) {
		k, z, q := 2+r.IntN(3), logUniform(r, .6, 3), .05+.9*r.Float64()
		m, err := Group(sampled(t, z, q, ReplaceOne), k)
		m = mustMechanism(t, m, err)
		plane := i%6 == 0
		hockey, tolerance := lineHockey, 1e-5
		if plane {
			hockey, tolerance = planeHockey, 2e-4
		}
		before, after := exchanged(r, k, k, plane)
		checkAbove(t, m, 2*r.Float64(), hockey, coinOutcomes(before, q), coinOutcomes(after, q), z, tolerance)
	}
	for _, k := range []int{2, 4} {
		m, err := Group(sampled(t, 1.5, .3, ReplaceOne), k)
		m = mustMechanism(t, m, err)
		low, high := make([]point, k), make([]point, k)
		for i := range k {
			low[i][0], high[i][0] = -1, 1
		}
		want := lineHockey(coinOutcomes(high, .3), coinOutcomes(low, .3), 1.5, math.Exp(.7))
		b, err := compose(t, 1e-4, Composed{m, 1}).Delta(t.Context(), .7)
		if err != nil {
			t.Fatal(err)
		}
		checkBracket(t, m.String(), b, want, 1e-5)
	}
}

func TestFixedSizeLimits(t *testing.T) {
	// A sample of all records is the Gaussian mechanism of sensitivity 2C, and for a group of k
	// records of sensitivity 2kC.
	m, err := NewFixedSizeGaussian(4, 50, 50)
	if m = mustMechanism(t, m, err); m != (boundGaussian{gaussianMechanism{4, 2}, ReplaceOne}) {
		t.Errorf("%v", m)
	}
	// If there are fewer other records than the sample has, the bound is the Gaussian mechanism
	// for the largest possible number of group members in the sample, here batch = 3.
	m, err = newFixedSample(4, 10, 3, 8)
	if m = mustMechanism(t, m, err); m != (boundGaussian{gaussianMechanism{4, 6}, ReplaceOne}) {
		t.Errorf("%v", m)
	}
	// A group of groups must be a group.
	one, err := NewFixedSizeGaussian(2, 1000, 30)
	one = mustMechanism(t, one, err)
	six, _ := Group(one, 6)
	two, _ := Group(one, 2)
	again, err := Group(two, 3)
	if err != nil || again.String() != six.String() {
		t.Errorf("%v, %v; want %v", again, err, six)
	}
	var sum float64
	for j := range 8 {
		sum += hypergeometric(1000, 30, 7, j)
	}
	if !(math.Abs(sum-1) <= 1e-13) {
		t.Errorf("hypergeometric probabilities sum to %v", sum)
	}
	for _, c := range []struct {
		z        float64
		n, batch int
		want     string
	}{
		{0, 10, 1, "noise multiplier = 0: must be"}, {math.NaN(), 10, 1, "noise multiplier = NaN"},
		{1, 0, 1, "records = 0: must be within"}, {1, 1<<40 + 1, 1, "records = 1099511627777: must be"},
		{1, 10, 0, "batch = 0: must be within"}, {1, 10, 11, "batch = 11: must be within"},
	} {
		_, err := NewFixedSizeGaussian(c.z, c.n, c.batch)
		wantError(t, err, c.want)
	}
	_, err = Group(mustMechanism(t, one, nil), 1001)
	wantError(t, err, "group = 1001")
	small, err := NewFixedSizeGaussian(2, 3, 1)
	_, err = Group(mustMechanism(t, small, err), 4)
	wantError(t, err, "group = 4: must be at most the number of records, 3")
}

// TestGroupInAFixedSample compares the law with exact probabilities: j of k given records are in a
// sample of m of n with probability choose(k, j) choose(n-k, m-j)/choose(n, m), and their exchange
// then moves the sum by 2jC.
func TestGroupInAFixedSample(t *testing.T) {
	choose := func(n, k int) *big.Int { return new(big.Int).Binomial(int64(n), int64(k)) }
	for _, c := range []struct{ n, m, k int }{{50, 10, 3}, {20, 8, 2}, {1000, 30, 5}} {
		const z = 1.5
		law, err := newFixedSample(z, c.n, c.m, c.k)
		if err != nil {
			t.Fatal(err)
		}
		f := law.(fixedSample)
		var any float64
		for j := 1; j <= c.k; j++ {
			ways := new(big.Int).Mul(choose(c.k, j), choose(c.n-c.k, c.m-j))
			p, _ := new(big.Rat).SetFrac(ways, choose(c.n, c.m)).Float64()
			any += p
			if got := f.parts[j-1]; !(math.Abs(got.weight*f.sampling-p) <= 1e-9*p) || !(math.Abs(got.mean-2*float64(j)/z) <= 1e-12) {
				t.Errorf("%+v: %d of the group: %v, of a sampling %v: want the probability %v and the distance %v", c, j, got,
					f.sampling, p, 2*float64(j)/z)
			}
		}
		if !(math.Abs(f.sampling-any) <= 1e-9) || len(f.parts) != c.k {
			t.Errorf("%+v: any of the group with probability %v, in %d parts: want %v, %d", c, f.sampling, len(f.parts), any,
				c.k)
		}
	}
}

// TestWorkOfAFoldedLaw tests that the work of a folded law is that of its two laws and of the mass at the loss 0, for each of its
// parts, also where more is cut off below than above.
func TestWorkOfAFoldedLaw(t *testing.T) {
	m, err := newFixedSample(4, 10, 3, 2)
	if err != nil {
		t.Fatal(err)
	}
	law := m.laws()[0].(foldedLaw)
	for _, c := range [][2]float64{{1e-9, 1e-9}, {1e-3, 1e-12}, {1e-12, 1e-3}} {
		const slabs = 100.
		want := 0.
		for _, f := range law {
			for _, part := range []mixtureLaw{f.up, f.down} {
				want += part.labour(slabs, c[0], c[1])
			}
			want += 4 * slabs
		}
		if got := law.labour(slabs, c[0], c[1]); len(law) < 2 || !(math.Abs(got/want-1) <= 1e-12) {
			t.Errorf("%v cut off: %v for %d parts: must be %v", c, got, len(law), want)
		}
		for _, p := range []mixtureLaw{law[0].up, law[0].down} { // by hand: each output up to where the rest has the mass cut off
			lo, hi := math.Inf(1), math.Inf(-1)
			for _, b := range p.p {
				lo = min(lo, b.mean-math.Sqrt(2*math.Log(b.weight*float64(len(p.p))/2/c[0])))
				hi = max(hi, b.mean+math.Sqrt(2*math.Log(b.weight*float64(len(p.p))/2/c[1])))
			}
			pieces := slabs + 4*(hi-lo)*(max(-lo, hi)+p.steepest()+3)
			if got, want := p.labour(slabs, c[0], c[1]), float64(len(p.p)+len(p.q))*(4*slabs+float64(len(legendreNodes))*pieces); !(math.Abs(got/want-1) <= 1e-12) {
				t.Errorf("%v cut off: %v for %+v: must be %v", c, got, p, want)
			}
		}
	}
}
