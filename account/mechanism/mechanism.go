package mechanism

import (
	"fmt"
	"math"
	"strconv"

	"github.com/stillpoint-dp/stillpoint/internal/vector"
)

// Mechanism describes the privacy of one release in the worst case. It is an immutable value made by the constructors
// of this package. It is represented by a dominating pair of distributions (Zhu, Dong & Wang 2022): a guarantee that
// holds for this pair holds for the outputs on any two neighbouring tables, and composes adaptively.
type Mechanism interface {
	fmt.Stringer
	// laws returns the laws of the privacy loss ln(P/Q) in the two directions, which are the two
	// orders of neighbouring tables. Under add-or-remove the first direction is the removal of a
	// record, where P is the output with the record. The second direction is the addition of a
	// record. It returns one law if the two are equal, because the dominating pair is symmetric.
	laws() []lossLaw
	// relation returns the neighbouring relation for which the mechanism was made. It is the zero
	// Relation if the mechanism holds for any relation; its noise multiplier is then relative to the
	// sensitivity under the relation in use.
	relation() Relation
	// renyi returns the Renyi divergence of the given order > 1, rounded up: the larger of the
	// divergences for the two orders of neighbouring tables. It is an error if no bound is known.
	renyi(order float64) (float64, error)
}

type gaussianMechanism struct{ multiplier, sensitivity float64 }

// NewGaussian returns the Gaussian mechanism with the given noise multiplier: the noise's standard deviation divided by
// the sensitivity under the relation in use. The multiplier must be finite and > 0.
func NewGaussian(multiplier float64) (Mechanism, error) {
	if !(multiplier > 0) || math.IsInf(multiplier, 0) {
		return nil, fmt.Errorf("account: noise multiplier = %v: must be finite and > 0", multiplier)
	}
	return gaussianMechanism{multiplier, 1}, nil
}

// mu returns the mechanism's parameter in Gaussian DP.
func (m gaussianMechanism) mu() float64 { return m.sensitivity / m.multiplier }

func (m gaussianMechanism) String() string {
	return fmt.Sprintf("gaussian(noise multiplier %v)", m.multiplier/m.sensitivity)
}
func (m gaussianMechanism) laws() []lossLaw  { return []lossLaw{gaussianLaw(m.mu())} }
func (gaussianMechanism) relation() Relation { return 0 }

func gaussianLaw(mu float64) lossLaw { return newMixtureLaw([]component{{1, mu}}, []component{{1, 0}}) }

type sampledGaussian struct {
	multiplier, sampling float64
	under                Relation
}

// NewSampledGaussian returns the Gaussian mechanism on a Poisson sample: each record takes part
// with probability sampling in (0, 1], by its own secret random bits. The noise has standard
// deviation multiplier times C, the largest norm of one record's contribution, under both
// relations. Replacing a record that is always sampled moves the sum by at most 2C. With sampling =
// 1 under replace-one, the result is therefore the Gaussian mechanism of half the multiplier.
//
// With q = sampling and s = multiplier, the dominating pairs are as follows. Add-or-remove: (1-q)
// N(0, s^2) + q N(1, s^2) against N(0, s^2), in both orders. Replace-one: (1-q) N(0, s^2) + q N(1,
// s^2) against (1-q) N(0, s^2) + q N(-1, s^2) (Zhu, Dong & Wang 2022; Lebeda, Regehr, Kamath &
// Steinke 2024). multiplier must be in [0.02, 1e7] and sampling in [1e-200, 1].
func NewSampledGaussian(multiplier, sampling float64, r Relation) (Mechanism, error) {
	if err := positive("noise multiplier", multiplier); err != nil {
		return nil, err
	}
	if !(sampling > 0 && sampling <= 1) {
		return nil, fmt.Errorf("account: sampling = %v: must be > 0 and <= 1", sampling)
	}
	if sampling < weightLeast {
		return nil, fmt.Errorf("account: sampling = %v: must be at least %v", sampling, weightLeast)
	}
	if !r.Valid() {
		return nil, fmt.Errorf("account: relation = %v: must be replace-one or add-or-remove", r)
	}
	if sampling == 1 {
		sensitivity := 1.0
		if r == ReplaceOne {
			sensitivity = 2
		}
		return boundGaussian{gaussianMechanism{multiplier, sensitivity}, r}, nil
	}
	return sampledGaussian{multiplier, sampling, r}, nil
}

// boundGaussian is a Gaussian mechanism that was made for one neighbouring relation.
type boundGaussian struct {
	gaussianMechanism
	under Relation
}

func (m boundGaussian) relation() Relation { return m.under }

func (m sampledGaussian) String() string {
	return fmt.Sprintf("sampled gaussian(noise multiplier %v, sampling %v, %v)", m.multiplier, m.sampling, m.under)
}

func (m sampledGaussian) laws() []lossLaw {
	return mixtureLaws(m.multiplier, []float64{1 - m.sampling, m.sampling}, []float64{0, 1}, m.under)
}
func (m sampledGaussian) relation() Relation { return m.under }

// gaussianMixture is a Gaussian mechanism whose sensitivity is offsets[i] with probability weights[i]. Under replace-one
// it is offsets[i] before an exchange and -offsets[i] after it (see newReplacedMixture).
type gaussianMixture struct {
	multiplier       float64
	weights, offsets []float64
	under            Relation
}

// newGaussianMixture returns a Gaussian mechanism under add-or-remove whose sensitivity is random and secret. The
// sensitivity is offsets[i] >= 0 with probability weights[i], and the noise has standard deviation multiplier, in the
// same unit. An example is a record that joins several of the sums of one release at random. The weights must sum to 1.
// Each weight must be at least 1e-200, and multiplier in [0.02, 1e7]. Each offset must be 0 or in [1e-100, 1e4] times
// multiplier, and at least one offset must be > 0.
func newGaussianMixture(multiplier float64, weights, offsets []float64) (Mechanism, error) {
	if err := positive("noise multiplier", multiplier); err != nil {
		return nil, err
	}
	if len(weights) == 0 || len(weights) != len(offsets) {
		return nil, fmt.Errorf("account: %d weights, %d offsets: must be as many, and some", len(weights), len(offsets))
	}
	var sum, largest float64
	for i, w := range weights {
		if !(w > 0 && w <= 1) {
			return nil, fmt.Errorf("account: weights[%d] = %v: must be > 0 and <= 1", i, w)
		}
		if w < weightLeast {
			return nil, fmt.Errorf("account: weights[%d] = %v: must be at least %v", i, w, weightLeast)
		}
		if !(offsets[i] >= 0) || math.IsInf(offsets[i], 0) {
			return nil, fmt.Errorf("account: offsets[%d] = %v: must be finite and >= 0", i, offsets[i])
		}
		if mu := offsets[i] / multiplier; mu > offsetMost || mu != 0 && mu < offsetLeast {
			return nil, fmt.Errorf("account: offsets[%d] = %v: must be 0 or within [%v, %v] times the noise multiplier", i,
				offsets[i], offsetLeast, float64(offsetMost))
		}
		sum += w
		largest = max(largest, offsets[i])
	}
	if math.Abs(sum-1) > 1e-12 {
		return nil, fmt.Errorf("account: weights sum to %v: must sum to 1", sum)
	}
	if !(largest > 0) {
		return nil, fmt.Errorf("account: offsets = %v: one must be > 0", offsets)
	}
	m := gaussianMixture{multiplier, append([]float64(nil), weights...), append([]float64(nil), offsets...), AddOrRemove}
	vector.Divide(m.weights, sum)
	return m, nil
}

func (m gaussianMixture) String() string {
	if m.under == ReplaceOne {
		return fmt.Sprintf("replaced mixture(noise multiplier %v, weights %v, offsets +-%v)", m.multiplier, m.weights,
			m.offsets)
	}
	return fmt.Sprintf("gaussian mixture(noise multiplier %v, weights %v, offsets %v)", m.multiplier, m.weights, m.offsets)
}

// mixtureLaws returns the laws of a Gaussian mechanism whose sensitivity is offsets[i] with probability weights[i].
// Under add-or-remove the mixture is compared with the noise alone, and under replace-one with its mirror image about 0.
func mixtureLaws(multiplier float64, weights, offsets []float64, r Relation) []lossLaw {
	var with, mirror []component
	for i, w := range weights {
		mu := offsets[i] / multiplier
		with, mirror = append(with, component{w, mu}), append(mirror, component{w, 0 - mu})
	}
	if r == ReplaceOne {
		return []lossLaw{newMixtureLaw(with, mirror)}
	}
	alone := []component{{1, 0}}
	return []lossLaw{newMixtureLaw(with, alone), newMixtureLaw(alone, mirror)}
}

func (m gaussianMixture) laws() []lossLaw {
	return mixtureLaws(m.multiplier, m.weights, m.offsets, m.under)
}
func (m gaussianMixture) relation() Relation { return m.under }

type boundedMechanism struct {
	name    string
	epsilon float64
	law     func(epsilon float64) exponentialLaw
	order   func(order, epsilon float64) float64
	// rangeOnly is true if epsilon bounds the range of the privacy loss (its largest minus its
	// least value). Otherwise epsilon bounds the absolute value of the loss.
	rangeOnly bool
}

// newLaplace returns the Laplace mechanism. scale is the scale of the noise divided by the l1
// sensitivity. It is (1/scale)-DP. scale must be in [0.02, 1e7].
func newLaplace(scale float64) (Mechanism, error) {
	if err := positive("scale", scale); err != nil {
		return nil, err
	}
	return boundedMechanism{name: "laplace", epsilon: 1 / scale, law: laplaceLaw, order: laplaceRenyi}.checked()
}

// newRandomizedResponse returns the mechanism that releases one bit, inverted with probability p in
// (0, 1/2).
func newRandomizedResponse(p float64) (Mechanism, error) {
	if !(p > 0 && p < .5) {
		return nil, fmt.Errorf("account: p = %v: must be > 0 and < 1/2", p)
	}
	epsilon := math.Log1p(-p) - math.Log(p)
	return boundedMechanism{name: "randomized response", epsilon: epsilon, law: responseLaw, order: responseRenyi}.checked()
}

// newPure returns the epsilon-DP mechanism with the largest privacy loss, which is randomized
// response. It dominates every epsilon-DP mechanism. epsilon must be in [1e-7, 600].
func newPure(epsilon float64) (Mechanism, error) {
	return boundedMechanism{name: "pure", epsilon: epsilon, law: responseLaw, order: responseRenyi}.checked()
}

// newBoundedRange returns a mechanism that dominates every epsilon-bounded-range mechanism. An example is the
// exponential mechanism with weights exp(epsilon score/(2 sensitivity)), or exp(epsilon score/sensitivity) if the
// scores change in one direction only (Dong, Durfee & Rogers 2020). epsilon must be in [1e-7, 600].
func newBoundedRange(epsilon float64) (Mechanism, error) {
	m := boundedMechanism{name: "bounded range", epsilon: epsilon, law: boundedRangeLaw, order: boundedRangeRenyi}
	m.rangeOnly = true
	return m.checked()
}

// boundedLeast and boundedMost bound the epsilon of pure and bounded-range mechanisms. Below boundedLeast the losses
// are too small for the precision of float64. Up to boundedMost, e^epsilon is within the range of float64.
const boundedLeast, boundedMost = 1e-7, 600

func (m boundedMechanism) checked() (Mechanism, error) {
	if !(m.epsilon >= boundedLeast && m.epsilon <= boundedMost) {
		return nil, fmt.Errorf("account: %s: epsilon = %v: must be within [%v, %v]", m.name, m.epsilon, boundedLeast,
			float64(boundedMost))
	}
	return m, nil
}

func (m boundedMechanism) String() string   { return fmt.Sprintf("%s(epsilon %v)", m.name, m.epsilon) }
func (m boundedMechanism) laws() []lossLaw  { return []lossLaw{m.law(m.epsilon)} }
func (boundedMechanism) relation() Relation { return 0 }
func (m boundedMechanism) renyi(order float64) (float64, error) {
	return m.order(order, m.epsilon), nil
}

// weightLeast is the least weight of a component of a Gaussian mixture. Products of smaller weights
// underflow in float64 or lose precision.
const weightLeast = 1e-200

// offsetLeast and offsetMost bound a mixture's offset divided by the noise's standard deviation. A
// smaller positive offset changes the result by less than the rounding errors. With a larger
// offset, the record is detected almost surely.
const offsetLeast, offsetMost = 1e-100, 1e4

// multiplierFloor and multiplierCeiling bound a noise multiplier. With less noise the guarantee is
// useless. With more noise the output is useless.
const multiplierFloor, multiplierCeiling = 0.02, 1e7

func positive(name string, x float64) error {
	if !(x > 0) || math.IsInf(x, 0) {
		return fmt.Errorf("account: %s = %v: must be finite and > 0", name, x)
	}
	if x < multiplierFloor || x > multiplierCeiling {
		return fmt.Errorf("account: %s = %v: must be within [%v, %v]", name, x, multiplierFloor, multiplierCeiling)
	}
	return nil
}

// EventKind names the kind of mechanism of a release. Event files and the events of a ledger
// contain this name.
type EventKind string

// Kinds of the events of a ledger.
const (
	// Gaussian is the release of a vector plus noise N(0, sigma^2 I).
	Gaussian EventKind = "gaussian"
	// SampledGaussian is the release of a sum over a Poisson sample plus noise N(0, sigma^2 I).
	SampledGaussian EventKind = "sampled-gaussian"
	// Selection is the release of the index of one of several candidates, drawn by a mechanism of Epsilon-bounded
	// range. This means that, between two neighbouring tables, the log probabilities of any two indices change by
	// amounts that differ by at most Epsilon. An example is the exponential mechanism with weights exp(-Epsilon
	// score/(2 Sensitivity)) (Durfee & Rogers 2019). A selection is Epsilon-DP.
	Selection EventKind = "selection"
)

// These kinds occur in event files only. A ledger refuses them: the parameters of such events are
// fixed before the first release, and the events are composed as a whole.
const (
	kindGaussianMixture    EventKind = "gaussian-mixture"
	kindFixedSizeGaussian  EventKind = "fixed-size-gaussian"
	kindDiscreteGaussian   EventKind = "discrete-gaussian"
	kindTree               EventKind = "tree"
	kindToeplitz           EventKind = "toeplitz"
	kindLaplace            EventKind = "laplace"
	kindRandomizedResponse EventKind = "randomized-response"
	kindPure               EventKind = "pure"
	kindBoundedRange       EventKind = "bounded-range"
	kindRepeatAndSelect    EventKind = "repeat-and-select"
)

// Relation is a neighbouring relation: it decides which tables are neighbours. The zero Relation is
// invalid, so that a relation must be stated.
type Relation uint8

const (
	// ReplaceOne makes two tables neighbours if they differ by one row that is exchanged for any
	// other. The number of rows is public.
	ReplaceOne Relation = iota + 1
	// AddOrRemove makes two tables neighbours if one of them is the other with one row added. The
	// number of rows is secret, so a mean is a sum divided by a declared number.
	AddOrRemove
)

var relationNames = map[Relation]string{ReplaceOne: "replace-one", AddOrRemove: "add-or-remove"}

// ParseRelation reads "replace-one" or "add-or-remove". Any other text is an error.
func ParseRelation(s string) (Relation, error) {
	for r, name := range relationNames {
		if name == s {
			return r, nil
		}
	}
	return 0, fmt.Errorf("account: relation = %q: must be replace-one or add-or-remove", s)
}

// Valid reports whether r is one of the declared relations.
func (r Relation) Valid() bool { _, ok := relationNames[r]; return ok }

// String returns the name that ParseRelation reads.
func (r Relation) String() string {
	if name, ok := relationNames[r]; ok {
		return name
	}
	return "relation(" + strconv.Itoa(int(r)) + ")"
}

// MarshalText writes the relation's name. An invalid relation is an error.
func (r Relation) MarshalText() ([]byte, error) {
	if !r.Valid() {
		return nil, fmt.Errorf("account: relation = %d: not a relation", uint8(r))
	}
	return []byte(r.String()), nil
}

// UnmarshalText reads a relation's name. Any other text is an error, and *r is then unchanged.
func (r *Relation) UnmarshalText(text []byte) error {
	v, err := ParseRelation(string(text))
	if err != nil {
		return err
	}
	*r = v
	return nil
}
