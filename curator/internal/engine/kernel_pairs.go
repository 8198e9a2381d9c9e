package engine

import "math"

// pairsBy computes the same sums as addAllPairs, on machines with vector instructions. It processes four
// features at a time. inner adds the products of these four features with the features after them, which
// are called columns. inner processes some of the columns, from the first on, and returns their number.
// pairsBy adds the products with the remaining columns, and the products among the four features.
func pairsBy(inner func(a *[4][]int64, times []float64, x []float32, stride, rows, columns int) int,
	acc []int64, c []float64, x []float32, stride, dim int) {
	rows := len(c)
	if rows == 0 {
		return
	}
	if dim < 1 || dim > stride || rows > tileRows || (rows-1)*stride+dim > len(x) || len(acc) < dim*(dim+1)/2 {
		panic("engine: rows, coefficients and sums over pairs do not fit each other")
	}
	times := make([]float64, 4*rows)
	var a [4][]int64
	j := 0
	for ; j+4 <= dim; j += 4 {
		for k := range a {
			a[k], acc = acc[:dim-j-k], acc[dim-j-k:]
			near := a[k][:4-k]
			for i, v := range c {
				four := x[i*stride+j+k:][:4-k]
				first := float64(four[0])
				t := float64(float64(v*math.Sqrt2) * first)
				times[4*i+k] = t
				near[0] += round(float64(float64(v*first) * first))
				for l := 1; l < len(four); l++ {
					near[l] += round(float64(t * float64(four[l])))
				}
			}
			a[k] = a[k][4-k:]
		}
		columns := dim - j - 4
		if columns == 0 {
			continue
		}
		done := inner(&a, times, x[j+4:], stride, rows, columns)
		for k := range a {
			for i := range rows {
				behind := x[i*stride+j+4:][done:columns]
				for l, v := range behind {
					a[k][done+l] += round(float64(times[4*i+k] * float64(v)))
				}
			}
		}
	}
	if j < dim {
		addAllPairs(acc, c, x[j:], stride, dim-j)
	}
}

// panel is the number of rows whose lengths in a metric kernel.weigh computes together.
const panel = 32

// weighed is a goroutine's scratch memory for kernel.weigh.
type weighed struct {
	rows []float64 // features of a panel: feature j of row i is rows[j*panel+i]
	sums [4 * panel]float64
}

// turn copies the first dim features of the rows to the goroutine's panel (a block of rows), ordered
// by features, so that the values of one feature are adjacent. If there are fewer rows than a panel
// has, the rest of the panel is zeros.
func (w *weighed) turn(x []float32, rows, stride, dim int) {
	if len(w.rows) != dim*panel {
		w.rows = make([]float64, dim*panel)
	}
	if rows < panel {
		clear(w.rows)
	}
	for i := range rows {
		to := w.rows[i:]
		for j, v := range x[i*stride:][:dim] {
			to[j*panel] = float64(v)
		}
	}
}

// quadraticsBy adds the rows' squared lengths in a metric to dst. It computes the same bits as the
// method quadratics, by the kernel's function weigh. Both add up each row's terms in the same order.
func (r *ruler) quadraticsBy(w *weighed, dst []float64, x []float32, stride int) {
	for len(dst) > 0 {
		n := min(panel, len(dst))
		w.turn(x, n, stride, r.dim)
		j := 0
		for ; j+4 <= r.dim; j += 4 {
			s, t := r.square[j:j+4], w.rows[j*panel:]
			clear(w.sums[:])
			for k := range 3 {
				sums := w.sums[k*panel:][:panel]
				for l := k + 1; l < 4; l++ {
					v := s[k][l-k]
					for i, u := range t[l*panel:][:panel] {
						sums[i] += float64(v * u)
					}
				}
			}
			if len(s[0]) > 4 {
				r.kernel.weigh(&w.sums, s[0][4:], s[1][3:], s[2][2:], s[3][1:], t[4*panel:])
			}
			for k := range s {
				addQuadratics(dst[:n], s[k][0], t[k*panel:], w.sums[k*panel:])
			}
		}
		for ; j < r.dim; j++ {
			sums, t := w.sums[:panel], w.rows[j*panel:]
			clear(sums)
			for k, v := range r.square[j][1:] {
				for i, u := range t[(k+1)*panel:][:panel] {
					sums[i] += float64(v * u)
				}
			}
			addQuadratics(dst[:n], r.square[j][0], t, sums)
		}
		dst = dst[n:]
		if len(dst) > 0 {
			x = x[n*stride:]
		}
	}
}

// addQuadratics adds x_j (S_jj x_j + 2 t) to dst for each row of a panel. first holds the rows' x_j, s is the
// matrix entry S_jj, and sums holds the rows' sums t of S_jk x_k over k > j.
func addQuadratics(dst []float64, s float64, first, sums []float64) {
	for i := range dst {
		f := first[i]
		dst[i] += float64(f * (float64(s*f) + 2*sums[i]))
	}
}

// productsBy sets dst[j][k-j] to the product <row j, row k> for k >= j, by the kernel's function weigh. The
// rows form a symmetric matrix of integers. Their products and sums are exact, so the order of addition
// does not matter.
func productsBy(k kernel, w *weighed, dst, rows [][]float64) {
	d := len(rows)
	for from := 0; from < d; from += panel {
		n := min(panel, d-from)
		if len(w.rows) != d*panel {
			w.rows = make([]float64, d*panel)
		}
		clear(w.rows)
		for j, r := range rows {
			copy(w.rows[j*panel:][:n], r[from:from+n])
		}
		for j := 0; j < from+n; j += 4 {
			clear(w.sums[:])
			var four [4][]float64
			for l := range four {
				four[l] = rows[min(j+l, d-1)][:d]
			}
			k.weigh(&w.sums, four[0], four[1], four[2], four[3], w.rows)
			for l := j; l < min(j+4, d); l++ {
				for i := max(from, l); i < from+n; i++ {
					dst[l][i-l] = w.sums[(l-j)*panel+i-from]
				}
			}
		}
	}
}
