package budget

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strings"
	"unicode"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/account/mechanism"
)

// Cap is an upper limit on the privacy loss of everything ever released of a dataset, under one
// relation. The zero Cap permits nothing.
type Cap struct {
	// Guarantee covers all releases together. [NewCap] computes its Mu: the mu of Gaussian DP for
	// Epsilon and the part of Delta that is not set aside for runs with sampling. The Unit of the
	// guarantee is fixed when the dataset is registered, since guarantees for different kinds of
	// record do not add up.
	account.Guarantee
	// SampledRuns is the number of runs with sampling that the dataset permits in its whole life.
	// If it is not 0, a tenth of Delta is set aside and divided equally among these runs. A run
	// with sampling is counted as mu-GDP up to a small delta, and its part of Delta covers this
	// small delta. SampledRuns is fixed when the dataset is registered, since no privacy filter is
	// known that divides a delta adaptively.
	SampledRuns int `json:"sampled_runs"`
}

// MarshalJSON writes the members of a cap in the order in which the rows of a chain have them. A
// row's hash depends on these bytes.
func (c Cap) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Epsilon     float64          `json:"epsilon"`
		Delta       float64          `json:"delta"`
		Relation    account.Relation `json:"relation"`
		SampledRuns int              `json:"sampled_runs"`
		Unit        string           `json:"unit,omitempty"`
		Mu          float64          `json:"mu"`
	}{c.Epsilon, c.Delta, c.Relation, c.SampledRuns, c.Unit, c.Mu})
}

// mostSampledRuns is the largest number of runs with sampling. With more, a run's part of delta
// would be too small for the accountant.
const mostSampledRuns = 1 << 20

// setAside is the share of a cap's delta that is set aside for runs that release on Poisson
// samples.
const setAside = .1

// NewCap returns the cap for an epsilon, a delta, a relation and a number of runs with sampling.
// The cap's records are rows, since its Unit is empty. It is an error unless epsilon is finite and
// > 0, delta is in (0, 1) and sampledRuns is in [0, 2^20].
func NewCap(epsilon, delta float64, r account.Relation, sampledRuns int) (Cap, error) {
	c := Cap{Guarantee: account.Guarantee{Relation: r, Epsilon: epsilon, Delta: delta}, SampledRuns: sampledRuns}
	if sampledRuns < 0 || sampledRuns > mostSampledRuns {
		return Cap{}, fmt.Errorf("budget: sampled runs = %d: must be between 0 and %d", sampledRuns, mostSampledRuns)
	}
	b, err := account.NewBudget(epsilon, delta, r)
	if err != nil {
		return Cap{}, fmt.Errorf("budget: %w", err)
	}
	if sampledRuns > 0 {
		if b, err = account.NewBudget(epsilon, c.gaussianDelta(), r); err != nil {
			return Cap{}, fmt.Errorf("budget: %w", err)
		}
	}
	c.Mu = b.Mu()
	return c, nil
}

// gaussianDelta returns the part of delta for all charges that are counted in mu^2. It is delta
// without the part that is set aside for runs with sampling.
func (c Cap) gaussianDelta() float64 {
	if c.SampledRuns == 0 {
		return c.Delta
	}
	// The last factor keeps the sum of this part and the part set aside below delta after rounding.
	return c.Delta * (1 - setAside) * (1 - 0x1p-50)
}

// sampledDelta returns the part of delta for one run that releases on Poisson samples.
func (c Cap) sampledDelta() float64 {
	if c.SampledRuns == 0 {
		return 0
	}
	return c.Delta * setAside / float64(c.SampledRuns) * (1 - 0x1p-50)
}

// check returns an error unless the cap is valid: mu-GDP must imply (epsilon, delta)-DP, where
// delta is the part of Delta that is not set aside. The cap's mu may be smaller than the mu that
// NewCap computes. It may also be larger by rounding errors, since a later version may round
// differently.
func (c Cap) check() error {
	again, err := NewCap(c.Epsilon, c.Delta, c.Relation, c.SampledRuns)
	if err != nil {
		return err
	}
	if c.Unit != "" {
		if err := checkName("unit", c.Unit); err != nil {
			return err
		}
	}
	if !(c.Mu > 0 && c.Mu <= again.Mu*(1+0x1p-40)) {
		return fmt.Errorf("budget: mu = %v: must be at most %v, that of the cap's epsilon and delta", c.Mu, again.Mu)
	}
	delta, err := mechanism.GaussianDelta(c.Mu, c.Epsilon)
	if err != nil {
		return err
	}
	if !(delta <= c.gaussianDelta()) {
		return fmt.Errorf("budget: mu = %v: costs delta = %v at epsilon = %v: must be at most %v", c.Mu, delta, c.Epsilon,
			c.gaussianDelta())
	}
	return nil
}

// charge returns the square of the cap's mu, computed without rounding.
func (c Cap) charge() *big.Float { return square(c.Mu) }

// String states the cap's epsilon, delta, relation and unit in words.
func (c Cap) String() string { return c.Text() }

// sumBits is the precision, in bits, of sums of charges. The sums are rounded upwards. A charge is
// a product of at most two float64, so a sum of charges is exact if their ratios are at most
// 10^100.
const sumBits = 512

// exact returns x as a big.Float of high precision, whose sums and products are rounded upwards.
func exact(x float64) *big.Float {
	return new(big.Float).SetPrec(sumBits).SetMode(big.ToPositiveInf).SetFloat64(x)
}

func square(x float64) *big.Float { b := exact(x); return b.Mul(b, exact(x)) }

// upward returns the smallest float64 that is at least x.
func upward(x *big.Float) float64 {
	f, accuracy := x.Float64()
	if accuracy == big.Below {
		return math.Nextafter(f, math.Inf(1))
	}
	return f
}

// downward returns the largest float64 >= 0 that is at most x.
func downward(x *big.Float) float64 {
	f, accuracy := x.Float64()
	if accuracy == big.Above {
		f = math.Nextafter(f, math.Inf(-1))
	}
	return max(0, f)
}

// mostName is the largest length, in bytes, of the name of a dataset or a unit, and of a label.
const mostName = 200

// checkName returns an error for a name that is empty, has white space around it, has more than
// mostName bytes or contains a character that is not printable. field names the value in the error.
// Programs may show such a name in different ways.
func checkName(field, name string) error {
	switch {
	case name == "" || name != strings.TrimSpace(name):
		return fmt.Errorf("budget: %s = %q: must be a name without white space around it", field, name)
	case len(name) > mostName:
		return fmt.Errorf("budget: %s: must have at most %d bytes", field, mostName)
	case strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }):
		return fmt.Errorf("budget: %s = %q: must hold visible characters only", field, name)
	}
	return nil
}
