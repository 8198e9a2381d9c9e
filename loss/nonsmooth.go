package loss

import "fmt"

// Absolute is |r| for the residual r = z - y, y in [-1, 1]: least absolute deviations, whose
// minimiser is the median. Its slope is -1 for r < 0, 0 for r = 0 and 1 for r > 0. The least value is 0,
// and |r| <= 1 at z = 0, so InitialGap is 1.
func Absolute() Kinked {
	return newKinked(kinked{base: "absolute", target: Real, gap: 1, kinks: 1, slope: [4]float64{-1, 1}})
}

// Pinball is the loss whose minimiser is the tau-quantile (Koenker and Bassett 1978). As a function of
// the residual r = z - y, y in [-1, 1], it is
//
//	-tau r      for r < 0: the prediction is too low
//	(1-tau) r   for r > 0
//
// tau must be between .001 and .999. The slope at r = 0 is 1/2 - tau. The least value is 0, and
// |r| <= 1 at z = 0, so InitialGap is max(tau, 1-tau), the Lipschitz constant.
func Pinball(tau float64) (Kinked, error) {
	if !(tau >= .001 && tau <= .999) {
		return nil, fmt.Errorf("loss: pinball: tau = %v: must be between 0.001 and 0.999", tau)
	}
	return newKinked(kinked{
		base: "pinball", params: [1]float64{tau}, named: 1, target: Real, gap: max(tau, 1-tau),
		kinks: 1, slope: [4]float64{-tau, 1 - tau},
	}), nil
}

// EpsilonInsensitive is max(0, |r| - e) for the residual r = z - y, y in [-1, 1]: the loss of
// support-vector regression (Vapnik 1995). A residual of absolute value at most e has loss 0. e must be at
// least 1e-6 and below 1. The slope is -1 for r < -e, 0 for |r| < e and 1 for r > e. It is -1/2 at r = -e
// and 1/2 at r = e. The least value is 0, and values at z = 0 are at most 1 - e, so InitialGap is 1 - e.
func EpsilonInsensitive(e float64) (Kinked, error) {
	if !(e >= minScale && e < 1) {
		return nil, fmt.Errorf("loss: epsilon-insensitive: e = %v: must be between %v and 1, and below 1", e, minScale)
	}
	return newKinked(kinked{
		base: "epsilon-insensitive", params: [1]float64{e}, named: 1, target: Real, gap: 1 - e,
		kinks: 2, at: [3]float64{-e, e}, slope: [4]float64{-1, 0, 1},
	}), nil
}

// Hinge is max(0, 1-m) in the margin m = y z, y in {-1, +1}: the loss of support-vector machines
// (Cortes and Vapnik 1995). d/dm is -1 for m < 1, -1/2 for m = 1 and 0 for m > 1. The least value is 0,
// and the value at z = 0 is 1, so InitialGap is 1.
func Hinge() Kinked {
	return newKinked(kinked{
		base: "hinge", target: Binary, gap: 1,
		kinks: 1, at: [3]float64{1}, slope: [4]float64{-1, 0},
	})
}

// CappedAbsolute is min(|r|, c) for the residual r = z - y, y in [-1, 1], c between 1e-6 and 1e6: a
// regression to the median in which outliers have no influence. It is not convex. Its slope is the sign
// of r for |r| < c and 0 for |r| > c. At the kinks r = -c, 0 and c the slope is -1/2, 0 and 1/2. The least
// value is 0, and values at z = 0 are at most min(1, c), so InitialGap is min(1, c).
func CappedAbsolute(c float64) (Kinked, error) {
	if err := checkScale("capped-absolute", "c", c); err != nil {
		return nil, err
	}
	return newKinked(kinked{
		base: "capped-absolute", params: [1]float64{c}, named: 1, target: Real, gap: min(1, c),
		kinks: 3, at: [3]float64{-c, 0, c}, level: [3]float64{c}, slope: [4]float64{0, -1, 1, 0},
	}), nil
}

// Ramp is min(2, max(0, 1-m)) in the margin m = y z, y in {-1, +1}: the hinge loss, but constant for m < -1, so that a
// mislabelled record has a bounded loss (Collobert et al. 2006). It is not convex. d/dm is -1 for |m| < 1, 0 for |m| >
// 1 and -1/2 at m = -1 and 1. The least value is 0, and the value at z = 0 is 1, so InitialGap is 1.
func Ramp() Kinked {
	return newKinked(kinked{
		base: "ramp", target: Binary, gap: 1,
		kinks: 2, at: [3]float64{-1, 1}, level: [3]float64{2}, slope: [4]float64{0, -1, 0},
	})
}
