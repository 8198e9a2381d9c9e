package inference

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Released holds the quantities that were released about the rows at a point b, in the coordinates of the
// metric P (the preconditioner). The package documentation defines the symbols.
type Released struct {
	// Records is n, the number of records. Under add-or-remove it is the declared number.
	Records float64
	// At is the point b at which the quantities were released.
	At []float64
	// Gradient is the released gradient g, and GradientSigma is a, the standard deviation of the
	// noise in each coordinate of g.
	Gradient      []float64
	GradientSigma float64
	// Curvature is the released Hessian H, and CurvatureSigma is sigma, the standard deviation of
	// the noise in a diagonal entry of H.
	Curvature      *mat.SymDense
	CurvatureSigma float64
	// Middle is S, the released mean of the outer products of the records' gradients. MiddleSigma is the
	// standard deviation of the noise in a diagonal entry of S.
	Middle      *mat.SymDense
	MiddleSigma float64
}

// Method names the formula by which intervals are computed.
type Method string

const (
	// Wald means that an interval is the estimate plus and minus a multiple of its standard error.
	Wald Method = "wald"
	// Region means that an interval is the projection of a Fieller region. This method is used if the
	// smallest eigenvalue of the curvature is close to the noise of the curvature.
	Region Method = "region"
	// NotIdentified means that the Fieller region is unbounded or empty, or that the curvature has an
	// eigenvalue that is not positive. No interval is stated.
	NotIdentified Method = "not identified"
)

// leastEdges is the smallest eigenvalue of the curvature for which Wald intervals are used, in multiples of
// the largest eigenvalue to expect of its noise (the function Edge). The value was chosen with a prototype,
// before the designs existed on which coverage is measured (lab/results/inference.md, "Coverage").
const leastEdges = 2

// Estimate is an estimate of the coefficients b, with its covariance, in the coordinates of the
// metric P (the preconditioner).
type Estimate struct {
	Method Method
	Level  float64
	B      []float64
	// Covariance is the covariance of the estimate's error due to sampling and privacy noise. With Method
	// Region it is the matrix C for which z sqrt(c'Cc) is the half-width of the interval of c'b, with z =
	// Quantile(Level). It is nil with Method NotIdentified.
	Covariance *mat.SymDense
	// Sampling is the covariance of the estimate's error due to sampling alone. It is nil with Method
	// NotIdentified.
	Sampling *mat.SymDense
	// Step is B minus the point of the release. With Method Wald it is the Newton step -H^-1 g, with g the
	// released gradient and H the released curvature. With Method Region it leads to the centre of the
	// region, and with Method NotIdentified it is 0. StepCovariance is the part of the covariance of -H^-1
	// g that is due to sampling and to the noise in g, without the noise in H.
	Step           []float64
	StepCovariance *mat.SymDense
}

// Edge returns approximately the largest eigenvalue of a symmetric k x k matrix of normal noise, with
// standard deviation sigma on its diagonal and sigma/sqrt 2 off the diagonal: sigma sqrt(2k).
func Edge(sigma float64, k int) float64 { return sigma * math.Sqrt(2*float64(k)) }

// Quantile returns the number z for which a standard normal variable lies in [-z, z] with
// probability level.
func Quantile(level float64) float64 { return math.Sqrt2 * math.Erfinv(level) }

// CheckLevel returns an error unless the coverage level of an interval is in [.5, .999].
func CheckLevel(level float64) error {
	if !(level >= .5 && level <= .999) {
		return fmt.Errorf("level = %v: must be between 0.5 and 0.999", level)
	}
	return nil
}

func (r Released) validate() error {
	k := len(r.At)
	switch {
	case k == 0 || len(r.Gradient) != k || r.Curvature == nil || r.Curvature.SymmetricDim() != k || r.Middle == nil ||
		r.Middle.SymmetricDim() != k:
		return errors.New("inference: gradient, curvature and middle must have as many columns as the point")
	case !(r.Records > 0) || !(r.GradientSigma > 0) || !(r.CurvatureSigma >= 0) || !(r.MiddleSigma >= 0):
		return errors.New("inference: the number of records and the noise must be > 0")
	}
	return nil
}

// Solve computes the estimate of the coefficients and its covariance from the released quantities. The
// method depends on the smallest eigenvalue of the curvature: Wald if it is at least leastEdges edges (the
// function Edge), Region if it is smaller but positive, and NotIdentified otherwise or if the Fieller
// region is not bounded. level is the coverage of the intervals, in [.5, .999].
func Solve(r Released, level float64) (*Estimate, error) {
	if err := cmp.Or(r.validate(), CheckLevel(level)); err != nil {
		return nil, err
	}
	k := len(r.At)
	h, err := Decompose(r.Curvature)
	if err != nil {
		return nil, err
	}
	s, err := Decompose(r.Middle)
	if err != nil {
		return nil, err
	}
	g := mat.NewVecDense(k, r.Gradient)
	sampling := s.With(func(v float64) float64 { return max(v, 0) / r.Records })
	v := mat.NewSymDense(k, nil)
	v.CopySym(sampling)
	for j := range k {
		v.SetSym(j, j, v.At(j, j)+r.GradientSigma*r.GradientSigma)
	}
	e := &Estimate{Level: level}
	if h.Values[0] >= leastEdges*Edge(r.CurvatureSigma, k) && h.Values[0] > 0 {
		e.wald(r, h, g, v, sampling)
		return e, nil
	}
	if h.Values[0] <= 0 { // a convex loss has no such eigenvalue: it is due to noise
		e.none(r)
		return e, nil
	}
	return e, e.region(r, g, v, sampling)
}

// wald fills in e by the method Wald: the estimate after the Newton step, and the covariances. h is the
// eigendecomposition of the curvature, g the gradient and v its covariance V of the package documentation.
// sampling is the part of v that is due to sampling.
func (e *Estimate) wald(r Released, h *Spectrum, g *mat.VecDense, v, sampling *mat.SymDense) {
	k := len(r.At)
	inverse := h.With(func(v float64) float64 { return 1 / v })
	d := mat.NewVecDense(k, nil)
	d.MulVec(inverse, g)
	e.Method = Wald
	e.step(r, d)
	e.StepCovariance = Between(inverse, v)
	whole := mat.NewSymDense(k, nil)
	whole.CopySym(v)
	half := r.CurvatureSigma * r.CurvatureSigma / 2
	length := mat.Dot(d, d)
	for j := range k {
		whole.SetSym(j, j, whole.At(j, j)+half*length)
	}
	whole.SymRankOne(whole, half, d)
	e.Covariance, e.Sampling = Between(inverse, whole), Between(inverse, sampling)
}

// region fills in e by the method Region: the estimate is the centre of the Fieller region, and the
// covariance is the matrix that gives the intervals. If the region is unbounded or empty, the method
// becomes NotIdentified. g is the gradient, v its covariance V of the package documentation, and sampling
// the part of v that is due to sampling. K is the matrix K there.
func (e *Estimate) region(r Released, g *mat.VecDense, v, sampling *mat.SymDense) error {
	k := len(r.At)
	e.none(r)
	z := Quantile(e.Level)
	chi := z * z
	of, err := Decompose(v)
	if err != nil {
		return err
	}
	n := of.With(func(v float64) float64 { return 1 / v })
	kappa := r.CurvatureSigma * r.CurvatureSigma / of.Values[0]
	K := Between(r.Curvature, n)
	for j := range k {
		K.SetSym(j, j, K.At(j, j)-chi*kappa)
	}
	ks, err := Decompose(K)
	if err != nil {
		return err
	}
	// An almost singular K is treated as indefinite, since rounding errors decide the sign of its smallest
	// eigenvalue.
	if !(ks.Values[0] > 1e-9*ks.Values[k-1]) {
		return nil
	}
	inverse := ks.With(func(v float64) float64 { return 1 / v })
	weighted, q, d := mat.NewVecDense(k, nil), mat.NewVecDense(k, nil), mat.NewVecDense(k, nil)
	weighted.MulVec(n, g)
	q.MulVec(r.Curvature, weighted)
	d.MulVec(inverse, q)
	radius := mat.Dot(q, d) - mat.Dot(g, weighted) + chi
	if !(radius > 0) {
		return nil
	}
	e.Method = Region
	e.step(r, d)
	e.Covariance = mat.NewSymDense(k, nil)
	e.Covariance.ScaleSym(radius/chi, inverse)
	var h mat.Dense
	if err := h.Inverse(r.Curvature); err != nil {
		return errors.New("inference: the released curvature is singular")
	}
	half := Symmetric(&h)
	e.Sampling, e.StepCovariance = Between(half, sampling), Between(half, v)
	return nil
}

// none sets the method to NotIdentified. The estimate becomes the point r.At, without a covariance.
func (e *Estimate) none(r Released) {
	e.Method, e.B, e.Step = NotIdentified, append([]float64(nil), r.At...), make([]float64, len(r.At))
}

// step sets the estimate to r.At - d and the step to -d. d is H^-1 g or, for a region, the corresponding
// vector to its centre.
func (e *Estimate) step(r Released, d *mat.VecDense) {
	e.B, e.Step = make([]float64, len(r.At)), make([]float64, len(r.At))
	for j, at := range r.At {
		e.B[j], e.Step[j] = at-d.AtVec(j), -d.AtVec(j)
	}
}

// firstEdges is the smallest eigenvalue that NewtonStep takes the curvature for, in edges of its noise.
const firstEdges = 3

// NewtonStep returns the Newton step -H^-1 g for a released gradient g and a released curvature H. sigma is the
// standard deviation of the noise in a diagonal entry of H. Eigenvalues of H below the floor of firstEdges edges of the
// noise (the function Edge) are raised to that floor. This keeps the step short along directions that the noise hides.
func NewtonStep(gradient []float64, curvature *mat.SymDense, sigma float64) ([]float64, error) {
	k := len(gradient)
	h, err := Decompose(curvature)
	if err != nil {
		return nil, err
	}
	least := max(firstEdges*Edge(sigma, k), 1e-12)
	step := times(h.With(func(v float64) float64 { return 1 / max(v, least) }), gradient)
	floats.Scale(-1, step)
	return step, nil
}

// Ahead predicts a share of the Newton step at a point at which the gradient g has been released and the curvature has
// not. It returns share times -H^-1 g, where H is the curvature released at an earlier point. sigma is the standard
// deviation of the noise in a diagonal entry of H. Ahead returns nil if the smallest eigenvalue of H is below
// leastEdges times the largest eigenvalue to expect of the noise in H, since the step could then have any direction.
func Ahead(gradient []float64, curvature *mat.SymDense, sigma, share float64) ([]float64, error) {
	h, err := Decompose(curvature)
	if err != nil || h.Values[0] < leastEdges*Edge(sigma, len(gradient)) {
		return nil, err
	}
	step, err := NewtonStep(gradient, curvature, sigma)
	floats.Scale(share, step)
	return step, err
}

// Allowance returns a bound on the remainder of the Newton step (the part that is not linear in the step),
// on the scale of the margin. moment is the mean of z z' over the rows z = P x, where P is the metric (the
// preconditioner). curvature is the relative change of the loss's second derivative per unit of the margin. It
// is 0 for a quadratic loss. The bound is 0 if curvature is 0 or the method is NotIdentified.
//
// Let m be the mean squared change of the margin by the step, minus the mean squared change to expect from
// noise alone, or 0 if that is negative. If the curvature was released at the point where the step begins
// (ahead is nil), the bound is curvature m/2. If the curvature was released halfway along the predicted step
// ahead, the bound is curvature sqrt(m l)/2. l is the mean squared difference between the step and ahead in the
// margin, plus the mean squared change that the noise of the gradient explains, but at most m.
func (e *Estimate) Allowance(moment mat.Symmetric, curvature float64, ahead []float64) float64 {
	if e.Method == NotIdentified || curvature == 0 {
		return 0
	}
	return e.remainder(e.over(moment), pair{{1}, {1}}, ahead) * curvature
}

// over returns the mean squared change of margins over rows with the second moment, by a step and by its noise.
func (e *Estimate) over(moment mat.Symmetric) measure {
	return e.measure(moment.SymmetricDim(), func(of []float64) float64 {
		v := mat.NewVecDense(len(of), of)
		return mat.Inner(v, moment, v)
	}, func(of mat.Matrix) float64 {
		var product mat.Dense
		product.Mul(moment, of)
		return mat.Trace(&product)
	})
}

// measure has the mean squared change of the margin by a step, and for the errors of the step and for those of sampling what is
// to expect of the product of the changes of each two margins. A form of the margins multiplies these from both sides.
type measure struct {
	square          func(of []float64) float64
	steps, sampling *mat.SymDense
}

// measure returns the measure of the functions of a change of k numbers and of its covariance.
func (e *Estimate) measure(k int, square func(of []float64) float64, expected func(of mat.Matrix) float64) measure {
	return measure{square, between(e.StepCovariance, k, expected), between(e.Sampling, k, expected)}
}

// moves returns the mean squared change of the margin by the step beyond noise, and the part that ahead did not predict, for
// the margin that the form makes of those of several classes ([Shape.Classes]).
func (e *Estimate) moves(by measure, form, ahead []float64) (move, left float64) {
	v := mat.NewVecDense(len(form), form)
	step, noise := along(form, e.Step), mat.Inner(v, by.steps, v)
	move = max(0, by.square(step)-noise)
	if ahead == nil {
		return move, move
	}
	floats.Sub(step, along(form, ahead))
	return move, min(move, by.square(step)+noise-mat.Inner(v, by.sampling, v))
}

// remainder returns half of the product of the pair's margins, of which one is changed by the step and the other by the part of
// it that ahead did not predict.
func (e *Estimate) remainder(by measure, p pair, ahead []float64) float64 {
	move, left := e.moves(by, p[0], ahead)
	other, rest := e.moves(by, p[1], ahead)
	return .5 * ((math.Sqrt(move*rest) + math.Sqrt(other*left)) / 2)
}

// Allowances returns, for each column, a bound on the remainder of the Newton step in the column's coefficient. The
// remainder is largest where the step moves the margins of few rows far, as of a rare level, which the mean over all
// rows in Allowance hides. For column j, the rows on which it acts are taken as those with the level or, for a number,
// as rows at the bound that is farther from its mean. Their mean row x follows from the released second moment by
// regression on the column. With D the change of the margin of x by the step and A its change by the predicted step
// ahead, at the middle of which the curvature was released, the remainder of the margin is at most
// bend D (D - A)/2, and D^3/24 if there is a predicted step. bend is a bound on the relative change of the loss's second derivative between two margins.
// intercept is the value of the last column in every row. Of several classes, for which s is the shape of the rows, the changes
// are those of the pairs of margins of each class (the function pairs).
func (e *Estimate) Allowances(s *Shape, intercept float64, bend func(from, to float64) float64, ahead []float64) []float64 {
	k := len(s.Columns)
	out := make([]float64, len(e.B))
	if e.Method == NotIdentified {
		return out
	}
	for j := range k - 1 {
		mean := s.Moment.At(j, k-1) / intercept
		variance := s.Moment.At(j, j) - mean*mean
		bound := -math.Copysign(intercept, mean)
		if s.Columns[j].Level {
			bound = s.Moment.At(j, j) / mean // the value of an indicator
		}
		if !(variance > 0) || s.Columns[j].Level && !(mean > 0) {
			continue
		}
		x := make([]float64, k)
		for i := range x {
			of := s.Moment.At(i, k-1) / intercept
			x[i] = of + (s.Moment.At(i, j)-of*mean)/variance*(bound-mean)
		}
		z := mat.NewVecDense(k, times(s.Metric, x)) // the row in the coordinates of the metric
		dot := func(of []float64) float64 { return mat.Dot(z, mat.NewVecDense(k, of)) }
		at := e.measure(k, func(of []float64) float64 { return dot(of) * dot(of) }, func(of mat.Matrix) float64 { return mat.Inner(z, of, z) })
		var from, to []float64
		for i := 0; i < len(e.B); i += k {
			to = append(to, dot(e.B[i:i+k:i+k]))
			from = append(from, to[i/k]-dot(e.Step[i:i+k:i+k]))
		}
		change := 1.
		if len(to) == 1 {
			change = bend(from[0], to[0])
		}
		jump := math.Abs(bound-mean) + variance/math.Abs(bound-mean)
		before := pairs(from)
		for i, p := range pairs(to) {
			cubic := 0.
			if ahead != nil {
				far, _ := e.moves(at, p[0], ahead)
				other, _ := e.moves(at, p[1], ahead)
				cubic = math.Pow(max(far, other), 1.5) / 24 // no loss of a link function here has a fourth derivative above its second
			}
			out[i*k+j] = (max(e.remainder(at, p, ahead), e.remainder(at, before[i], ahead))*change + cubic) / jump
		}
	}
	return out
}

// Spectrum is the eigendecomposition of a symmetric matrix. Its eigenvalues are in increasing order.
type Spectrum struct {
	Values  []float64
	Vectors mat.Dense
}

// Decompose returns the eigendecomposition of a symmetric matrix m. It returns an error if an entry
// is not finite.
func Decompose(m mat.Symmetric) (*Spectrum, error) {
	k := m.SymmetricDim()
	for j := range k {
		for i := range j + 1 {
			if v := m.At(i, j); math.IsNaN(v) || math.IsInf(v, 0) {
				return nil, errors.New("inference: a released number is not finite")
			}
		}
	}
	var e mat.EigenSym
	if !e.Factorize(m, true) {
		return nil, errors.New("inference: a released matrix has no eigenvalues: LAPACK's iteration did not converge")
	}
	s := &Spectrum{Values: e.Values(nil)}
	e.VectorsTo(&s.Vectors)
	return s, nil
}

// With returns the matrix with the same eigenvectors in which each eigenvalue v is replaced by
// f(v).
func (s *Spectrum) With(f func(v float64) float64) *mat.SymDense {
	var scaled, m mat.Dense
	scaled.Apply(func(_, k int, v float64) float64 { return v * f(s.Values[k]) }, &s.Vectors)
	m.Mul(&scaled, s.Vectors.T())
	return Symmetric(&m)
}

// Between returns the product a m a of the symmetric matrices a and m.
func Between(a, m mat.Symmetric) *mat.SymDense {
	var left, whole mat.Dense
	left.Mul(a, m)
	whole.Mul(&left, a)
	return Symmetric(&whole)
}

// Symmetric returns the mean of m and its transpose. m is symmetric except for rounding errors.
func Symmetric(m mat.Matrix) *mat.SymDense {
	k, _ := m.Dims()
	s := mat.NewSymDense(k, nil)
	for j := range k {
		for i := range j + 1 {
			s.SetSym(i, j, (m.At(i, j)+m.At(j, i))/2)
		}
	}
	return s
}

// Absorbed says that the column of the feature By also carries a dropped feature: the two have the correlation
// Correlation in the released second moment. Noise is the standard deviation of the noise in Correlation, or 0 in files that
// lack it.
type Absorbed struct {
	Feature     int     `json:"feature"`
	By          int     `json:"by"`
	Correlation float64 `json:"correlation"`
	Noise       float64 `json:"noise,omitempty"`
}

// A dropped feature is absorbed if its largest correlation with a column is at least leastCorrelation, and leastSeen
// standard deviations of the noise.
const leastCorrelation, leastSeen = .5, 4

// Absorb returns for each dropped feature the column of the formula that carries it, if there is one. moment is the
// released second moment of all features, whose last one is the intercept, and sigma the standard deviation of the
// noise in a diagonal entry.
func Absorb(moment mat.Symmetric, columns []Column, dropped []int, sigma float64) (list []Absorbed) {
	last := moment.SymmetricDim() - 1
	covariance := func(i, j int) float64 {
		return moment.At(i, j) - moment.At(i, last)*moment.At(j, last)/moment.At(last, last)
	}
	for _, j := range dropped {
		best := Absorbed{Feature: j}
		for _, c := range columns {
			a, b, v := max(covariance(j, j), 0), max(covariance(c.Feature, c.Feature), 0), covariance(j, c.Feature)
			size := math.Sqrt(a * b)
			if c.Kept || !(math.Abs(v) >= leastSeen*sigma/math.Sqrt2) || !(math.Abs(v) >= leastCorrelation*size) || size == 0 {
				continue
			}
			if r := min(max(v/size, -1), 1); math.Abs(r) > math.Abs(best.Correlation) {
				best.By, best.Correlation = c.Feature, r
				// To first order, by independent noise in the covariance and in both variances.
				best.Noise = sigma * math.Sqrt(1/(2*a*b)+r*r/4*(1/(a*a)+1/(b*b)))
			}
		}
		if best.Correlation != 0 {
			list = append(list, best)
		}
	}
	return list
}
