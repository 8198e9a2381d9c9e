package report

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/spline"
)

// structure is the set of equations and inequalities (rules) that a schema implies for the second moment G
// of its rows, whatever the rows contain. A row has one level of each category, and the intercept has the
// same value c in all rows. The index 0 stands for the intercept. Therefore
//
//	G_jk = 0                         for two levels of one category; for a number and its missing indicator
//	G_jj = G_j0                      for a level j
//	G_00 = c^2
//	sum of G_jx over j = G_0x         for the levels of a category and every feature x
//	|G_jx| <= G_jj                   for a level j and every feature x
//	G_jk >= 0                        for two levels
//	G_jk = 0                         for two hats (basis functions) that are not both nonzero in any row
//	G a = 0                          for a vector a with a'x = 0 in all rows x
//
// There are two such vectors a for each curve. Up to a constant factor, the sum of its hats is the intercept
// minus the missing indicator, and the sum of its hats weighted by their knots is the number.
//
// If the entries of G for a level are not larger than noise, all of them are set to 0, as if no row had the
// level.
//
// All entries of a released second moment contain noise. The equations remove the noise along directions in
// which all rows are known to be equal. Otherwise this noise would be mistaken for variation of the rows.
type structure struct {
	groups  []dataset.Group
	levels  []bool   // whether a feature is an indicator: its values are 0 and c
	numbers [][2]int // index of a number and of its missing-value indicator
	shared  float64  // c
	hats    []dataset.Hats
	apart   [][2]int // two hats that are not both nonzero in any row
	plain   bool     // no metric was made of the moment: see shrinkNumbers
	flat    []sparse // combinations of features that are 0 in all rows
}

// sparse is a vector that stores its nonzero entries only: values at the indices at.
type sparse struct {
	at     []int
	values []float64
}

// structureOf returns the equations and inequalities that a schema implies for the second moment of its rows. ok is
// false if the schema limits the norm of rows. Rows are then rescaled, and the equations do not hold.
func structureOf(s *dataset.Schema) (x structure, ok bool) {
	if s.Norm() > 0 {
		return x, false
	}
	x = structure{groups: s.Groups(), levels: make([]bool, s.Dim()), shared: 1 / s.Scale()}
	for _, g := range x.groups {
		for j := range g.Width {
			x.levels[g.First+j] = true
		}
	}
	indicated := map[string]bool{}
	for _, c := range s.Columns() {
		indicated[c.Name] = c.Indicator
	}
	for _, r := range s.Ranges() {
		if len(r.Columns) == 1 && indicated[r.Columns[0]] {
			x.levels[r.First+1] = true
			x.numbers = append(x.numbers, [2]int{r.First, r.First + 1})
		}
	}
	x.hats = s.Hats()
	for _, h := range x.hats {
		x.hang(h, s.Dim()-1)
	}
	return x, true
}

// hang adds to the structure the equations that hold for the hats h, the basis functions of a curve or of an
// interaction: which products of hats are 0, and for a curve the two sums of hats. last is the index of the intercept.
func (x *structure) hang(h dataset.Hats, last int) {
	inner := h.Axes[len(h.Axes)-1].Knots
	for j := range h.Width {
		for k := j + 1; k < h.Width; k++ {
			outer := k/inner - j/inner
			together := outer == 0 || outer == 1 && len(h.Axes) == 2
			if within := k%inner - j%inner; !together || within > 1 || within < -1 {
				x.apart = append(x.apart, [2]int{h.First + j, h.First + k})
			}
		}
		for _, a := range h.Axes {
			x.apart = append(x.apart, [2]int{a.Missing, h.First + j})
		}
	}
	if len(h.Axes) > 1 {
		return
	}
	a := h.Axes[0]
	sum := sparse{[]int{last, a.Missing}, []float64{-spline.Scale, spline.Scale}}
	mean := sparse{[]int{a.Number}, []float64{-spline.Scale}}
	for j := range h.Width {
		sum.at, sum.values = append(sum.at, h.First+j), append(sum.values, 1)
		mean.at, mean.values = append(mean.at, h.First+j), append(mean.values, spline.Of(a.Knots, a.At).Position(j%inner))
	}
	x.flat = append(x.flat, sum, mean)
}

// flatten replaces the symmetric matrix g by the nearest symmetric matrix with g a = 0. A second moment
// satisfies this equation if a'x = 0 for every row x.
func (a sparse) flatten(g *mat.SymDense) {
	d := g.SymmetricDim()
	square, both := 0., 0.
	by := make([]float64, d) // g a
	for i, j := range a.at {
		square += a.values[i] * a.values[i]
		for k := range d {
			by[k] += a.values[i] * g.At(j, k)
		}
	}
	for i, j := range a.at {
		both += a.values[i] * by[j]
	}
	whole := make([]float64, d)
	for i, j := range a.at {
		whole[j] = a.values[i]
	}
	for i, j := range a.at {
		for k := range d {
			if whole[k] != 0 && k < j {
				continue // this entry is set when j and k are exchanged
			}
			change := (a.values[i]*by[k] + whole[k]*by[j]) / square
			g.SetSym(j, k, g.At(j, k)-change+a.values[i]*whole[k]*both/(square*square))
		}
	}
}

// seldom is the limit below which a level j is assumed to occur in no row, in units of the standard deviation of the
// noise in a diagonal entry of the second moment G. The limit applies to the mean of the entries G_jj, G_j0 and G_0j (0
// is the intercept). It is 2.6 standard deviations of the noise in this mean.
const seldom = 1.5

// shrink moves each entry G_jk of the estimated second moment g, for a level j and another feature k,
// towards the value that it would have if j and k were independent. The entry moves further if it is small
// relative to the noise. shrink assumes that the mean of feature k among the rows with level j differs from
// its mean over all rows by about one standard deviation of k.
func (x structure) shrink(g *mat.SymDense, sigma float64) {
	last := g.SymmetricDim() - 1
	square := x.shared * x.shared
	for j, level := range x.levels {
		if !level {
			continue
		}
		v := max((g.At(j, j)+2*g.At(j, last))/3, 0)
		for k := range last {
			if k == j || x.levels[k] && k < j {
				continue
			}
			towards(g, j, k, v*g.At(last, k)/square, v/square*v*max(g.At(k, k), 0), sigma*sigma/2)
		}
	}
}

// usualSpread is a number's usual variance over the square of half its range, varied its deviation between numbers, and
// usualAlike the usual correlation of two numbers.
const usualSpread, varied, usualAlike = .11, .08, .4

// shrinkNumbers moves squares and products of numbers towards usual values, by as much as noise hides them.
func (x structure) shrinkNumbers(g *mat.SymDense, sigma float64) {
	last := g.SymmetricDim() - 1
	square := x.shared * x.shared
	part := x.parts()
	for j := range last {
		if part[j] {
			continue
		}
		towards(g, j, j, g.At(j, last)*g.At(j, last)/square+usualSpread*square, varied*square*varied*square, sigma*sigma)
		for k := range j {
			if !part[k] {
				towards(g, j, k, g.At(j, last)*g.At(k, last)/square, usualAlike*usualAlike*max(g.At(j, j)*g.At(k, k), 0), sigma*sigma/2)
			}
		}
	}
}

// parts reports of each feature whether it is an indicator or a hat.
func (x structure) parts() []bool {
	part := slices.Clone(x.levels)
	for _, h := range x.hats {
		for j := range h.Width {
			part[h.First+j] = true
		}
	}
	return part
}

// towards moves an entry of g towards the value want: by more, the larger the variance of its noise is beside its usual
// squared distance from this value, apart.
func towards(g *mat.SymDense, j, k int, want, apart, noise float64) {
	g.SetSym(j, k, want+(g.At(j, k)-want)*apart/(apart+noise))
}

// shrinkHats changes entries of g, an estimate of the second moment of the features: the products of two
// hats (basis functions of a curve) and the products of a hat and another feature. It moves each product
// towards the value that it would have if rows lay evenly between knots and the curve's column were
// independent of the other columns. These products are small beside their noise. The products with the
// intercept, which are the means of hats, are larger and are not changed.
func (x structure) shrinkHats(g *mat.SymDense, sigma float64) {
	last := g.SymmetricDim() - 1
	square := x.shared * x.shared
	for _, h := range x.hats {
		own := make(map[int]bool)
		for _, a := range h.Axes {
			own[a.Number], own[a.Missing] = true, true
		}
		inner := h.Axes[len(h.Axes)-1].Knots
		for j := range h.Width {
			at := h.First + j
			v := max(g.At(at, last), 0)
			for k := range last {
				if own[k] || k >= h.First && k < h.First+h.Width {
					continue
				}
				towards(g, at, k, v*g.At(last, k)/square, v/square*v*max(g.At(k, k), 0), sigma*sigma/2)
			}
			for _, k := range []int{j, j + 1, j + inner - 1, j + inner, j + inner + 1} {
				share := between(j%inner, k%inner)
				if len(h.Axes) == 2 {
					share *= between(j/inner, k/inner)
				} else if j/inner != k/inner {
					share = 0
				}
				if share == 0 || k >= h.Width {
					continue
				}
				want := share * math.Pow(spline.Scale, float64(len(h.Axes))) * (v + max(g.At(h.First+k, last), 0)) / 2
				noise := sigma * sigma
				if k > j {
					noise /= 2
				}
				towards(g, at, h.First+k, want, want*want/25, noise)
			}
		}
	}
}

// between returns the mean product of the hats (basis functions of a curve) of knots i and j over
// rows that are spread evenly around the knots, divided by the mean of one hat.
func between(i, j int) float64 {
	switch i - j {
	case 0:
		return 2. / 3
	case 1, -1:
		return 1. / 6
	}
	return 0
}

// structureRounds is the number of times that impose applies all rules to a second moment. Each rule is a projection
// onto a convex set, and alternating projections converge to a matrix that satisfies all rules.
const structureRounds = 100

// impose first shrinks the estimated second moment g towards likely values, and then changes it so that it
// satisfies the structure's rules, the equations and inequalities that the schema implies. sigma is the
// standard deviation of the noise in a diagonal entry of g.
func (x structure) impose(g *mat.SymDense, sigma float64) {
	d := g.SymmetricDim()
	last := d - 1
	absent := make([]bool, d)
	for j, level := range x.levels {
		absent[j] = level && (g.At(j, j)+2*g.At(j, last))/3 < seldom*sigma
	}
	x.shrink(g, sigma)
	x.shrinkHats(g, sigma)
	if x.plain {
		x.shrinkNumbers(g, sigma)
	}
	for range structureRounds {
		x.separate(g)
		for _, a := range x.flat {
			a.flatten(g)
		}
		x.bound(g, absent)
		g.SetSym(last, last, x.shared*x.shared)
		for _, group := range x.groups {
			addUp(g, group.First, group.First+group.Width)
		}
	}
}

// separate sets the entries of pairs of features to 0 of which no row has both.
func (x structure) separate(g *mat.SymDense) {
	for _, group := range x.groups {
		for j := group.First; j < group.First+group.Width; j++ {
			for k := j + 1; k < group.First+group.Width; k++ {
				g.SetSym(j, k, 0)
			}
		}
	}
	for _, pair := range slices.Concat(x.numbers, x.apart) {
		g.SetSym(pair[0], pair[1], 0)
	}
}

// bound sets G_jj and G_j0 of each level j to their mean, or to 0 if it is negative or the level is absent, and clamps
// the other entries of the level to it. G_j0 counts twice in the mean, since the matrix contains it twice.
func (x structure) bound(g *mat.SymDense, absent []bool) {
	d := g.SymmetricDim()
	last := d - 1
	for j, level := range x.levels {
		if !level {
			continue
		}
		v := max((g.At(j, j)+2*g.At(j, last))/3, 0)
		if absent[j] {
			v = 0
		}
		for k := range d {
			least := -v
			if x.levels[k] {
				least = 0
			}
			g.SetSym(j, k, min(max(g.At(j, k), least), v))
		}
		g.SetSym(j, last, v)
		g.SetSym(j, j, v)
	}
}

// addUp changes the entries of a group's levels, from first up to end, with each other feature so that they add up to
// that feature's entry with the intercept.
func addUp(g *mat.SymDense, first, end int) {
	last := g.SymmetricDim() - 1
	for k := range last + 1 {
		if k >= first && k < end {
			continue // the sum over the levels is G_kk, which has been set equal to G_k0
		}
		sum, entries := -g.At(last, k), float64(end-first)
		for j := first; j < end; j++ {
			sum += g.At(j, k)
		}
		if k != last {
			entries++
			g.SetSym(last, k, g.At(last, k)+sum/entries)
		}
		for j := first; j < end; j++ {
			g.SetSym(j, k, g.At(j, k)-sum/entries)
		}
	}
}
