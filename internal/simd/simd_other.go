//go:build !amd64

package simd

// AtOnce reports whether the functions of this package work on several records at a time on this machine.
func AtOnce() bool { return false }

// The functions return the number of records, or numbers, that were computed by vector instructions:
// none on this architecture.

func dotsAtOnce(dst, w []float64, step int, x []float64, m int) int    { return 0 }
func squaresAtOnce(dst, x []float64, m int) int                        { return 0 }
func fusedSquaresAtOnce(dst, x []float64, m int) int                   { return 0 }
func largestAtOnce(dst, x []float64, m int) int                        { return 0 }
func timesAtOnce(dst, x, f []float64, m int) int                       { return 0 }
func addAtOnce(dst []float64, a float64, x []float64) int              { return 0 }
func roundedAtOnce(x []float64) (sum int64, i int)                     { return 0, 0 }
func roundedDotAtOnce(x, y []float64) (sum int64, i int)               { return 0, 0 }
func rotateAtOnce(x []float64, n, first, step int, c, s []float64) int { return 0 }
func productsAtOnce(c []float64, cs int, l []float64, ls int, b []float64, bs, m int) bool {
	return false
}
func roundedProductsAtOnce(c []float64, cs int, l []float64, ls int, b []float64, bs, m int) bool {
	return false
}

func sidesAtOnce(s *[4]float64, y, a []float64, stride int, v []float64, u *[4]float64) bool {
	return false
}
