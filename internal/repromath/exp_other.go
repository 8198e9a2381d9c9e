//go:build !amd64

package repromath

// expsAtOnce returns 0, since there are no vector instructions for exponentials on this architecture:
// Exps then computes them one by one.
func expsAtOnce(dst, x []float64) int { return 0 }

// logsAtOnce returns 0 for the same reason.
func logsAtOnce(dst, x []float64, of logarithm) int { return 0 }

// softmaxesAtOnce and softmaxPartsAtOnce return 0 for the same reason.
func softmaxesAtOnce(z, class []float64) int               { return 0 }
func softmaxPartsAtOnce(gap, rest, z, class []float64) int { return 0 }

// tanhsAtOnce returns 0 for the same reason.
func tanhsAtOnce(dst, slopes, u []float64, scale float64) int { return 0 }

// wavesAtOnce returns false for the same reason.
func wavesAtOnce(dst []float32, stride, pairs int, by, effects []float64, columns, rows int, amplitude float64) bool {
	return false
}
