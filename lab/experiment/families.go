package experiment

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// maker makes a family of dimension d and draws the given number of distinct rows. The seed determines all
// random choices.
type maker = func(d, rows int, seed uint64) (*Family, error)

var families = map[string]maker{
	"tanh":               Tanh,
	"logistic":           Logistic,
	"logistic+nonconvex": LogisticNonconvex,
	"slow-tail":          SlowTail,
	"huber-mean":         HuberMean,
	"huber-bias":         HuberBias,
	"exp-tail":           ExpTail,
	"quartic":            Quartic,
	"three-halves":       ThreeHalves,
	"phase":              PhaseRetrieval,
	"cosine":             Cosine,
	"softmax":            Softmax,
	"tanh-net":           TanhNet,
	"matrix-sensing":     MatrixSensing,
	"three-halves-fine":  ThreeHalvesFine,

	"autoencoder(1)":   Autoencoder(1),
	"autoencoder(3)":   Autoencoder(3),
	"factorization(1)": Factorization(1),
	"factorization(3)": Factorization(3),
	"tanh-network":     TanhNetwork,
	"softmax-network":  SoftmaxNetwork,
}

// Families returns the names that NewFamily accepts. A word in capitals stands for a number: saddle(GAP)
// stands for names such as saddle(0.15).
func Families() []string {
	return slices.Sorted(slices.Values(append(slices.Collect(maps.Keys(families)), "low-rank(RANK)", "saddle(GAP)",
		"ball-tanh(RADIUS)", "ball-logistic(RADIUS)", "capped(RADIUS)", "capped-components(RADIUS)", "ramp(RADIUS)", "ramp-components(RADIUS)", "median(RADIUS)", "svm(RADIUS)",
		"relu-network(RADIUS)", "hinge-network(RADIUS)")))
}

// NewFamily makes the named family of dimension d and draws the given number of distinct rows. It returns
// an error if the name is unknown, or if its number, d or rows is not valid.
func NewFamily(name string, d, rows int, seed uint64) (*Family, error) {
	m, ok := families[name]
	if inside, saddle := strings.CutPrefix(name, "saddle("); saddle && strings.HasSuffix(inside, ")") {
		gap, err := strconv.ParseFloat(strings.TrimSuffix(inside, ")"), 64)
		if err != nil {
			return nil, fmt.Errorf("experiment: family = %q: gap must be a number", name)
		}
		m, ok = Saddle(gap), true
	}
	for base, of := range map[string]maker{"tanh": Tanh, "logistic": Logistic} {
		if inside, is := strings.CutPrefix(name, "ball-"+base+"("); is {
			inside, closed := strings.CutSuffix(inside, ")")
			radius, err := strconv.ParseFloat(inside, 64)
			if err != nil || !closed {
				return nil, fmt.Errorf("experiment: family = %q: radius must be a number", name)
			}
			m, ok = InBall(of, radius), true
		}
	}
	if k, is, err := rank(name); is {
		if err != nil {
			return nil, err
		}
		m, ok = LowRank(k), true
	}
	if k, is, err := kinkedMaker(name); is {
		if err != nil {
			return nil, err
		}
		m, ok = k, true
	}
	if !ok {
		return nil, fmt.Errorf("experiment: family = %q: must be one of %s", name, strings.Join(Families(), ", "))
	}
	return m(d, rows, seed)
}
