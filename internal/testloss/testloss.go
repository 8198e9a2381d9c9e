// Package testloss contains losses that no table needs. Tests and audits run optimizers on them, in addition
// to the losses of package loss, because their shape or their constants are unlike those of a model's loss.
//
// These losses are in a package of their own so that nobody trains a model with them by accident. No
// configuration or model file can name them. They satisfy the contracts of package loss, including equal bits
// on every machine. The laboratory (lab/problem) has more losses of this kind.
package testloss

import (
	"fmt"

	"github.com/stillpoint-dp/stillpoint/loss"
)

// Parse returns the loss of this package with the given name or, if there is none, the loss that loss.Parse
// returns for the name. It returns an error for an unknown name.
func Parse(name string) (loss.Loss, error) {
	for _, l := range []loss.Loss{SlowTail(), HuberMean(), Saddle()} {
		if l.Name() == name {
			return l, nil
		}
	}
	return loss.Parse(name)
}

func checkLengths(dst, a, b int) {
	if a != dst || b != dst {
		panic(fmt.Sprintf("testloss: lengths are %d, %d and %d: must be equal", dst, a, b))
	}
}
