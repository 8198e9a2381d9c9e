package coverage

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/stillpoint-dp/stillpoint/dataset"
)

// least is the fit without privacy of the features that the schema of a private fit makes of rows: knots, for example,
// are of that fit alone.
type least struct {
	weights  []float64
	variance *mat.SymDense // of the weights, by sampling
}

// own returns the least mean logistic loss over rows of text, by Newton's method. It shares the encoding of rows with
// the product and nothing else. Weights along which rows do not differ stay about 0.
func own(s *dataset.Schema, header []string, rows [][]string) (least, error) {
	m, err := s.Bind(header)
	if err != nil {
		return least{}, err
	}
	type sparse struct {
		at []int
		x  []float64
		y  float64
	}
	var list []sparse
	dense := make([]float32, s.Dim())
	for _, cells := range rows {
		y, ok := m.Encode(dense, cells)
		if !ok {
			continue
		}
		r := sparse{y: (y + 1) / 2}
		for j, v := range dense {
			if v != 0 {
				r.at, r.x = append(r.at, j), append(r.x, float64(v))
			}
		}
		list = append(list, r)
	}
	out := least{weights: make([]float64, s.Dim()), variance: mat.NewSymDense(s.Dim(), nil)}
	for range 60 {
		g, h := mat.NewVecDense(s.Dim(), nil), mat.NewSymDense(s.Dim(), nil)
		for _, r := range list {
			z := 0.
			for i, j := range r.at {
				z += r.x[i] * out.weights[j]
			}
			p := 1 / (1 + math.Exp(-z))
			for i, j := range r.at {
				g.SetVec(j, g.AtVec(j)+(p-r.y)*r.x[i])
				for k, to := range r.at[i:] {
					h.SetSym(j, to, h.At(j, to)+p*(1-p)*r.x[i]*r.x[i+k])
				}
			}
		}
		for j := range s.Dim() {
			h.SetSym(j, j, h.At(j, j)+1e-9*float64(len(list)))
		}
		var factor mat.Cholesky
		step := mat.NewVecDense(s.Dim(), nil)
		if !factor.Factorize(h) || factor.SolveVecTo(step, g) != nil || factor.InverseTo(out.variance) != nil {
			break // a level whose rows are all of one class: its weight has no minimum
		}
		for j := range out.weights {
			out.weights[j] -= step.AtVec(j)
		}
		if mat.Norm(step, 2) < 1e-6 {
			break
		}
	}
	return out, nil
}

// of returns the value of a term and its standard error by sampling.
func (l least) of(t dataset.Term) (value, deviation float64) {
	v := mat.NewVecDense(len(l.weights), nil)
	for _, p := range t.Parts {
		v.SetVec(p.Feature, v.AtVec(p.Feature)+p.Factor)
	}
	return t.Of(l.weights), math.Sqrt(mat.Inner(v, l.variance, v))
}
