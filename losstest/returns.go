package losstest

import (
	"math"

	"github.com/stillpoint-dp/stillpoint/loss"
)

// checkReturns reports whether the methods of l return for ordinary records: rows of norm 0, 1/2
// and 1, parameters of norm 0, 1 and 1000, and valid targets. The check is needed because a session reports
// nothing if a loss panics or ends its goroutine: the session treats the record as malformed. A loss that
// always panics would therefore be trained on zeros only.
func checkReturns(fs *findings, l loss.Loss) bool {
	ok := true
	for _, dim := range []int{1, 3} {
		for _, length := range []float64{0, .5, 1} {
			for _, size := range []float64{0, 1, 1e3} {
				for _, y := range targetsOf(l) {
					for what, ask := range evaluations(l, dim, size, float32(length), y) {
						if !returns(ask) {
							fs.add(ruleReturns, "%s panics at a row of norm %v, a point of norm %v, y = %v", what, length, size, y)
							ok = false
						}
					}
				}
			}
		}
	}
	return ok
}

// targetsOf returns some targets that the loss accepts.
func targetsOf(l loss.Loss) []float64 {
	switch l.Target() {
	case loss.Real:
		return []float64{-1, 1, 0, .5}
	case loss.Classes:
		classes := make([]float64, loss.ClassCount(l))
		for k := range classes {
			classes[k] = float64(k)
		}
		return classes
	}
	return []float64{-1, 1}
}

// evaluations returns a function for each method of l, by the method's name, that calls the method. The row
// has dim features, of which the last is length and all others are 0. The last parameter is size and all
// others are 0. y is the target.
func evaluations(l loss.Loss, dim int, size float64, length float32, y float64) map[string]func() {
	w, x := make([]float64, loss.Parameters(l, dim)), make([]float32, dim)
	w[len(w)-1], x[dim-1] = size, length
	dst := make([]float64, len(w))
	for j := range dst {
		dst[j] = math.NaN()
	}
	switch l := l.(type) {
	case loss.RankOne:
		z := []float64{size * float64(length)}
		return map[string]func(){
			"Values":     func() { l.Values(dst[:1], z, []float64{y}) },
			"Slopes":     func() { l.Slopes(dst[:1], z, []float64{y}) },
			"Curvatures": func() { l.Curvatures(dst[:1], z, []float64{y}) },
		}
	case loss.Margins:
		z := make([]float64, l.K())
		z[l.K()-1] = size * float64(length)
		return map[string]func(){
			"Values": func() { l.Values(dst[:1], z, []float64{y}) },
			"Slopes": func() { l.Slopes(make([]float64, len(z)), z, []float64{y}) },
			"CurvaturesAlong": func() {
				l.CurvaturesAlong(make([]float64, len(z)), z, make([]float64, len(z)), []float64{y})
			},
		}
	case loss.General:
		all := map[string]func(){
			"Value":    func() { l.Value(w, x, y) },
			"Gradient": func() { l.Gradient(dst, w, x, y) },
		}
		if l, ok := l.(loss.Twice); ok {
			all["HessianVector"] = func() { l.HessianVector(dst, w, make([]float64, len(w)), x, y) }
		}
		return all
	}
	return nil
}

// returns reports whether f returns. It returns false if f panics or ends its goroutine.
func returns(f func()) bool {
	did := make(chan bool)
	go func() {
		ok := false
		defer func() { _ = recover(); did <- ok }()
		f()
		ok = true
	}()
	return <-did
}
