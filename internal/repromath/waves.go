package repromath

import (
	"fmt"
	"math"
)

// Waves sets dst to the cosine and the sine, each times the amplitude, of one angle after the other, of which there are
// pairs = len(dst)/2. Angle k is the sum over j of by[j*pairs+k] times effects[j], in the order of j, each term added by
// a fused multiplication and addition. An angle beyond MostAngle counts as this angle. An angle that is NaN
// has two NaNs. The bits of all other results are the same on every machine. It panics if by has another length.
func Waves(dst []float32, by, effects []float64, amplitude float64) {
	pairs, columns := len(dst)/2, len(effects)
	if len(dst) != 2*pairs || len(by) != pairs*columns {
		panic(fmt.Sprintf("repromath: %d frequencies of %d effects for %d waves", len(by), columns, len(dst)))
	}
	if columns > 0 && wavesAtOnce(dst, by, effects, amplitude) {
		return
	}
	for k := range pairs {
		angle := 0.
		for j, e := range effects {
			angle = math.FMA(by[j*pairs+k], e, angle)
		}
		sin, cos := SinCos(min(max(angle, -MostAngle), MostAngle))
		dst[2*k], dst[2*k+1] = float32(amplitude*cos), float32(amplitude*sin)
	}
}
