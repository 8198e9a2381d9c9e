package mechanism

// EventKind names the law of a release. Event files and the events of a ledger contain this name.
type EventKind string

// Kinds of the events of a ledger.
const (
	// Gaussian is the law of a vector plus N(0, sigma^2 I).
	Gaussian EventKind = "gaussian"
	// SampledGaussian is the law of a sum over a Poisson sample plus N(0, sigma^2 I).
	SampledGaussian EventKind = "sampled-gaussian"
	// Selection is the law of the index of one of several candidates, drawn with a range of at most
	// Epsilon. This means: between two neighbouring tables the log probabilities of any two indices
	// change by amounts that differ by at most Epsilon. The exponential mechanism with weights
	// exp(-Epsilon score/(2 Sensitivity)) is such a law (Durfee & Rogers 2019). A selection is
	// Epsilon-DP.
	Selection EventKind = "selection"
)

// These kinds occur in event files only. A ledger refuses them: the parameters of such events are
// fixed before the first release, and the events are composed as a whole.
const (
	GaussianMixture    EventKind = "gaussian-mixture"
	FixedSizeGaussian  EventKind = "fixed-size-gaussian"
	DiscreteGaussian   EventKind = "discrete-gaussian"
	Tree               EventKind = "tree"
	Toeplitz           EventKind = "toeplitz"
	Laplace            EventKind = "laplace"
	RandomizedResponse EventKind = "randomized-response"
	Pure               EventKind = "pure"
	BoundedRange       EventKind = "bounded-range"
	RepeatAndSelect    EventKind = "repeat-and-select"
)
