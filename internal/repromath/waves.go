package repromath

import (
	"fmt"
	"math"
)

// Waves computes cosines and sines for rows of effects, which follow each other. Row i of dst, stride numbers after the
// one before it, gets the cosine and the sine, each times the amplitude, of one of pairs angles after the other. Angle k is
// the sum over j of by[j*pairs+k] times effect j of the row, in the order of j, each term added by a fused multiplication
// and addition. An angle beyond MostAngle counts as this angle. An angle that is NaN has two NaNs. The bits of all other
// results are the same on every machine. It panics if the lengths do not fit each other.
func Waves(dst []float32, stride, pairs int, by, effects []float64, amplitude float64) {
	columns := len(by) / max(pairs, 1)
	rows := len(effects) / max(columns, 1)
	if pairs < 1 || columns < 1 || rows < 1 || len(by) != pairs*columns || len(effects) != rows*columns ||
		stride < 2*pairs || len(dst) < (rows-1)*stride+2*pairs {
		panic(fmt.Sprintf("repromath: %d frequencies of %d pairs for %d effects, in %d numbers", len(by), pairs, len(effects),
			len(dst)))
	}
	if wavesAtOnce(dst, stride, pairs, by, effects, columns, rows, amplitude) {
		return
	}
	for i := range rows {
		of, to := effects[i*columns:][:columns], dst[i*stride:][:2*pairs]
		for k := range pairs {
			angle := 0.
			for j, e := range of {
				angle = math.FMA(by[j*pairs+k], e, angle)
			}
			sin, cos := SinCos(min(max(angle, -MostAngle), MostAngle))
			to[2*k], to[2*k+1] = float32(amplitude*cos), float32(amplitude*sin)
		}
	}
}
