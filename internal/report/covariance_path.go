package report

import "math"

// path describes how the error of one coordinate of the weights changes from step to step. The coordinate belongs to an
// eigenvector of A, the preconditioned Hessian (see the method covariance).
type path struct {
	curvature float64 // eigenvalue of A, the curvature in the metric
	share     float64 // f: the share of the way to the minimum that the result has covered
	slope     float64 // derivative of f at the curvature
	pull      float64 // curvature times the coordinate of the minimum
}

// adjoint returns, for each step t, the change of the run's result if the iterate w_{t+1} changes by 1. Iterates and
// result are coordinates along an eigenvector in which the preconditioned loss has the curvature a.
func (l *trace) adjoint(a float64) []float64 {
	T := len(l.Noise)
	moves := make([]float64, T)
	// y_t = w_t + beta_t (w_t - w_{t-1}) and w_{t+1} = (1 - eta a) y_t. next is the change of the result for a change
	// of w_{t+1} by 1. later is the change of the result for a change of y_{t+1} by 1, times the momentum of y_{t+1}.
	next, later := 1., 0.
	if l.Weights != nil {
		next = l.Weights[T]
	}
	for t := T - 1; t >= 0; t-- {
		moves[t] = next
		at := (1 - l.stepped(t, a)) * next
		if l.Weights != nil {
			at += l.Weights[t]
		}
		beta := entry(l.Momentum, t)
		next, later = (1+beta)*at-later, beta*at
	}
	return moves
}

// stepped returns the share of the remaining way to the minimum that step t covers along an eigenvector of
// curvature a: the step size times a, at most 1. The product exceeds 1 for a run that smooths the loss, and
// smooths it less from step to step. The first steps of such a run are longer than the final curvature a
// allows. They did not go past the minimum, because the smoothed loss had less curvature.
func (l *trace) stepped(t int, a float64) float64 { return min(entry(l.StepSizes, t)*a, 1) }

// entry returns the value for step t of a column of the trace (the description of a run, with a column for each property
// of its steps). A column with one entry has this value for all steps, and an empty column the value 0.
func entry(column []float64, t int) float64 {
	switch {
	case len(column) == 0:
		return 0
	case len(column) == 1:
		return column[0]
	case t == len(column):
		return 0
	}
	return column[t]
}

// respond returns two numbers about the result of a preconditioned run along an eigenvector of the preconditioned
// loss with curvature a: the standard deviation of the noise, and the share of the way from the start to the
// minimum that the run covered (0 is the start, 1 the minimum).
func (l *trace) respond(a float64) (noise, share float64) {
	moves, kept := l.adjoint(a), 0. // kept: the change of the result for a change of the estimate of step t by 1
	for t := len(moves) - 1; t >= 0; t-- {
		kept = entry(l.StepSizes, t)*moves[t] + entry(l.Keep, t+1)*kept
		noise += math.Pow(kept*l.Noise[t], 2)
		share += moves[t] * l.stepped(t, a)
	}
	return math.Sqrt(noise), share
}

// slope returns the derivative at the curvature a of f, the share of the way to the minimum that a run covers, by a
// difference quotient. f is a polynomial with moderate coefficients if the steps are stable.
func (l *trace) slope(a float64) float64 {
	const h = 1e-5
	_, above := l.respond(a + h)
	_, below := l.respond(max(a-h, 0))
	return (above - below) / (a + h - max(a-h, 0))
}

// divided returns the divided difference f[p, q] = (f(p) - f(q))/(p - q), where f is the share of
// the way to the minimum that a run covers, at the curvatures of the paths p and q.
func divided(p, q path) float64 {
	a, b := p.curvature, q.curvature
	if math.Abs(a-b) <= 1e-6*(1+max(a, b)) {
		return (p.slope + q.slope) / 2
	}
	return (p.share - q.share) / (a - b)
}

// inverted returns the divided difference at x and y of the function 1/(max(x, 0) + ridge). This function
// converts an eigenvalue of the second moment to an eigenvalue of the squared preconditioner.
func inverted(x, y, ridge float64) float64 {
	at := func(x float64) float64 { return 1 / (max(x, 0) + ridge) }
	if math.Abs(x-y) <= 1e-9*(ridge+max(math.Abs(x), math.Abs(y))) {
		if x < 0 {
			return 0
		}
		return -at(x) * at(y)
	}
	return (at(x) - at(y)) / (x - y)
}
