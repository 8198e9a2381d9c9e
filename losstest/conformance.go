// Package losstest is the conformance suite that every loss and regularizer must pass. The author
// of a loss calls
//
//	losstest.Conformance(t, myLoss)
//
// The suite checks that
//
//   - slopes, curvatures and gradients are the derivatives of the values;
//   - each declared constant holds at the worst point that a search finds;
//   - the search comes within 1% of each constant, unless the loss says why it cannot
//     (loss.Constants.Loose): a constant that is too large costs accuracy, as a constant that is too
//     small does;
//   - the methods keep the contracts of package loss about blocks, NaN, infinities, lengths and
//     names.
//
// The suite needs only the loss. Its random searches have fixed seeds, so every run gives the same results.
package losstest

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/loss"
)

// tight is the fraction of a declared constant that the search for its worst point must reach.
const tight = 0.99

// Conformance reports every way in which l breaks the contract of package loss or its own declared
// constants. If loss.Parse knows the loss, parsing its name must also give the same loss.
func Conformance(t *testing.T, l loss.Loss) {
	t.Helper()
	for _, f := range checkLoss(l) {
		t.Errorf("%s: %s: %s", l.Name(), f.check, f.detail)
	}
}

// RegularizerConformance reports every way in which r breaks the contract of [loss.Regularizer] or
// its declared constants.
func RegularizerConformance(t *testing.T, r loss.Regularizer) {
	t.Helper()
	for _, f := range checkRegularizer(r) {
		t.Errorf("%s: %s: %s", r.Name(), f.check, f.detail)
	}
}

// finding is one violation of a rule of the conformance suite.
type finding struct{ check, detail string }

// The names of the rules in reports.
const (
	ruleConstants   = "declared constants"
	ruleKind        = "kind of loss"
	ruleName        = "name"
	ruleReturns     = "returns on every record"
	ruleFinite      = "finite results"
	ruleSlope       = "slope is the derivative of the value"
	ruleCurvature   = "curvature is the derivative of the slope"
	ruleLipschitz   = "Lipschitz"
	ruleProduct     = "Hessian product is the derivative of the gradient"
	ruleInterval    = "Curvature"
	ruleThird       = "HessianLipschitz"
	ruleInitialGap  = "InitialGap"
	ruleTight       = " attained within 1%"
	ruleBlock       = "block equals one at a time"
	ruleLengths     = "unequal lengths panic"
	ruleNaN         = "NaN gives NaN"
	ruleInfinity    = "infinite margins give limits"
	ruleSmoothed    = "smoothed slopes"
	ruleSideEffects = "arguments are left alone"
	ruleAdds        = "AddGradient adds"
)

// findings holds the first three findings for each rule of the conformance suite.
type findings []finding

func (fs *findings) add(check, format string, args ...any) {
	const enough = 3
	n := 0
	for _, f := range *fs {
		if f.check == check {
			n++
		}
	}
	if n < enough {
		*fs = append(*fs, finding{check, fmt.Sprintf(format, args...)})
	}
}

func checkLoss(l loss.Loss) findings {
	var fs findings
	c := l.Constants()
	_, mayJump := l.(loss.RankOne)
	for _, v := range []struct {
		name  string
		value float64
		ok    bool
	}{
		{"Lipschitz", c.Lipschitz, c.Lipschitz > 0 && !math.IsInf(c.Lipschitz, 0)},
		{"InitialGap", c.InitialGap, c.InitialGap > 0 && !math.IsInf(c.InitialGap, 0)},
		{"Curvature.Lo", c.Curvature.Lo, (!math.IsInf(c.Curvature.Lo, 0) || mayJump && c.Curvature.Lo < 0) &&
			c.Curvature.Lo <= c.Curvature.Hi},
		{"Curvature.Hi", c.Curvature.Hi, (!math.IsInf(c.Curvature.Hi, 0) || mayJump && c.Curvature.Hi > 0) &&
			c.Curvature.Lo <= c.Curvature.Hi},
		{"HessianLipschitz", c.HessianLipschitz, c.HessianLipschitz >= 0},
	} {
		if !v.ok {
			fs.add(ruleConstants,
				"%s = %v: Lipschitz and InitialGap must be finite and > 0, Curvature with Lo <= Hi and finite (but of a "+
					"loss.RankOne whose slope jumps), HessianLipschitz >= 0", v.name, v.value)
		}
	}
	if t := l.Target(); t != loss.Binary && t != loss.Real && t != loss.Classes {
		fs.add(ruleConstants, "Target = %v: must be binary, real or classes", t)
	}
	if l.Constants() != c {
		fs.add(ruleConstants, "two calls differ")
	}
	if len(fs) > 0 {
		return fs // the checks below assume these rules
	}
	checkName(&fs, l)

	if _, err := loss.Check(l, 3); err != nil {
		fs.add(ruleKind, "%v", err)
		return fs
	}
	if !checkReturns(&fs, l) {
		return fs // the methods may panic in the checks below
	}
	switch l := l.(type) {
	case loss.RankOne:
		checkRankOne(&fs, l)
		if k, ok := l.(loss.Kinked); ok {
			checkSmoothed(&fs, k)
		}
	case loss.Margins:
		checkGeneral(&fs, loss.Joint(l))
		checkRecords(&fs, l)
	case loss.General:
		checkGeneral(&fs, l)
	}
	return fs
}

func checkName(fs *findings, l loss.Loss) {
	name := l.Name()
	checkSpelling(fs, name)
	base, _, _ := strings.Cut(name, "(")
	if !slices.Contains(loss.Names(), base) {
		return // a loss of another module, which loss.Parse does not know
	}
	back, err := loss.Parse(name)
	switch {
	case err != nil:
		fs.add(ruleName, "loss.Parse: %v", err)
	case back.Name() != name:
		fs.add(ruleName, "loss.Parse makes %q", back.Name())
	case back.Constants() != l.Constants() || back.Target() != l.Target():
		fs.add(ruleName, "loss.Parse makes a loss with other constants or target")
	}
}

func checkSpelling(fs *findings, name string) {
	if name == "" || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' }) {
		fs.add(ruleName, "%q: must be printable ASCII without spaces, and not empty", name)
	}
}

// checkBound compares a declared constant with the largest value found. It adds a finding if the value exceeds the
// constant by more than rounding. It also adds a finding if the value stays below 99% of the constant by more than
// rounding, unless loose gives a reason why the constant cannot be attained. at names the point of the largest value.
func checkBound(fs *findings, rule, loose string, declared, found, rounding float64, at string) {
	if !(found <= declared+rounding) {
		fs.add(rule, "declared %v, found %v at %s", declared, found, at)
	}
	if loose == "" && !(found >= tight*declared-rounding) {
		fs.add(rule+ruleTight, "declared %v, the search reached only %v at %s", declared, found, at)
	}
}

// checkInterval compares the ends of a declared curvature interval with the least curvature lo and the
// greatest curvature hi that were found, as checkBound does for one constant. Unless loose gives a reason why
// they cannot, lo and hi must come so close to the ends that the differences are at most 1% of the larger
// absolute value of the two ends.
func checkInterval(fs *findings, loose string, declared loss.CurvatureInterval, lo, hi, rounding float64, atLo,
	atHi string) {
	if !(hi <= declared.Hi+rounding) {
		fs.add(ruleInterval, "declared Hi = %v, found %v at %s", declared.Hi, hi, atHi)
	}
	if !(lo >= declared.Lo-rounding) {
		fs.add(ruleInterval, "declared Lo = %v, found %v at %s", declared.Lo, lo, atLo)
	}
	if loose != "" {
		return
	}
	slack := (1-tight)*max(math.Abs(declared.Lo), math.Abs(declared.Hi)) + rounding
	if !(hi >= declared.Hi-slack) {
		fs.add(ruleInterval+ruleTight, "declared Hi = %v, the search reached only %v at %s", declared.Hi, hi, atHi)
	}
	if !(lo <= declared.Lo+slack) {
		fs.add(ruleInterval+ruleTight, "declared Lo = %v, the search reached only %v at %s", declared.Lo, lo, atLo)
	}
}

func panics(f func()) (did bool) {
	defer func() { did = recover() != nil }()
	f()
	return false
}

// same reports whether two floats have the same bits. All NaNs are equal.
func same(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) || a != a && b != b }
