package optimizetest

import (
	"math"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

// Problem is an optimization problem with rows and a known minimum.
type Problem struct {
	Name string
	// Public has the public facts of the problem. The number of records and the budget are missing, and
	// [Oracle.Problem] adds them.
	Public  optimize.Problem
	Loss    loss.Loss
	Rows    [][]float32
	Targets []float64
	// Minimiser is the only stationary point.
	Minimiser []float64
	// Minimum is the value of the objective at Minimiser.
	Minimum float64
}

// Problems returns four small problems that every first-order method solves: two quadratics, logistic
// and tanh.
func Problems() []Problem {
	return []Problem{
		quadratic("round quadratic", []float64{1, 1, 1}),
		quadratic("long quadratic", []float64{1, .3, .1, .05}),
		logistic(),
		tanh(),
	}
}

// Config returns the configuration of an oracle that answers about the problem, in which every row
// stands for repeat records.
func (p Problem) Config(b account.Budget, repeat int, seed uint64) Config {
	return Config{Rows: p.Rows, Targets: p.Targets, Repeat: repeat, Loss: p.Loss, Budget: b, Seed: seed}
}

// Gradient returns the objective's gradient at w, without clipping.
func (p Problem) Gradient(w []float64) []float64 {
	g := make([]float64, len(w))
	for i, x := range p.Rows {
		one := make([]float64, len(w))
		switch l := p.Loss.(type) {
		case loss.General:
			l.Gradient(one, w, x, p.Targets[i])
		case loss.RankOne:
			s := make([]float64, 1)
			l.Slopes(s, []float64{inner(w, x)}, p.Targets[i:i+1])
			for j := range one {
				one[j] = s[0] * float64(x[j])
			}
		}
		addTo(g, 1/float64(len(p.Rows)), one)
	}
	if r := p.Public.Regularizer; r != nil {
		r.AddGradient(g, w)
	}
	return g
}

// Objective returns the objective at w.
func (p Problem) Objective(w []float64) float64 {
	var f float64
	for i, x := range p.Rows {
		switch l := p.Loss.(type) {
		case loss.General:
			f += l.Value(w, x, p.Targets[i])
		case loss.RankOne:
			v := make([]float64, 1)
			l.Values(v, []float64{inner(w, x)}, p.Targets[i:i+1])
			f += v[0]
		}
	}
	f /= float64(len(p.Rows))
	if r := p.Public.Regularizer; r != nil {
		f += r.Value(w)
	}
	return f
}

// quadratic returns a quadratic with the given eigenvalues. Its two rows are m + a and m - a around a
// mean m. The minimiser is then m_j/e_j and the minimum -(1/2) sum m_j^2/e_j.
func quadratic(name string, eigenvalues []float64) Problem {
	p := Problem{Name: name, Minimiser: make([]float64, len(eigenvalues))}
	var high, low []float32
	for j, e := range eigenvalues {
		m := e / 4
		if j%2 == 1 {
			m = -m
		}
		high, low = append(high, float32(m+.125)), append(low, float32(m-.125))
		m = (float64(high[j]) + float64(low[j])) / 2
		p.Minimiser[j] = m / e
		p.Minimum -= m * m / e / 2
	}
	p.Rows, p.Targets = [][]float32{high, low}, []float64{0, 0}
	l := Quadratic{Eigenvalues: eigenvalues, Lipschitz: 2, InitialGap: .5}
	p.Loss = l
	p.Public = optimize.Problem{Shape: optimize.Vector(len(eigenvalues)), Constants: l.Constants()}
	return p
}

// positives has, for each axis, the number of positive targets among the ten records on it.
var positives = []int{9, 7, 4}

// axes returns ten records on every axis, each the unit vector of its axis, with their targets.
func axes() (rows [][]float32, targets []float64) {
	for j, k := range positives {
		for i := range 10 {
			x := make([]float32, len(positives))
			x[j] = 1
			y := 1.
			if i >= k {
				y = -1
			}
			rows, targets = append(rows, x), append(targets, y)
		}
	}
	return rows, targets
}

// logistic returns logistic regression on the rows of the function axes. A coordinate of its minimiser is the logit of
// the share of positive targets on the coordinate's axis. The minimum is the mean of the entropies of these shares.
func logistic() Problem {
	l := loss.Logistic()
	p := Problem{Name: "logistic", Loss: l}
	p.Rows, p.Targets = axes()
	p.Public = optimize.Problem{Shape: optimize.Vector(len(positives)), Constants: l.Constants(), RankOne: true}
	for _, k := range positives {
		q := float64(k) / 10
		p.Minimiser = append(p.Minimiser, math.Log(q/(1-q)))
		p.Minimum -= (q*math.Log(q) + (1-q)*math.Log(1-q)) / float64(len(positives))
	}
	return p
}

// tanh returns the loss 1 - tanh(y<w,x>) on the rows of the function axes, with the regularizer
// (.05/2)||w||^2. Along one of d axes, with the share q of positive targets, the derivative is
// -((2q-1)/d) sech^2(w) + .05 w. For q above 1/2 and w from 0 on, the size of the first term falls
// and the second term rises, so that there is one root. It has the sign of 2q - 1.
func tanh() Problem {
	const lambda = .05
	l := loss.Tanh()
	r, err := loss.L2(lambda)
	if err != nil {
		panic(err)
	}
	p := Problem{Name: "tanh", Loss: l}
	p.Rows, p.Targets = axes()
	d := float64(len(positives))
	p.Public = optimize.Problem{Shape: optimize.Vector(len(positives)), Constants: l.Constants(), RankOne: true,
		Regularizer: r}
	for _, k := range positives {
		c := 2*float64(k)/10 - 1
		lo, hi := 0., math.Abs(c)/d/lambda
		for range 200 {
			w := (lo + hi) / 2
			if lambda*w*math.Cosh(w)*math.Cosh(w) < math.Abs(c)/d {
				lo = w
			} else {
				hi = w
			}
		}
		w := math.Copysign(lo, c)
		p.Minimiser = append(p.Minimiser, w)
		p.Minimum += (1-c*math.Tanh(w))/d + lambda/2*w*w
	}
	return p
}
