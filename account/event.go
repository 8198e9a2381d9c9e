package account

import (
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/account/internal/round"
	"github.com/stillpoint-dp/stillpoint/account/mechanism"
)

// Everyone is the cohort identifier that stands for all records. A cohort is a group of records that
// one release reads.
const Everyone uint64 = 0

// MaxCohort is the largest identifier of a cohort (a group of records that one release reads). It is also the largest
// number of records of a session. Cohorts other than [Everyone] are disjoint and numbered from 1.
const MaxCohort = math.MaxInt32

// EventKind names the kind of mechanism of a release. The ledger refuses an event of a kind that is
// not among the three constants below.
type EventKind = mechanism.EventKind

const (
	// Gaussian is the release of a vector plus noise N(0, Sigma^2 I).
	Gaussian = mechanism.Gaussian
	// SampledGaussian is the release of a sum over a Poisson sample plus noise N(0, Sigma^2 I).
	// Each record joins the sample with probability Sampling, by its own secret random bits. The
	// Charge of such an event is 0, because a [Schedule] accounts for it.
	SampledGaussian = mechanism.SampledGaussian
	// Selection is the release of the index of one of several candidates. The field Epsilon of its
	// [Event] is an upper bound on the range of the privacy loss (see [mechanism.SelectionMu]).
	Selection = mechanism.Selection
)

// Basis is the reason why the sensitivity that an event states is a true bound. An event with a
// basis other than Clipped and Stability is invalid.
type Basis string

const (
	// Clipped is the zero value of Basis: the curator clips the contribution of each record, so
	// that the sensitivity holds for any loss function.
	Clipped Basis = ""
	// Stability means that the release is made by gradient steps that do not move two points
	// further apart. This holds if the loss function is convex and as smooth as it declares.
	// Convexity and smoothness are trusted, not checked. This basis requires replace-one.
	Stability Basis = "stability"
)

// Event describes one release by its mechanism, its sensitivity and its noise. It does not hold the
// released value, which accounting does not need. An event that is in a ledger cannot be changed.
type Event struct {
	// Index is the number of the event in its ledger, counted from 0. The ledger sets it.
	Index int `json:"index"`
	// Kind is the kind of mechanism.
	Kind EventKind `json:"kind"`
	// Question names the query, e.g. "gradient". It is for readers only.
	Question string `json:"question"`
	// Cohort is the identifier of the group of records that took part. Cohorts other than [Everyone] are
	// disjoint from each other.
	Cohort uint64 `json:"cohort"`
	// Relation is the neighbouring relation under which Sensitivity, or Epsilon, holds. The ledger
	// sets it if the caller did not.
	Relation Relation `json:"relation,omitempty"`
	// Sensitivity is an upper bound on the Euclidean distance between two noiseless vectors,
	// computed from two neighbouring tables. For a sampled sum it is an upper bound on the norm of
	// one record's contribution. It is in the unit of the vector. It is 0 for a selection.
	Sensitivity float64 `json:"sensitivity"`
	// Sigma is the standard deviation of the noise in each coordinate, in the
	// unit of Sensitivity.
	Sigma float64 `json:"sigma"`
	// Charge is the charge to each record of the cohort, in units of mu^2. For a Gaussian release it is at least
	// (Sensitivity/Sigma)^2. For a selection it is at least the square of [mechanism.SelectionMu]. The constructors of
	// events set it to this value, rounded up. For a sampled Gaussian release they set it to 0.
	Charge float64 `json:"charge"`
	// Sampling is the probability with which a record joins a sample. It is 0 for events that are not
	// sampled.
	Sampling float64 `json:"sampling,omitempty"`
	// Epsilon is an upper bound on the range of the privacy loss of a [Selection]. It is 0 for other kinds.
	Epsilon float64 `json:"epsilon,omitempty"`
	// Basis is the reason why Sensitivity is a true bound. It is empty if clipping enforces
	// Sensitivity.
	Basis Basis `json:"basis,omitempty"`
	// Loss is the name of the loss function whose properties the basis [Stability] trusts. It is
	// empty for the basis Clipped.
	Loss string `json:"loss,omitempty"`
	// Simulated is true if the noise did not come from secret random bits. Such an event protects
	// nobody.
	Simulated bool `json:"simulated,omitempty"`
}

// GaussianEvent returns the event of a Gaussian release on the cohort. Its charge is
// (sensitivity/sigma)^2, rounded up, where sigma is the standard deviation of the noise.
// sensitivity and sigma must be finite and > 0, and cohort at most [MaxCohort].
func GaussianEvent(question string, cohort uint64, sensitivity, sigma float64) (Event, error) {
	e := Event{Kind: Gaussian, Question: question, Cohort: cohort, Sensitivity: sensitivity, Sigma: sigma}
	return e.charged()
}

// StabilityEvent returns the event of a Gaussian release whose sensitivity rests on the convexity
// and the declared smoothness of the named loss function. Its charge is (sensitivity/sigma)^2,
// rounded up. loss must not be empty and cohort must not be [Everyone].
func StabilityEvent(question, loss string, cohort uint64, sensitivity, sigma float64) (Event, error) {
	e := Event{Kind: Gaussian, Question: question, Cohort: cohort, Sensitivity: sensitivity, Sigma: sigma, Basis: Stability, Loss: loss}
	return e.charged()
}

// SampledEvent returns the event of a Gaussian release over a Poisson sample. sampling is the probability with which
// each record joins the sample, in (0, 1]. contribution is an upper bound on the norm of one record's contribution to
// the sum, and sigma is the standard deviation of the noise. The event's charge is 0.
func SampledEvent(question string, sampling, contribution, sigma float64) (Event, error) {
	e := Event{Kind: SampledGaussian, Question: question, Sensitivity: contribution, Sigma: sigma, Sampling: sampling}
	if _, err := e.recharge(); err != nil {
		return Event{}, err
	}
	return e, nil
}

// SelectionEvent returns the event of a selection. Its charge is the square of [mechanism.SelectionMu],
// rounded up. epsilon must be in [2^-40, 16].
func SelectionEvent(question string, cohort uint64, epsilon float64) (Event, error) {
	e := Event{Kind: Selection, Question: question, Cohort: cohort, Epsilon: epsilon}
	return e.charged()
}

// charged returns the event with its charge.
func (e Event) charged() (Event, error) {
	charge, err := e.recharge()
	if err != nil {
		return Event{}, err
	}
	e.Charge = charge
	return e, nil
}

// recharge returns the charge that the event's kind, sensitivity, noise and epsilon require. It ignores the field
// Charge. It returns an error if one of these fields, the cohort, the sampling probability or the basis is invalid.
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
	ratio := round.DivUp(e.Sensitivity, e.Sigma)
	charge := round.MulUp(ratio, ratio)
	if math.IsInf(charge, 0) {
		return 0, fmt.Errorf("account: sigma = %v: too small for sensitivity %v", e.Sigma, e.Sensitivity)
	}
	if e.Kind == SampledGaussian {
		return 0, nil
	}
	return charge, nil
}

// selectionCharge returns the charge of a selection, the square of [mechanism.SelectionMu] for the
// event's epsilon, rounded up.
func (e Event) selectionCharge() (float64, error) {
	if e.Sensitivity != 0 || e.Sigma != 0 || e.Sampling != 0 {
		return 0, fmt.Errorf("account: sensitivity = %v, sigma = %v, sampling = %v: must be 0 for kind %q", e.Sensitivity,
			e.Sigma, e.Sampling, e.Kind)
	}
	mu, err := mechanism.SelectionMu(e.Epsilon)
	if err != nil {
		return 0, err
	}
	return round.MulUp(mu, mu), nil
}

// checkBasis returns an error for an unknown basis. The basis [Stability] is valid only for a Gaussian release on a
// cohort other than [Everyone], and must name the loss that it trusts. Without this basis no loss may be named.
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

// Check returns an error if a field of the event is invalid, or if the field Charge is infinite or
// below the charge that the event's sensitivity and noise require.
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
