// Package problem holds the losses of test problems. Experiments and audits measure optimizers on
// them, in addition to the losses of package loss.
//
// They are a package of their own so that nobody trains one by accident: they do not predict a
// target, the constants of some hold over their own generated rows only, and no configuration or
// model file can name them. They keep the contracts of package loss, the same bits on every machine
// included.
package problem

import (
	"fmt"
	"maps"
	"slices"

	"github.com/stillpoint-dp/stillpoint/loss"
)

var problems = map[string]loss.Loss{
	"slow-tail":  SlowTail(),
	"huber-mean": HuberMean(),
	"huber-bias": HuberBias(),
	"saddle":     Saddle(),

	"exp-tail":     ExpTail(),
	"quartic":      Quartic(),
	"three-halves": ThreeHalves(),
	"phase":        Phase(),
	"tanh-net":     TanhNet(),

	"matrix-sensing":    MatrixSensing(),
	"three-halves-fine": ThreeHalvesFine(),
}

// Names returns the names of the losses of this package, sorted.
func Names() []string { return slices.Sorted(maps.Keys(problems)) }

// Parse returns the loss of this package or of package loss whose Name is name.
func Parse(name string) (loss.Loss, error) {
	if l, ok := problems[name]; ok {
		return l, nil
	}
	return loss.Parse(name)
}

func checkLengths(dst, a, b int) {
	if a != dst || b != dst {
		panic(fmt.Sprintf("problem: lengths are %d, %d and %d: must be equal", dst, a, b))
	}
}
