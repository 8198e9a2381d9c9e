package budget

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strings"
	"unicode"

	"github.com/stillpoint-dp/stillpoint/account"
)

// Cap is what everything ever released of a dataset may cost together, under one
// relation. The zero Cap permits nothing.
type Cap struct {
	// Guarantee is that of everything together. Its mu is that of Epsilon and the delta that
	// is not set aside, which [NewCap] computes; its unit is fixed when the dataset is
	// registered: guarantees for records of another kind do not add up to one for these.
	account.Guarantee
	// SampledRuns is how many runs may sample, in the whole life of the dataset. If
	// it is not 0, a tenth of delta is set aside for them, in equal parts: what
	// amplification by sampling leaves over when it is counted in mu^2. It is fixed
	// when the dataset is registered, since no filter is known that divides one delta
	// by looking at what was released.
	SampledRuns int `json:"sampled_runs"`
}

// MarshalJSON writes a cap as rows of chains have it, which are hashed as they are written.
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

// mostSampledRuns keeps each run's part of delta within what accounting can resolve.
const mostSampledRuns = 1 << 20

// setAside is the share of delta for runs that sample.
const setAside = .1

// NewCap returns the cap of an epsilon and a delta, neither of which has a default.
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

// gaussianDelta is the part of delta that bounds what is counted in mu^2.
func (c Cap) gaussianDelta() float64 {
	if c.SampledRuns == 0 {
		return c.Delta
	}
	// The two parts must not exceed delta once they are rounded.
	return c.Delta * (1 - setAside) * (1 - 0x1p-50)
}

// sampledDelta is what one run that samples may leave over.
func (c Cap) sampledDelta() float64 {
	if c.SampledRuns == 0 {
		return 0
	}
	return c.Delta * setAside / float64(c.SampledRuns) * (1 - 0x1p-50)
}

// check demands a cap that NewCap could return. A later version may round its mu
// differently, so it must only be one that is sound.
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
	delta, err := account.GaussianDelta(c.Mu, c.Epsilon)
	if err != nil {
		return err
	}
	if !(delta <= c.gaussianDelta()) {
		return fmt.Errorf("budget: mu = %v: costs delta = %v at epsilon = %v: must be at most %v", c.Mu, delta, c.Epsilon, c.gaussianDelta())
	}
	return nil
}

// charge is mu^2, exactly.
func (c Cap) charge() *big.Float { return square(c.Mu) }

// String states the cap in the field's terms.
func (c Cap) String() string { return c.Text() }

// Sums of charges are exact, or rounded up where they are not: each is a product of
// two float64 at most, and so many bits hold charges that lie 10^100 apart.
const sumBits = 512

func exact(x float64) *big.Float {
	return new(big.Float).SetPrec(sumBits).SetMode(big.ToPositiveInf).SetFloat64(x)
}

func square(x float64) *big.Float { b := exact(x); return b.Mul(b, exact(x)) }

// upward returns the least float64 that is not below x.
func upward(x *big.Float) float64 {
	f, accuracy := x.Float64()
	if accuracy == big.Below {
		return math.Nextafter(f, math.Inf(1))
	}
	return f
}

// downward returns the largest float64 >= 0 that is not above x.
func downward(x *big.Float) float64 {
	f, accuracy := x.Float64()
	if accuracy == big.Above {
		f = math.Nextafter(f, math.Inf(-1))
	}
	return max(0, f)
}

// mostName is the most bytes of a dataset's name and of a label.
const mostName = 200

// checkName demands a name that looks the same wherever it is shown.
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
