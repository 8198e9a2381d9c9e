package mechanism

// EventKind names the kind of mechanism of a release. Event files and the events of a ledger
// contain this name.
type EventKind string

// Kinds of the events of a ledger.
const (
	// Gaussian is the release of a vector plus noise N(0, sigma^2 I).
	Gaussian EventKind = "gaussian"
	// SampledGaussian is the release of a sum over a Poisson sample plus noise N(0, sigma^2 I).
	SampledGaussian EventKind = "sampled-gaussian"
	// Selection is the release of the index of one of several candidates, drawn by a mechanism of
	// Epsilon-bounded range. This means that, between two neighbouring tables, the log
	// probabilities of any two indices change by amounts that differ by at most Epsilon. An example
	// is the exponential mechanism with weights exp(-Epsilon score/(2 Sensitivity)) (Durfee &
	// Rogers 2019). A selection is Epsilon-DP.
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
