package report

import (
	"context"
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/account/mechanism"
	"github.com/stillpoint-dp/stillpoint/certificate"
)

// attack describes the best attack on one row by an adversary who sees all releases and knows every other
// row. The adversary must decide whether the row was in the table (relation add-or-remove) or which of two
// given rows was in the table (replace-one).
type attack struct {
	// alarms and detected are points of the attack's curve (a ROC curve). For an attack whose false-alarm
	// probability is alarms[i], detected[i] is an upper bound on the probability that it recognises the
	// row.
	alarms, detected []float64
	// right is an upper bound on the probability of a right guess if the two possible cases are equally
	// likely: (1 + d)/2, where d is the guarantee's delta at epsilon 0 (a bound on the total variation
	// distance).
	right float64
	// gaussian reports that the attack's curve is the curve of mu-GDP, at every false-alarm probability. If
	// gaussian is false, mu is unset and the curve is known only at the points in alarms.
	gaussian bool
	mu       float64
	relation account.Relation
}

// alarms returns the 101 false-alarm probabilities, from 0 to 1, at which an attack's curve is computed and
// drawn. The probabilities are denser near 0.
func alarms() []float64 {
	list := make([]float64, 101)
	for i := range list {
		x := float64(i) / 100
		list[i] = float64(x * x)
	}
	return list
}

// normal is the distribution function of the standard normal distribution.
func normal(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }

// quantile is the inverse of the function normal, for 0 < p < 1.
func quantile(p float64) float64 { return -math.Sqrt2 * math.Erfcinv(2*p) }

// gaussianPower returns the power of the best test whose false-alarm probability is alarm, under
// mu-Gaussian differential privacy: 1 minus the trade-off function (Dong, Roth and Su 2022).
func gaussianPower(mu, alarm float64) float64 {
	switch {
	case alarm <= 0:
		return 0
	case alarm >= 1:
		return 1
	}
	return normal(quantile(alarm) + mu)
}

// pairPower returns the greatest power that a test with the false-alarm probability alarm can have against
// a mechanism of which only (epsilon, delta)-DP is known.
func pairPower(epsilon, delta, alarm float64) float64 {
	gain := 0.0
	if alarm > 0 { // e^epsilon may be infinite
		gain = math.Exp(epsilon) * alarm
	}
	return 1 - max(0, 1-delta-gain, math.Exp(-epsilon)*(1-delta-alarm))
}

// attack returns the best attack on the fit's releases. For a schedule of Poisson samples, the attack's
// curve is computed by composing the schedule's steps. For any other fit, the curve follows from mu.
func (f *Fit) attack(ctx context.Context) (attack, error) {
	c := f.Certificate.Claim()
	a := attack{alarms: alarms(), relation: c.Relation}
	if f.Certificate.Basis() != certificate.BasisSchedule {
		a.gaussian, a.mu = true, c.Mu
		for _, x := range a.alarms {
			a.detected = append(a.detected, gaussianPower(c.Mu, x))
		}
		a.right = normal(c.Mu / 2)
		return a, nil
	}
	parts, err := composeSchedule(f.schedule, c.Mu, c.Relation)
	if err != nil {
		return a, err
	}
	composition, err := mechanism.Compose(ctx, parts, 1e-3)
	if err != nil {
		return a, err
	}
	curve, err := composition.TradeOff(ctx, a.alarms)
	if err != nil {
		return a, err
	}
	for _, b := range curve {
		a.detected = append(a.detected, min(1, 1-b.Lower))
	}
	zero, err := composition.Delta(ctx, 0)
	a.right = min(1, (1+zero.Upper)/2)
	return a, err
}

// guess states, in one sentence for readers, the probability that the attacker guesses right.
func (a attack) guess() string {
	right := percent(a.right, true)
	if a.relation == account.AddOrRemove {
		return fmt.Sprintf("Somebody who knows every other row and sees everything that was released guesses whether a "+
			"given person’s row was in the table, and is right at most %s of the time. A coin is right 50 %% of the time.",
			right)
	}
	return fmt.Sprintf("Somebody who knows all rows but one, knows that this one belongs to one of two people, and "+
		"sees everything that was released, guesses the right one at most %s of the time. A coin is right 50 %% of the time.",
		right)
}

// at returns an upper bound on the attack's curve at the false-alarm probability alarm, which need not be
// in the list alarms. Between two known points, the bound is the value at the point with the larger
// false-alarm probability, because the curve never falls.
func (a attack) at(alarm float64) float64 {
	if a.gaussian {
		return gaussianPower(a.mu, alarm)
	}
	for i, x := range a.alarms {
		if x >= alarm {
			return a.detected[i]
		}
	}
	return 1
}

// plot draws the attack's curve, and for comparison the curve of the strongest attack that (epsilon, delta)
// alone would allow.
func (a attack) plot(epsilon, delta float64) Plot {
	pair := make([]float64, len(a.alarms))
	for i, x := range a.alarms {
		pair[i] = pairPower(epsilon, delta, x)
	}
	return Plot{
		Title: "The best attack on one person's row",
		Caption: "How often an attack recognises a row that was in the table, against how often it raises a false alarm " +
			"for one that was not. No attack on these releases lies above the solid curve, whatever it knows besides. The " +
			"nearer to the diagonal, the less there is to learn about anybody.",
		X: Axis{Label: "false alarms (share of rows that were not in the table)", Min: 0, Max: 1},
		Y: Axis{Label: "recognised (share of rows that were)", Min: 0, Max: 1},
		Series: []Series{
			{Name: "this guarantee", X: a.alarms, Y: a.detected, Style: Line},
			{Name: "(ε, δ) alone", X: a.alarms, Y: pair, Style: Line},
		},
		References: []Reference{{Name: "a coin", X: []float64{0, 1}, Y: []float64{0, 1}}},
	}
}

// table lists the attack's curve at five false-alarm probabilities from 0.1 % to 50 %.
func (a attack) table() Table {
	t := Table{
		Title:   "The same in numbers",
		Columns: []Column{{"False alarms", true}, {"Recognised, at most", true}, {"By a coin", true}},
	}
	for _, x := range []float64{.001, .01, .05, .1, .5} {
		t.Rows = append(t.Rows, Row{Cells: []string{percent(x, false), percent(a.at(x), true), percent(x, false)}})
	}
	return t
}
