package report

import (
	"fmt"
	"math"
	"strconv"

	"github.com/stillpoint-dp/stillpoint/internal/synthetic"
)

// mostPairs is the largest number of pairs of columns that the section on interactions draws, and leastPair the
// smallest share of the score's variance of a pair that is drawn.
const (
	mostPairs = 6
	leastPair = .001
)

// population makes the synthetic table of a fit with features of effects again, from the certificate and the model.
// ok is false if the certificate has none.
func (f *Fit) population() (p *synthetic.Population, ok bool) {
	e, found := f.Model.Schema().Effects()
	if !found || f.plan.Effects == nil || f.plan.Effects.Synthetic == nil || f.plan.Effects.Synthetic.Moment == nil ||
		f.plan.Effects.Synthetic.Rows != synthetic.Rows || len(f.Model.Weights()) != f.Model.Schema().Dim() {
		return nil, false
	}
	base := f.Model.Schema().WithoutEffects()
	moment, err := f.plan.Effects.Synthetic.Moment.About0()
	if err != nil {
		return nil, false
	}
	p, err = synthetic.New(base, moment, e.Weights, e.Seed, synthetic.Rows)
	return p, err == nil
}

// interactions makes the section on the interactions that a fit with features of effects found. ok is false for other fits.
func (f *Fit) interactions() (s Section, ok bool) {
	p, ok := f.population()
	if !ok {
		return s, false
	}
	w := f.Model.Weights()
	score := make([]float64, synthetic.Rows)
	if err := p.Features(f.Model.Schema(), func(i int, x []float32, _ float64) {
		for j, v := range x {
			score[i] += float64(w[j] * float64(v))
		}
	}); err != nil {
		return s, false
	}
	bins := p.Bins()
	e := p.Explain(score, bins)
	if len(e.Alone) == 0 || math.IsNaN(e.Sum) {
		return s, false
	}
	recheck := "Its second moment differs from the released one by as much as the certificate states."
	if math.Abs(p.Error-f.plan.Effects.Synthetic.Distance) > 1e-9*p.Error {
		recheck = fmt.Sprintf("Its second moment differs from the released one by %s where the certificate states %s.",
			digits(p.Error, 3), digits(f.plan.Effects.Synthetic.Distance, 3))
	}
	s = Section{Title: "Interactions", Parts: []Part{Note(fmt.Sprintf("How the score varies is computed from the model and "+
		"from a synthetic table of %s rows, which was made again from the certificate: its columns have about the released "+
		"distributions and relations. %s A sum of functions of single columns explains %s of the score's variance; the "+
		"rest is interactions. Synthetic rows are no persons, and relations of three columns or more are not theirs. Noise of the model is in all figures.",
		Number(synthetic.Rows), recheck, ofVariance(e.Sum)))}}
	bars := Bars{Title: "The share of the score that each column alone explains", X: Axis{Label: "share of the score's variance"},
		Caption: "The share of the variance that the best function of this column alone explains. Shares of columns that " +
			"depend on each other overlap."}
	for j, b := range bins[:min(len(bins), mostBars)] {
		bars.Items = append(bars.Items, Bar{Name: b.Column, Value: e.Alone[j]})
	}
	if bars.check() == nil {
		s.Parts = append(s.Parts, bars)
	}
	for k, pair := range e.Pairs {
		if k >= mostPairs || !(pair.Share >= leastPair) {
			break
		}
		u := Surface{Axes: []SurfaceAxis{{Column: bins[pair.A].Column, Levels: bins[pair.A].Names},
			{Column: bins[pair.B].Column, Levels: bins[pair.B].Names}}, Effect: pair.Effect, Mass: pair.Mass}
		for j, row := range pair.Mass {
			u.Thin = append(u.Thin, make([]bool, len(row)))
			for l, m := range row {
				u.Thin[j][l] = !(m >= thinShare/float64(len(pair.Mass)*len(row)))
			}
		}
		h := f.heat(u)
		label, _, _ := f.axisOf()
		h.Caption = fmt.Sprintf("The mean of the score beyond a sum of functions of single columns: %s. It is %s of the "+
			"score's variance. A dash marks places with few synthetic rows.", label, ofVariance(pair.Share))
		if h.check() == nil {
			s.Parts = append(s.Parts, h)
		}
	}
	return s, true
}

// ofVariance writes a share of the variance as a percentage with two digits.
func ofVariance(of float64) string { return strconv.FormatFloat(100*of, 'g', 2, 64) + " %" }
