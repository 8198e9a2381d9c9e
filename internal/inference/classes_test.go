package inference

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// basis returns V of k classes, row after row, column by column from Margins of unit vectors.
func basis(k int) [][]float64 {
	v := make([][]float64, k)
	for i := range k - 1 {
		one := make([]float64, k-1)
		one[i] = 1
		for j, x := range Margins(one) {
			v[j] = append(v[j], x)
		}
	}
	return v
}

// TestMarginsOfClasses tests the coordinates of the margins of several classes: V has orthonormal columns that add up to 0,
// and the differences of the classes and the first are T times the coordinates, for the positive root T of I + 1 1'.
func TestMarginsOfClasses(t *testing.T) {
	for k := 2; k < 6; k++ {
		v, n := basis(k), k-1
		for a := range n {
			sum := 0.
			for j := range k {
				sum += v[j][a]
			}
			if !(math.Abs(sum) <= 1e-12) {
				t.Errorf("%d classes: column %d adds up to %v", k, a, sum)
			}
			for b := range n {
				product, square, own := 0., 0., 0.
				if a == b {
					own = 1
				}
				for j := range k {
					product += v[j][a] * v[j][b]
				}
				for c := range n { // T is symmetric, and T T = I + 1 1'
					square += (v[c+1][a] - v[0][a]) * (v[c+1][b] - v[0][b])
				}
				if !(math.Abs(product-own) <= 1e-12) || !(math.Abs(square-own-1) <= 1e-12) ||
					!(math.Abs(v[a+1][b]-v[0][b]-v[b+1][a]+v[0][a]) <= 1e-12) || !(v[a+1][a]-v[0][a] > 1) {
					t.Errorf("%d classes: columns %d and %d: product %v, square %v", k, a, b, product, square)
				}
			}
		}
	}
	if got := Margins([]float64{3}); !(math.Abs(got[0]+3/math.Sqrt2) <= 1e-12) || !(math.Abs(got[1]-3/math.Sqrt2) <= 1e-12) {
		t.Errorf("two classes: %v", got)
	}
}

// TestShapeOfClasses works out the shape of three classes from that of a row: coefficients of the classes but the first, one
// after the other, in the metric T (x) P, and what is released of all classes multiplied by V'.
func TestShapeOfClasses(t *testing.T) {
	row := &Shape{Columns: []Column{{Feature: 1, Level: true}, {Feature: 3, Kept: true}}, Metric: mat.NewSymDense(2, []float64{2, .5, .5, 1}),
		Seen: mat.NewSymDense(2, []float64{.7, .1, .1, .9}), Reach: 3, Last: 4}
	s := row.Classes(3, 4)
	v := basis(3)
	if want := []Column{{Feature: 5, Level: true}, {Feature: 7, Kept: true}, {Feature: 9, Level: true}, {Feature: 11, Kept: true}}; !slices.Equal(s.Columns,
		want) || s.Last != 4 || s.Reach != 3 || len(row.Columns) != 2 || row.Columns[0].Feature != 1 {
		t.Errorf("columns %v: must be %v", s.Columns, want)
	}
	for i := range 2 {
		for j := range 2 {
			root := v[i+1][j] - v[0][j] // of I + 1 1'
			for p := range 2 {
				for q := range 2 {
					seen := 0.
					if i == j {
						seen = row.Seen.At(p, q)
					}
					if got, want := s.Metric.At(2*i+p, 2*j+q), root*row.Metric.At(p, q); !(math.Abs(got-want) <= 1e-12) {
						t.Errorf("metric of classes %d and %d: %v: must be %v", i, j, got, want)
					}
					if got := s.Seen.At(2*i+p, 2*j+q); got != seen {
						t.Errorf("moment of classes %d and %d: %v: must be %v", i, j, got, seen)
					}
				}
			}
		}
	}
	g := []float64{11, 1, 12, -2, 13, 3, 14, .5, 15, -1, 16, 2}
	reduced := s.Reduce(g)
	for i := range 2 {
		for p, feature := range []int{1, 3} {
			want := 0.
			for class := range 3 {
				want += v[class][i] * g[4*class+feature]
			}
			if got := reduced[2*i+p]; !(math.Abs(got-want) <= 1e-12) {
				t.Errorf("entry %d: %v: must be %v", 2*i+p, got, want)
			}
		}
	}
}

// TestPairsByHand compares the two forms of each class with h_k - h_1 and h_k + h_1 - 2m, where m is the mean of the h_j under
// the probabilities at the margins, and the changes that they make of a step.
func TestPairsByHand(t *testing.T) {
	at, h := []float64{.4, -.7}, []float64{.3, .9}
	z, change := Margins(at), Margins(h)
	sum, mean := 0., 0.
	for j, v := range z {
		sum += math.Exp(v)
		mean += math.Exp(v) * change[j]
	}
	mean /= sum
	list := pairs(at)
	for k, p := range list {
		for form, want := range []float64{change[k+1] - change[0], change[k+1] + change[0] - 2*mean} {
			if got := along(p[form], h); len(got) != 1 || !(math.Abs(got[0]-want) <= 1e-12) {
				t.Errorf("class %d, form %d: %v: must be %v", k, form, got, want)
			}
		}
	}
	if one := pairs([]float64{3}); len(list) != 2 || len(one) != 1 || !slices.Equal(one[0][0], []float64{1}) || !slices.Equal(one[0][1], []float64{1}) {
		t.Errorf("of one margin: %v", one)
	}
	// Of rows with two coordinates: each coordinate has the form's change, and covariances are those of the forms.
	if got := along([]float64{2, -1}, []float64{1, 2, 10, 30}); !slices.Equal(got, []float64{-8, -26}) {
		t.Errorf("%v", got)
	}
	c := mat.NewSymDense(4, []float64{1, 2, 3, 4, 2, 5, 6, 7, 3, 6, 8, 9, 4, 7, 9, 10})
	form, row := mat.NewVecDense(2, []float64{2, -1}), mat.NewVecDense(2, []float64{3, -5})
	got := mat.Inner(form, between(c, 2, func(of mat.Matrix) float64 { return mat.Inner(row, of, row) }), form)
	if want := 9*(4*1-4*3+8.) - 30*(4*2-2*4-2*6+9.) + 25*(4*5-4*7+10.); !(math.Abs(got-want) <= 1e-12) {
		t.Errorf("variance along a row: %v: must be %v", got, want)
	}
}

// TestFitOfClasses works out what the fit of three classes says of each class but the first: dropped and absorbed features, and
// the part of a row's margin that a step leaves out.
func TestFitOfClasses(t *testing.T) {
	row := &Shape{Columns: []Column{{Feature: 0, Kept: true}}, Seen: mat.NewSymDense(1, []float64{.5})}
	e := &Estimate{Method: Wald, B: []float64{0, 0}, Step: []float64{.6, -.4}, StepCovariance: mat.NewSymDense(2, []float64{.02, .01, .01, .03}),
		Sampling: mat.NewSymDense(2, []float64{.01, .004, .004, .02})}
	margins := []float64{.2, -.3, .6}
	v := basis(3)
	for _, ahead := range [][]float64{nil, {.5, -.3}} {
		f := &Fit{Dropped: []int{2, 0}, Absorbed: []Absorbed{{2, 1, -.75, .125}}}
		f.OfClasses(e, row, margins, ahead, 3)
		if !slices.Equal(f.Dropped, []int{5, 3, 8, 6}) || !slices.Equal(f.Absorbed, []Absorbed{{5, 4, -.75, .125}, {8, 7, -.75, .125}}) {
			t.Errorf("dropped %v, absorbed %v", f.Dropped, f.Absorbed)
		}
		sum := 0.
		for _, z := range margins {
			sum += math.Exp(z)
		}
		most := 0.
		for k := range 2 {
			var forms [2][2]float64
			for i := range 2 {
				mean := 0.
				for j, z := range margins {
					mean += math.Exp(z) * v[j][i] / sum
				}
				forms[0][i], forms[1][i] = v[k+1][i]-v[0][i], v[k+1][i]+v[0][i]-2*mean
			}
			dot := func(form [2]float64, of []float64) float64 { return form[0]*of[0] + form[1]*of[1] }
			square := func(form [2]float64, m *mat.SymDense) float64 {
				return form[0]*form[0]*m.At(0, 0) + 2*form[0]*form[1]*m.At(0, 1) + form[1]*form[1]*m.At(1, 1)
			}
			var move, left [2]float64
			for i, form := range forms {
				noise := .5 * square(form, e.StepCovariance)
				move[i] = max(0, .5*dot(form, e.Step)*dot(form, e.Step)-noise)
				left[i] = move[i]
				if ahead != nil {
					apart := dot(form, e.Step) - dot(form, ahead)
					left[i] = min(move[i], .5*apart*apart+noise-.5*square(form, e.Sampling))
				}
			}
			want := (math.Sqrt(move[0]*left[1]) + math.Sqrt(move[1]*left[0])) / 4
			if !(math.Abs(f.Allowances[k]-want) <= 1e-12) || want == 0 {
				t.Errorf("class %d, ahead %v: %v: must be %v", k, ahead, f.Allowances[k], want)
			}
			most = max(most, want)
		}
		if !(math.Abs(f.Allowance-most) <= 1e-12) {
			t.Errorf("the largest of %v is %v", f.Allowances, f.Allowance)
		}
	}
	e.Method = NotIdentified
	f := new(Fit)
	if f.OfClasses(e, row, margins, nil, 3); !slices.Equal(f.Allowances, []float64{0, 0}) || f.Allowance != 0 {
		t.Errorf("not identified: %+v", f)
	}
}
