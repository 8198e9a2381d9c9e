package account

import (
	"fmt"
	"math"
)

// Everyone is the cohort identifier that stands for all records.
const Everyone uint64 = 0

// MaxCohort is the largest identifier of a cohort. Cohorts are numbered from 1 and
// are disjoint, and no session holds more records than that.
const MaxCohort = math.MaxInt32

// EventKind names the law of a release. Kinds are added as the accountant learns
// them; a kind it does not know is refused, never skipped.
type EventKind string

const (
	// Gaussian is a vector plus N(0, Sigma^2 I).
	Gaussian EventKind = "gaussian"
	// SampledGaussian is a sum over a Poisson sample plus N(0, Sigma^2 I): each
	// record joins with probability Sampling by its own secret coin. It is
	// charged nothing in units of mu^2; a schedule counts it.
	SampledGaussian EventKind = "sampled-gaussian"
)

// Basis is why the stated sensitivity of an event holds. Bases are added as they
// are proven; one that is not known is refused.
type Basis string

const (
	// Clipped, the zero value: the curator clips what each record contributes,
	// so that the sensitivity holds for any loss.
	Clipped Basis = ""
	// Stability: the release is made by steps that do not take two points
	// apart, because the loss is convex and as smooth as it declares. Both are
	// trusted. It is for replace-one.
	Stability Basis = "stability"
)

// Event is one release as privacy sees it: the law of its noise, not its
// value. It is necessary and sufficient for accounting. Events are values;
// once in a ledger they cannot be changed.
type Event struct {
	// Index counts the events of a ledger from 0; set by the ledger.
	Index int `json:"index"`
	// Kind is the law of the noise.
	Kind EventKind `json:"kind"`
	// Question names what was asked, e.g. "gradient"; for people only.
	Question string `json:"question"`
	// Cohort is the identifier of the records that took part. Cohorts other
	// than Everyone are disjoint from each other.
	Cohort uint64 `json:"cohort"`
	// Relation is the one under which Sensitivity, or Epsilon, holds; set by the
	// ledger where it is not given.
	Relation Relation `json:"relation,omitempty"`
	// Sensitivity bounds in Euclidean norm how far the un-noised vector moves
	// between neighbouring tables; for a sampled sum, how long the contribution
	// of one record is. Unit: that of the sum.
	Sensitivity float64 `json:"sensitivity"`
	// Sigma is the standard deviation of the noise in each coordinate, in the
	// unit of Sensitivity.
	Sigma float64 `json:"sigma"`
	// Charge is (Sensitivity/Sigma)^2, or that of SelectionMu, rounded up.
	Charge float64 `json:"charge"`
	// Sampling is the probability with which a record joins a sample; 0 for
	// other kinds.
	Sampling float64 `json:"sampling,omitempty"`
	// Epsilon is the range of a selection; 0 for other kinds.
	Epsilon float64 `json:"epsilon,omitempty"`
	// Basis is why Sensitivity holds; absent where clipping enforces it.
	Basis Basis `json:"basis,omitempty"`
	// Loss is the name of the loss that a basis of Stability trusts; absent
	// otherwise.
	Loss string `json:"loss,omitempty"`
	// Simulated is true when the noise did not come from secret coins. Such an
	// event protects nobody.
	Simulated bool `json:"simulated,omitempty"`
}

// GaussianEvent returns the event of a Gaussian release; its charge is
// computed here. sensitivity and sigma must be finite and > 0.
func GaussianEvent(question string, cohort uint64, sensitivity, sigma float64) (Event, error) {
	e := Event{Kind: Gaussian, Question: question, Cohort: cohort, Sensitivity: sensitivity, Sigma: sigma}
	charge, err := e.recharge()
	if err != nil {
		return Event{}, err
	}
	e.Charge = charge
	return e, nil
}

// StabilityEvent returns the event of a Gaussian release whose sensitivity rests
// on the convexity and the declared smoothness of the loss that is named. cohort
// must not be Everyone.
func StabilityEvent(question, loss string, cohort uint64, sensitivity, sigma float64) (Event, error) {
	e := Event{Kind: Gaussian, Question: question, Cohort: cohort, Sensitivity: sensitivity, Sigma: sigma, Basis: Stability, Loss: loss}
	charge, err := e.recharge()
	if err != nil {
		return Event{}, err
	}
	e.Charge = charge
	return e, nil
}

// SampledEvent returns the event of a Gaussian release over a Poisson sample.
// contribution bounds the norm of one record's contribution to the sum.
func SampledEvent(question string, sampling, contribution, sigma float64) (Event, error) {
	e := Event{Kind: SampledGaussian, Question: question, Sensitivity: contribution, Sigma: sigma, Sampling: sampling}
	if _, err := e.recharge(); err != nil {
		return Event{}, err
	}
	return e, nil
}

// recharge computes the charge from the law alone.
func (e Event) recharge() (float64, error) {
	if e.Kind != Selection && e.Epsilon != 0 {
		return 0, fmt.Errorf("account: epsilon = %v: must be absent for kind %q", e.Epsilon, e.Kind)
	}
	if e.Cohort > MaxCohort {
		return 0, fmt.Errorf("account: cohort = %d: must be at most %d", e.Cohort, uint64(MaxCohort))
	}
	if err := e.checkBasis(); err != nil {
		return 0, err
	}
	switch e.Kind {
	case Selection:
		return e.selectionCharge()
	case Gaussian:
		if e.Sampling != 0 {
			return 0, fmt.Errorf("account: sampling = %v: must be absent for kind %q", e.Sampling, e.Kind)
		}
	case SampledGaussian:
		if !(e.Sampling > 0 && e.Sampling <= 1) {
			return 0, fmt.Errorf("account: sampling = %v: must be > 0 and <= 1", e.Sampling)
		}
		if e.Cohort != Everyone {
			return 0, fmt.Errorf("account: cohort = %d: must be that of everyone for kind %q", e.Cohort, e.Kind)
		}
	default:
		return 0, fmt.Errorf("account: kind = %q: must be %q, %q or %q", e.Kind, Gaussian, SampledGaussian, Selection)
	}
	if !(e.Sensitivity > 0) || math.IsInf(e.Sensitivity, 0) {
		return 0, fmt.Errorf("account: sensitivity = %v: must be finite and > 0", e.Sensitivity)
	}
	if !(e.Sigma > 0) || math.IsInf(e.Sigma, 0) {
		return 0, fmt.Errorf("account: sigma = %v: must be finite and > 0", e.Sigma)
	}
	ratio := divUp(e.Sensitivity, e.Sigma)
	charge := mulUp(ratio, ratio)
	if math.IsInf(charge, 0) {
		return 0, fmt.Errorf("account: sigma = %v: too small for sensitivity %v", e.Sigma, e.Sensitivity)
	}
	if e.Kind == SampledGaussian {
		return 0, nil
	}
	return charge, nil
}

// checkBasis demands of a basis that it is known, and of Stability that it is for
// a Gaussian release on a drawn cohort and names the loss it trusts.
func (e Event) checkBasis() error {
	switch {
	case e.Basis == Clipped && e.Loss != "":
		return fmt.Errorf("account: loss = %q: must be absent without basis %q", e.Loss, Stability)
	case e.Basis == Clipped:
		return nil
	case e.Basis != Stability:
		return fmt.Errorf("account: basis = %q: must be absent or %q", e.Basis, Stability)
	case e.Kind != Gaussian:
		return fmt.Errorf("account: basis = %q: must be absent for kind %q", e.Basis, e.Kind)
	case e.Cohort == Everyone:
		return fmt.Errorf("account: cohort = %d: must not be that of everyone for basis %q", e.Cohort, e.Basis)
	case e.Loss == "":
		return fmt.Errorf("account: loss = \"\": must name the loss that basis %q trusts", e.Basis)
	}
	return nil
}

// Check reports whether the event's charge covers its law: it returns an
// error when the stated charge is below what the law requires.
func (e Event) Check() error {
	charge, err := e.recharge()
	if err != nil {
		return err
	}
	if !(e.Charge >= charge) || math.IsInf(e.Charge, 0) {
		return fmt.Errorf("account: event %d: charge = %v: must be at least that of its law, %v", e.Index, e.Charge, charge)
	}
	return nil
}
