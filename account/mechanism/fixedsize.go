package mechanism

import (
	"fmt"
	"math"
	"sort"

	"github.com/stillpoint-dp/stillpoint/internal/vector"
)

// fixedSample is a Gaussian mechanism on a sample of fixed size, for a group of records that change
// together. Each entry of parts stands for one number j >= 1 of group members in the sample. The
// entry's weight is the probability of j, given that the sample contains any member. Its mean is
// the largest distance by which j members move the sum, divided by sigma.
type fixedSample struct {
	multiplier     float64
	records, batch int
	group          int
	// sampling is the probability that the sample contains a member of the group.
	sampling float64
	parts    []component
}

// NewFixedSizeGaussian returns the Gaussian mechanism on a uniformly random, secret sample of batch of the records,
// drawn without replacement, under replace-one. The number of records is public. The noise has standard deviation
// sigma, which is multiplier times the largest norm C of one record's contribution, as for [NewSampledGaussian].
// Exchanging one sampled record for another moves the sum by at most 2C. multiplier must be in [0.02, 1e7], records in
// [1, 2^40] and batch in [1, records].
//
// Source: Balle, Barthe & Gaboardi 2018 (theorem 11: without replacement, substitution); Zhu, Dong
// & Wang 2022 for the dominating pair.
//
// Let q = batch/records, let G(v) be the hockey stick of N(2C, sigma^2) against N(0, sigma^2), and
// let v = 1 + (u-1)/q. The hockey-stick curve that is composed is
//
//	H(u) = q G(v) for u >= 1,   H(u) = 1 - u + u H(1/u) for u < 1.
//
// Proof that H dominates, for a group of one record. Let M0 be the output on a sample without the record. Let M1 and
// M1' be the outputs on a sample with the record, before and after its exchange. Take a sample that contains the
// record, and replace the record by a random other record. The result has the law of a sample without the record. The
// rest of the sample has the same law in both cases. Given the rest and the other record, M0, M1 and M1' are Gaussian
// with means at most 2C apart. The hockey stick is jointly convex. So it is enough to fix the rest and the other
// record, and to bound the hockey stick of P = (1-q) M0 + q M1 against Q = (1-q) M0 + q M1'. For u >= 1 advanced joint
// convexity gives
//
//	H(u) = q H_v(M1 | (1-b) M0 + b M1') <= q ((1-b) H_v(M1|M0) + b H_v(M1|M1')),
//
// with b = u/v. Both hockey sticks on the right are at most G(v). For u < 1, H(u; P, Q) = 1 - u + u H(1/u; Q, P), and
// the same bound holds for (Q, P). H is convex, because the slopes at 1 differ by (1-q)(1 - 2 Phi(-C/sigma)) >= 0. So
// there is a pair of distributions with this curve, and this pair composes (Zhu, Dong & Wang 2022, theorem 10).
//
// The bound is attained at each u >= 1 by a table whose other records contribute -C and whose
// record changes from -C to C, and at each u < 1 by the reverse change. No single table attains the
// bound on both sides of u = 1, so a composition may cost less than the lower end of its bracket.
func NewFixedSizeGaussian(multiplier float64, records, batch int) (Mechanism, error) {
	return newFixedSample(multiplier, records, batch, 1)
}

// newFixedSample returns the mechanism of [NewFixedSizeGaussian] for groups of k records that change together. C is the
// largest norm of one record's contribution. The sample holds J members of the group, where J is hypergeometric. Fix an
// ordered sample of the other records and an order of the group. Let M_j be the noisy output if the first j records of
// that sample are exchanged for the first j members, and M_0 the output of the sample itself. All distances between
// means are at most 2 j C. With q = P(J > 0), the steps of the proof at NewFixedSizeGaussian bound
//
//	H(u) <= sum over j >= 1 of P(J = j) G_j(1 + (u-1)/q),   G_j the hockey stick for distance 2 j C,
//
// This is a mean of curves of NewFixedSizeGaussian with the same q. The proof needs at least batch records outside the
// group. If there are fewer, the result is the Gaussian mechanism without sampling, for the largest possible J.
func newFixedSample(multiplier float64, records, batch, k int) (Mechanism, error) {
	if err := positive("noise multiplier", multiplier); err != nil {
		return nil, err
	}
	if records < 1 || records > fixedMost {
		return nil, fmt.Errorf("account: records = %d: must be within [1, 2^40]", records)
	}
	if batch < 1 || batch > records {
		return nil, fmt.Errorf("account: batch = %d: must be within [1, records], and there are %d", batch, records)
	}
	if k > records {
		return nil, fmt.Errorf("account: group = %d: must be at most the number of records, %d", k, records)
	}
	if records-k < batch {
		return boundGaussian{gaussianMechanism{multiplier, 2 * float64(min(k, batch))}, ReplaceOne}, nil
	}
	m := fixedSample{multiplier: multiplier, records: records, batch: batch, group: k}
	most := min(k, batch)
	weights := vector.Make(most, func(j int) float64 { return hypergeometric(records, batch, k, j+1) })
	means := vector.Make(most, func(j int) float64 { return 2 * float64(j+1) / multiplier })
	m.sampling = vector.Total(weights)
	vector.Divide(weights, m.sampling)
	weights, means = towardsLargest(weights, means)
	for j, w := range weights {
		m.parts = append(m.parts, component{w, means[j]})
	}
	// H increases with q, so rounding q up is safe.
	m.sampling = min(1, m.sampling*(1+0x1p-44))
	return m, nil
}

// fixedMost is the largest number of records for a sample of fixed size. It keeps numbers of records
// exact in float64 and their products finite.
const fixedMost = 1 << 40

// hypergeometric returns the probability that a uniformly random sample of batch out of records
// records contains exactly j of k given records, for k <= groupMost. It is a product of at most 2k
// factors. Its relative error is therefore at most 2^-45.
func hypergeometric(records, batch, k, j int) float64 {
	p := 1.0
	for i := range k {
		n := float64(records - i)
		if i < j { // choose(k, j) is the product of (k-i)/(i+1)
			p *= float64(batch-i) / n * float64(k-i) / float64(i+1)
		} else {
			p *= float64(records-batch-(i-j)) / n
		}
	}
	return max(p, 0)
}

func (m fixedSample) String() string {
	s := fmt.Sprintf("fixed-size gaussian(noise multiplier %v, %d of %d records", m.multiplier, m.batch, m.records)
	if m.group > 1 {
		s += fmt.Sprintf(", groups of %d", m.group)
	}
	return s + ")"
}

func (m fixedSample) laws() []lossLaw {
	var l foldedLaw
	q := m.sampling
	for _, p := range m.parts {
		l = append(l, folded{
			weight: p.weight, mean: p.mean, sampling: q,
			up:   newMixtureLaw([]component{{1 - q, 0}, {q, p.mean}}, []component{{1, 0}}),
			down: newMixtureLaw([]component{{1, 0}}, []component{{1 - q, 0}, {q, -p.mean}}),
		})
	}
	return []lossLaw{l}
}
func (fixedSample) relation() Relation { return ReplaceOne }

func (m fixedSample) renyi(float64) (float64, error) {
	return 0, fmt.Errorf("%v: no Renyi bound; use Compose", m)
}

func (m fixedSample) grouped(k int) (Mechanism, error) {
	return newFixedSample(m.multiplier, m.records, m.batch, k*m.group)
}

// folded is a law of the privacy loss made of two laws: up, and its mirror image down. Its
// hockey-stick curve H(u) is the curve of up for u >= 1 and the curve of down for u < 1. The law
// consists of the part of up with losses above 0, the part of down with losses below 0, and the
// remaining mass at the loss 0. For the output x, the loss of up is 0 at x = mean/2, and the loss
// of down is 0 at x = -mean/2. The mass at 0 is therefore (1-sampling)(Phi(mean/2) - Phi(-mean/2)).
type folded struct {
	weight, mean, sampling float64
	up, down               mixtureLaw
}

func (f folded) middle() float64 { return (1 - f.sampling) * math.Erf(f.mean/(2*math.Sqrt2)) }

// foldedLaw is a mixture of folded laws. Their weights sum to 1.
type foldedLaw []folded

func (l foldedLaw) span(below, above float64) (lo, hi float64) {
	for _, f := range l {
		a, _ := f.down.span(below, above)
		_, b := f.up.span(below, above)
		lo, hi = min(lo, a), max(hi, b)
	}
	return lo, hi
}

func (foldedLaw) largest() float64 { return math.Inf(1) }

// anchor returns 0, so that the loss 0, where the hockey-stick curve has a kink, is one of the grid
// points (the lattice) at which the law is discretised.
func (foldedLaw) anchor(float64) float64 { return 0 }
func (foldedLaw) period() float64        { return 0 }

func (l foldedLaw) slabs(e *effort, dst []lossInterval, on lattice, below, above float64) error {
	zero := -on.first // on.on(zero) is 0
	if on.offset != 0 || zero < 0 || zero >= len(dst) {
		return fmt.Errorf("account: lattice from loss %v on: must contain 0", on.on(0))
	}
	clear(dst)
	part := make([]lossInterval, len(dst))
	for _, f := range l {
		clear(part)
		lo, _ := f.down.reach(below, above)
		if err := f.down.stretch(e, part[:zero], on, lo, -f.mean/2); err != nil {
			return err
		}
		_, hi := f.up.reach(below, above)
		from := lattice{0, on.width, 0}
		if err := f.up.stretch(e, part[zero:], from, f.mean/2, hi); err != nil {
			return err
		}
		part[zero].mass += f.middle()
		for k, s := range part {
			d := &dst[k]
			d.mass += f.weight * s.mass
			d.excess += f.weight * s.excess
			d.err += f.weight * (s.err + 0x1p-50*s.excess)
			d.shift = max(d.shift, s.shift)
		}
	}
	return nil
}

func (l foldedLaw) labour(slabs, below, above float64) float64 {
	return vector.Sum(l, func(f folded) float64 {
		return f.down.labour(slabs, below, above) + f.up.labour(slabs, below, above) + 4*slabs
	})
}

// sketch returns a rough copy of the law, for planning. The outputs x below -mean/2 have losses below 0, and the
// outputs above mean/2 have losses above 0. The sketch divides each of these two ranges into 500 intervals and puts an
// atom at the loss of each midpoint. The masses of a range are scaled to their exact sum, because an error of the sum
// is multiplied by the number of uses of the law.
func (l foldedLaw) sketch(e *effort, tail float64) ([]sketchAtom, error) {
	const n = 500
	if err := e.spend(8 * n * float64(len(l))); err != nil {
		return nil, err
	}
	var out []sketchAtom
	var middle float64
	for _, f := range l {
		half := func(of mixtureLaw, lo, hi, mass float64) {
			step, from := (hi-lo)/n, len(out)
			var sum float64
			for k := range n {
				x := lo + (float64(k)+.5)*step
				loss, _ := of.loss(x)
				r, _ := logRatio(of.p, x)
				e := math.Exp(r - x*x/2)
				if e > 0 {
					out = append(out, sketchAtom{loss, e})
					sum += e
				}
			}
			for i := range out[from:] {
				out[from+i].mass *= f.weight * mass / sum
			}
		}
		low := math.Erfc(f.mean/(2*math.Sqrt2)) / 2
		lo, _ := f.down.reach(tail, tail)
		_, hi := f.up.reach(tail, tail)
		half(f.down, lo, -f.mean/2, low)
		half(f.up, f.mean/2, hi, (1-f.sampling)*low+f.sampling*(1-low))
		middle += f.weight * f.middle()
	}
	out = append(out, sketchAtom{0, middle})
	sort.Slice(out, func(i, j int) bool { return out[i].loss < out[j].loss })
	return out, nil
}
