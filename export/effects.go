package export

import (
	"slices"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/effects"
	"github.com/stillpoint-dp/stillpoint/internal/repromath"
)

// waves are the features of effects of a model (dataset.Effects): cosines and sines of angles, which are linear in
// the effects of a row. The effects of the columns are further weighted sums over the model's other features, after the
// margin. Both exports leave out two roundings to float32 of Predict, of the features of effects and of the others'
// product with the ratio of a row. Each changes a product of a weight and a feature by at most 6e-8 of it.
type waves struct {
	ranges []dataset.FeatureRange
	// factors and offsets give the angles: angle k is offsets[k] plus the sum of factors[k][j] times effect j.
	factors [][]float64
	offsets []float64
	// cos and sin are the weights of the cosine and the sine of each angle, times the amplitude.
	cos, sin []float64
}

// findWaves replaces the form's weights, for a model with features of effects, by those of its margin and of each
// effect, over the features of the schema without effects. It sets f.waves.
func (f *form) findWaves(s *dataset.Schema) {
	e, ok := s.Effects()
	if !ok {
		return
	}
	amplitude, ratio := s.EffectFactors()
	basis := effects.New(e.Seed, e.Features, e.Centres, e.Scale, amplitude, e.Deviations...)
	base := s.WithoutEffects()
	f.scale, f.share, f.dim = base.Scale(), 1/base.Scale(), base.Dim()
	w := &waves{ranges: base.Ranges()}
	last := f.dim - 1
	for k := range e.Features / 2 {
		factors, offset := basis.Angles(k)
		w.factors, w.offsets = append(w.factors, factors), append(w.offsets, offset)
		w.cos = append(w.cos, f.weights[last+2*k]*amplitude)
		w.sin = append(w.sin, f.weights[last+2*k+1]*amplitude)
	}
	weights := append(slices.Clone(f.weights[:last]), f.weights[len(f.weights)-1])
	for j := range weights {
		weights[j] *= ratio
	}
	for _, r := range w.ranges {
		effect := make([]float64, f.dim)
		copy(effect[r.First:r.First+r.Width], e.Weights[r.First:])
		weights = append(weights, effect...)
	}
	f.weights, f.waves, f.sums = weights, w, 1+len(w.ranges)
}

// within reports whether a weighted sum has the feature with the given index. The effect of a column has the
// features of this column alone.
func (f *form) within(sum, feature int) bool {
	if f.waves == nil || sum == 0 {
		return true
	}
	r := f.waves.ranges[sum-1]
	return feature >= r.First && feature < r.First+r.Width
}

// wave adds the steps that compute the angles of a row from its effects, and its margin from the cosines and sines
// of these. It adds nothing if the model has no features of effects.
func (s *query) wave() {
	if s.waves == nil {
		return
	}
	z := s.own("z", 0)
	angles, terms := []item{{z, z}}, []string{z}
	for k, factors := range s.factors {
		sum := []string{s.literal(s.offsets[k])}
		for j, v := range factors {
			sum = append(sum, s.own("z", 1+j)+" * "+s.literal(v))
		}
		a := s.own("a", k)
		angles = append(angles, item{s.least + "(" + s.greatest + "(" + total(sum) + ", " +
			s.literal(-repromath.MostAngle) + "), " + s.literal(repromath.MostAngle) + ")", a})
		terms = append(terms, "COS("+a+") * "+s.literal(s.cos[k]), "SIN("+a+") * "+s.literal(s.sin[k]))
	}
	s.step("angle", angles...)
	s.step("wave", item{total(terms), z})
}

// wave returns the margin of a model with features of effects from z, the value of the margin without them and
// the effects. It returns z for any other model.
func (g *graph) wave(z string) string {
	if g.waves == nil {
		return z
	}
	effects := make([]int64, len(g.ranges))
	for j := range effects {
		effects[j] = int64(1 + j)
	}
	f := g.op("Gather", []string{z, g.index(effects...)}, "axis", 1)
	var by []float64
	for j := range g.ranges {
		for _, factors := range g.factors {
			by = append(by, factors[j])
		}
	}
	angles := g.op("Add", []string{g.op("MatMul", []string{f, g.matrix(len(g.ranges), by)}), g.row(g.offsets)})
	angles = g.op("Min", []string{g.op("Max", []string{angles, g.number(-repromath.MostAngle)}),
		g.number(repromath.MostAngle)})
	n := len(g.cos)
	sum := g.op("Add", []string{g.op("MatMul", []string{g.op("Cos", []string{angles}), g.matrix(n, g.cos)}),
		g.op("MatMul", []string{g.op("Sin", []string{angles}), g.matrix(n, g.sin)})})
	return g.op("Add", []string{g.op("Gather", []string{z, g.index(0)}, "axis", 1), sum})
}
