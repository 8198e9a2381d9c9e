package engine

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stillpoint-dp/stillpoint/loss"
)

// SlopeError bounds the distance between a computed slope and the exact slope, as a fraction of the
// loss's Lipschitz constant, for the losses that Proven accepts.
const SlopeError = 0x1p-50

// provenLosses are the names of the losses whose slopes are proven to be suitable for the
// sensitivity of SGD, by docs/explanation/exactness.md and TestProvenSlopes. For the targets that
// the loss accepts and every finite margin, the slope is within SlopeError of a function of the
// margin that never falls and rises no faster than the declared curvature.
var provenLosses = []string{"huber", "logistic", "smoothed-hinge", "squared"}

// Proven returns an error unless it is proven that passes of SGD (Average) may use the loss: that the
// loss is convex, as smooth as it declares, and free of NaN. The loss must itself be one of the
// proven losses, since a loss that wraps a proven loss could have the same name.
func Proven(l loss.Loss) error {
	if _, ok := l.(loss.RankOne); !ok {
		return fmt.Errorf("curator: stable sgd: loss = %s: must be a rank-one loss", l.Name())
	}
	if c := l.Constants().Curvature; !(c.Lo >= 0 && c.Lo <= c.Hi) || math.IsInf(c.Hi, 0) {
		return fmt.Errorf("curator: stable sgd: loss = %s: curvature in [%v, %v]: must be >= 0 and finite, or steps take "+
			"points apart", l.Name(), c.Lo, c.Hi)
	}
	base, _, _ := strings.Cut(l.Name(), "(")
	if slices.Contains(provenLosses, base) {
		if own, err := loss.Parse(l.Name()); err == nil && own == l {
			return nil
		}
	}
	return fmt.Errorf("curator: stable sgd: loss = %s: is not proven to be convex, as smooth as declared and free of "+
		"NaN: must be one of %s", l.Name(), strings.Join(provenLosses, ", "))
}
