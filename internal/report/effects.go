package report

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/synthetic"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
)

// redraws is the number of draws of the noise in the score of a fit with features of effects, mostWaves the largest
// number of such features in a draw, and unmodelled the spread of fits of one table over that of draws (decision 107).
const redraws, mostWaves, unmodelled = 8, 200, 1.2

// redrawn returns scores of the synthetic rows of p, times unit, as other noise in the releases might have made them;
// nil if the certificate does not have the laws of both stages. Each draw adds noise to the weights of the first stage,
// by the law of its steps, and to the scale of effects. Features of effects follow from these weights and frequencies
// of the draw. The second stage covers its share of the way to the published score, along each eigenvector of the
// features' second moment over p, with its noise.
func (f *Fit) redrawn(p *synthetic.Population, score []float64, unit float64, draws int) (list [][]float64) {
	s, released, second := f.Model.Schema(), (*moment)(f.plan.Effects.Synthetic.Moment), (*trace)(f.plan.Trace)
	first, base := (*trace)(f.plan.Effects.Synthetic.Law), s.WithoutEffects()
	if first == nil || first.linear() != nil || second == nil || second.linear() != nil || second.Moment == nil {
		return nil
	}
	found, _ := s.Effects()
	d, one, ridge := base.Dim(), base.Scale(), second.Moment.Ridge
	bend := second.Level * s.Scale() * s.Scale() // second derivative of the mean loss for a row of length 1
	rows, err := p.Moment(base)
	_, _, shape, wrong := released.matrices()
	if err != nil || wrong != nil {
		return nil
	}
	metric, err := decomposed(shape, released)
	if err != nil {
		return nil
	}
	vary, curved := mat.NewSymDense(d, rows), mat.NewSymDense(d, nil)
	curved.ScaleSym(bend, vary)
	began, err := first.way(metric, curved, found.Weights, metric.draws()[:draws])
	if err != nil {
		return nil
	}
	vary.SymRankOne(vary, -one*one, mat.NewVecDense(d, slices.Clone(rows[d*(d-1):])))
	coins := rand.New(rand.NewPCG(9, 10)) // fixed seed: the draws only approximate an expectation
	// square returns the square of the scale of effects, with noise of the deviation sigma in the moment.
	square := func(weights []float64, sigma float64) (sum float64) {
		for _, r := range base.Ranges() {
			v := mat.NewVecDense(d, nil)
			copy(v.RawVector().Data[r.First:r.First+r.Width], weights[r.First:])
			sum += mat.Inner(v, vary, v) + sigma*mat.Dot(v, v)*coins.NormFloat64()
		}
		return sum
	}
	usual := square(found.Weights, 0)
	for n := range draws {
		drawn := mat.NewVecDense(d, vector.Map(began.noise, func(sd float64) float64 { return sd * coins.NormFloat64() }))
		drawn.AddVec(drawn, began.displaced.RowView(n))
		drawn.MulVec(began.back, drawn)
		drawn.AddVec(drawn, mat.NewVecDense(d, found.Weights))
		of := found
		of.Weights, of.Features, of.Seed = drawn.RawVector().Data, min(of.Features, mostWaves), of.Seed+uint64(n)
		if usual > 0 {
			of.Scale *= math.Sqrt(max(square(of.Weights, released.Sigma)/usual, .1))
		}
		with, err := base.WithEffects(of)
		if err != nil {
			return nil
		}
		k, at := with.Dim(), make([]float64, with.Dim()) // weights with the scores of the first stage
		_, ratio := with.EffectFactors()
		for j, v := range of.Weights {
			at[j] = v / ratio
		}
		at[d-1], at[k-1] = 0, of.Weights[d-1]/ratio
		before, err := scoresOf(p, with, at)
		pull := mat.NewVecDense(k, nil)
		wrong := p.Features(with, func(i int, x []float32, mass float64) {
			for j, v := range x {
				pull.SetVec(j, pull.AtVec(j)+mass*(score[i]-before[i])*float64(v))
			}
		})
		entries, failed := p.Moment(with)
		if err != nil || wrong != nil || failed != nil {
			return nil
		}
		r, err := decomposed(mat.NewSymDense(k, entries), released)
		if err != nil {
			return nil
		}
		pull.MulVec(r.Vectors.T(), pull)
		for i, g := range r.Values {
			g = max(g, 1e-12)
			noise, share := second.respond(bend * g / (g + ridge))
			pull.SetVec(i, share*pull.AtVec(i)/g+noise*coins.NormFloat64()/math.Sqrt(g+ridge))
		}
		pull.MulVec(&r.Vectors, pull)
		vector.Add(at, 1, pull.RawVector().Data)
		after, _ := scoresOf(p, with, at)
		vector.Scale(after, unit)
		list = append(list, after)
	}
	return list
}

// scoresOf returns the scores of the synthetic rows with the given weights.
func scoresOf(p *synthetic.Population, with *dataset.Schema, w []float64) ([]float64, error) {
	out := make([]float64, len(p.Mass))
	return out, p.Features(with, func(i int, x []float32, _ float64) {
		for j, v := range x {
			out[i] += float64(w[j] * float64(v))
		}
	})
}

// predictionNoise says how far noise moves the score of a row; "" without draws. mass has the shares of the rows.
func (f *Fit) predictionNoise(redrawn [][]float64, mass []float64) string {
	if redrawn == nil {
		return ""
	}
	of, _ := f.score()
	square := 0.
	for i, m := range mass {
		at := vector.Map(redrawn, func(scores []float64) float64 { return scores[i] })
		mean := vector.Total(at) / float64(len(at))
		square += m * vector.Sum(at, func(v float64) float64 { return (v - mean) * (v - mean) }) / float64(len(at)-1)
	}
	return fmt.Sprintf(" The noise in the score of a row has a standard deviation of about %s (%s). It is a root mean "+
		"square over the synthetic rows, from %d draws of the noise of both stages and of the random frequencies. The noise "+
		"of single cells below is not stated.", digits(unmodelled*math.Sqrt(square), 2), of, len(redrawn))
}
