// Package problem holds the losses of test problems: what experiments and audits
// measure optimizers on, beside the losses that people train.
//
// They stand apart from those of package loss so that nobody trains one by
// accident: they say nothing about a target, some hold what they promise over
// their own generated rows only, and no configuration or model file can name
// them. What package loss says of its losses, the same bits on every machine
// included, goes for these.
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

// Names lists the losses of this package, sorted.
func Names() []string { return slices.Sorted(maps.Keys(problems)) }

// Parse makes the loss whose Name is name, of this package or of package loss.
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
