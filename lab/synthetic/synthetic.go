// Package synthetic contains the losses of synthetic problems. Experiments and audits run optimizers on these
// losses, in addition to the losses of package loss.
//
// These losses are in a package of their own so that nobody trains a model with them by accident. They do
// not predict a target, and the constants of some of them hold only for their own generated rows. No
// configuration or model file can name them. They satisfy the contracts of package loss, including equal
// bits on every machine.
package synthetic

import (
	"fmt"
	"maps"
	"slices"

	"github.com/stillpoint-dp/stillpoint/internal/testloss"
	"github.com/stillpoint-dp/stillpoint/loss"
)

var problems = map[string]loss.Loss{
	"slow-tail":  testloss.SlowTail(),
	"huber-mean": testloss.HuberMean(),
	"huber-bias": HuberBias(),
	"saddle":     testloss.Saddle(),

	"exp-tail":     ExpTail(),
	"quartic":      Quartic(),
	"three-halves": ThreeHalves(),
	"phase":        Phase(),
	"cosine":       Cosine(),
	"tanh-net":     TanhNet(),

	"matrix-sensing":    MatrixSensing(),
	"three-halves-fine": ThreeHalvesFine(),

	"autoencoder(1)":   must(Autoencoder(1)),
	"autoencoder(3)":   must(Autoencoder(3)),
	"factorization(1)": must(Factorization(1)),
	"factorization(3)": must(Factorization(3)),
}

func must(l loss.Shaped, err error) loss.Loss {
	if err != nil {
		panic(err)
	}
	return l
}

// Names returns the names of the losses of this package, sorted.
func Names() []string { return slices.Sorted(maps.Keys(problems)) }

// Parse returns the loss of this package with the given name or, if there is none, the loss that loss.Parse
// returns for the name. It returns an error for an unknown name.
func Parse(name string) (loss.Loss, error) {
	if l, ok := problems[name]; ok {
		return l, nil
	}
	return loss.Parse(name)
}

func checkLengths(dst, a, b int) {
	if a != dst || b != dst {
		panic(fmt.Sprintf("synthetic: lengths are %d, %d and %d: must be equal", dst, a, b))
	}
}
