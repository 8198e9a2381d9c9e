//go:build !amd64

package repromath

// expsAtOnce returns 0, since there are no vector instructions for exponentials on this architecture:
// Exps then computes them one by one.
func expsAtOnce(dst, x []float64) int { return 0 }

// tanhsAtOnce returns 0 for the same reason.
func tanhsAtOnce(dst, slopes, u []float64, scale float64) int { return 0 }

// wavesAtOnce returns false for the same reason.
func wavesAtOnce(dst []float32, by, effects []float64, amplitude float64) bool { return false }
