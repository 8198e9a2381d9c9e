package query

import (
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
)

var everyone, some = NewCohort(0, 10), NewCohort(3, 10)

func at(v ...float64) []float64 { return v }

// TestQuestionRules: New refuses a query that a session could not answer at the offered charge.
// For each rule, the test asks a query that breaks only this rule, and a query that just obeys it.
func TestQuestionRules(t *testing.T) {
	g := GradientAt(everyone, at(1, 2), 1)
	value := ValueAt(everyone, at(1, 2), .5, 1)
	norm := NormAt(everyone, at(1, 2), 1, nil)
	for name, c := range map[string]struct {
		charge float64
		terms  []Term
		want   string
	}{
		"no charge":           {0, []Term{g}, "charge"},
		"negative charge":     {-1, []Term{g}, "charge"},
		"charge of NaN":       {math.NaN(), []Term{g}, "charge"},
		"endless charge":      {math.Inf(1), []Term{g}, "charge"},
		"no terms":            {1, nil, "at least one"},
		"too many terms":      {1, make([]Term, maxTerms+1), "at most"},
		"zero term":           {1, []Term{{}}, "not a kind"},
		"no cohort":           {1, []Term{GradientAt(Cohort{}, at(1, 2), 1)}, "must come from a session"},
		"two cohorts":         {1, []Term{g, GradientAt(some, at(1, 2), 1)}, "share one cohort"},
		"two sizes":           {1, []Term{g, GradientAt(NewCohort(0, 11), at(1, 2), 1)}, "share one cohort"},
		"value beside vector": {1, []Term{GradientAt(everyone, at(1), 1), ValueAt(everyone, at(1), 0, 1)}, "cannot be added"},
		"vector beside value": {1, []Term{ValueAt(everyone, at(1), 0, 1), GradientAt(everyone, at(1), 1)}, "cannot be added"},
		"value beside norm":   {1, []Term{norm, value}, "must be alone"},
		"norm beside norm":    {1, []Term{norm, norm}, "must be alone"},
		"norm beside vector":  {1, []Term{GradientAt(everyone, at(1), 1), NormAt(everyone, at(1), 1, nil)}, "must be alone"},
		"two dimensions":      {1, []Term{g, GradientAt(everyone, at(1), 1)}, "one dimension"},
		"two points":          {1, []Term{value, ValueAt(everyone, at(1), .5, 1)}, "one dimension"},
		"no point":            {1, []Term{GradientAt(everyone, nil, 1)}, "at least one coordinate"},
		"point of NaN":        {1, []Term{GradientAt(everyone, at(1, math.NaN()), 1)}, "coordinate 1"},
		"endless point":       {1, []Term{GradientAt(everyone, at(math.Inf(-1), 1), 1)}, "coordinate 0"},
		"previous of NaN":     {1, []Term{DifferenceWithin(everyone, at(1), at(math.NaN()), 1)}, "coordinate 0"},
		"endless step":        {1, []Term{DifferenceWithin(everyone, at(1e308), at(-1e308), 1)}, "coordinate 0"},
		"shift of NaN":        {1, []Term{NormAt(everyone, at(1), 1, at(math.NaN()))}, "coordinate 0"},
		"long shift":          {1, []Term{NormAt(everyone, at(1), 1, at(1, 2))}, "as many as w"},
		"long previous":       {1, []Term{DifferenceWithin(everyone, at(1), at(1, 2), 1)}, "as many as w"},
		"negative weight":     {1, []Term{g, g.Weighted(-.5)}, "weight"},
		"weight of NaN":       {1, []Term{g.Weighted(math.NaN())}, "weight"},
		"endless weight":      {1, []Term{g.Weighted(math.Inf(1))}, "weight"},
		"tiny weight":         {1, []Term{g, g.Weighted(least / 2)}, "weight"},
		"negative clip":       {1, []Term{GradientAt(everyone, at(1, 2), -1)}, "clip radius"},
		"clip of NaN":         {1, []Term{GradientAt(everyone, at(1, 2), math.NaN())}, "clip radius"},
		"endless clip":        {1, []Term{GradientAt(everyone, at(1, 2), math.Inf(1))}, "clip radius"},
		"nothing can move":    {1, []Term{GradientAt(everyone, at(1, 2), 0)}, "cannot move"},
		"centre of NaN":       {1, []Term{ValueAt(everyone, at(1), math.NaN(), 1)}, "clip centre"},
		"curvature above 0":   {1, []Term{DifferenceByCurvature(everyone, at(1), at(0), .1, 1)}, "lo <= 0 <= hi"},
		"curvature below 0":   {1, []Term{DifferenceByCurvature(everyone, at(1), at(0), -1, -.1)}, "lo <= 0 <= hi"},
		"curvature reversed":  {1, []Term{DifferenceByCurvature(everyone, at(1), at(0), 1, -1)}, "lo <= 0 <= hi"},
		"curvature of one":    {1, []Term{DifferenceByCurvature(everyone, at(1), at(0), 0, 0)}, "lo < hi"},
		"endless curvature":   {1, []Term{DifferenceByCurvature(everyone, at(1), at(0), 0, math.Inf(1))}, "finite"},
		"curvature of NaN":    {1, []Term{DifferenceByCurvature(everyone, at(1), at(0), math.NaN(), 1)}, "finite"},
	} {
		if _, err := New(c.charge, c.terms...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v: must contain %q", name, err, c.want)
		}
	}
	for name, terms := range map[string][]Term{
		"gradients": {g, g.Weighted(.5), g.Weighted(0)}, "value": {value}, "values": {value, value}, "norm": {norm},
		"mix":       {g, DifferenceByCurvature(everyone, at(1, 2), at(0, 0), 0, 1)},
		"at rest":   {g, DifferenceByCurvature(everyone, at(1, 2), at(1, 2), 0, 1)},
		"one-sided": {DifferenceByCurvature(everyone, at(1), at(0), 0, 1)},
		"concave":   {DifferenceByCurvature(everyone, at(1), at(0), -1, 0)},
	} {
		if _, err := New(1e-9, terms...); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSelectionRules: the candidates of a selection must have equal clip norms, since the charge
// assumes that all scores have the same sensitivity.
func TestSelectionRules(t *testing.T) {
	value, norm := ValueAt(everyone, at(1, 2), .5, 1), NormAt(everyone, at(1, 2), 1, nil)
	for name, c := range map[string]struct {
		epsilon    float64
		candidates []Term
		want       string
	}{
		"no epsilon":       {0, []Term{value, value}, "epsilon"},
		"negative epsilon": {-1, []Term{value, value}, "epsilon"},
		"epsilon of NaN":   {math.NaN(), []Term{value, value}, "epsilon"},
		"large epsilon":    {16.5, []Term{value, value}, "epsilon"},
		"one candidate":    {1, []Term{value}, "between 2"},
		"many candidates":  {1, make([]Term, maxCandidates+1), "between 2"},
		"gradient": {1, []Term{GradientAt(everyone, at(1), 1), GradientAt(everyone, at(1), 1)},
			"must all be values"},
		"value beside norm": {1, []Term{value, norm}, "must all be values"},
		"two cohorts":       {1, []Term{value, ValueAt(some, at(1, 2), .5, 1)}, "cohort"},
		"large weight":      {1, []Term{value, value.Weighted(2)}, "weight"},
		"small weight":      {1, []Term{value.Weighted(.5), value}, "weight"},
		"larger clip":       {1, []Term{value, ValueAt(everyone, at(1, 2), .5, 2)}, "clip"},
		"smaller clip":      {1, []Term{norm, NormAt(everyone, at(1, 2), .5, nil)}, "clip"},
		"another centre":    {1, []Term{value, ValueAt(everyone, at(1, 2), .6, 1)}, "clip"},
		"another dimension": {1, []Term{value, ValueAt(everyone, at(1), .5, 1)}, "coordinates"},
		"no candidate":      {1, []Term{value, {}}, "not a kind"},
	} {
		if _, err := NewSelection(c.epsilon, c.candidates...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v: must contain %q", name, err, c.want)
		}
	}
	for _, epsilon := range []float64{0x1p-40, 1, 16} {
		for _, term := range []Term{value, norm} {
			if _, err := NewSelection(epsilon, term, term, term); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestPrefixRules: the declared fields of a prefix sum must be finite, positive and within the
// mechanism's limits.
func TestPrefixRules(t *testing.T) {
	good := Prefix{Factorization: Tree, Items: 4, Sensitivity: 1, Charge: 1}
	for name, c := range map[string]struct {
		change func(*Prefix)
		want   string
	}{
		"no mechanism":        {func(p *Prefix) { p.Factorization = 0 }, "mechanism"},
		"unknown mechanism":   {func(p *Prefix) { p.Factorization = 3 }, "mechanism"},
		"no items":            {func(p *Prefix) { p.Items = 0 }, "items"},
		"negative items":      {func(p *Prefix) { p.Items = -1 }, "items"},
		"too many items":      {func(p *Prefix) { p.Items = maxTreeItems + 1 }, "items"},
		"too many for a root": {func(p *Prefix) { p.Factorization, p.Items = Toeplitz, maxToeplitzItems+1 }, "items"},
		"no sensitivity":      {func(p *Prefix) { p.Sensitivity = 0 }, "sensitivity"},
		"sensitivity of NaN":  {func(p *Prefix) { p.Sensitivity = math.NaN() }, "sensitivity"},
		"negative":            {func(p *Prefix) { p.Sensitivity = -1 }, "sensitivity"},
		"huge sensitivity":    {func(p *Prefix) { p.Sensitivity = 2 * most }, "sensitivity"},
		"no charge":           {func(p *Prefix) { p.Charge = 0 }, "charge"},
		"charge of NaN":       {func(p *Prefix) { p.Charge = math.NaN() }, "charge"},
		"endless charge":      {func(p *Prefix) { p.Charge = math.Inf(1) }, "charge"},
	} {
		p := good
		if c.change(&p); p.Validate() == nil || !strings.Contains(p.Validate().Error(), c.want) {
			t.Errorf("%s: error %v: must contain %q", name, p.Validate(), c.want)
		}
	}
	for _, p := range []Prefix{good, {Toeplitz, maxToeplitzItems, least, 1e-9}, {Tree, maxTreeItems, most, 1e9}} {
		if err := p.Validate(); err != nil {
			t.Error(err)
		}
	}
}

// TestClipIsTheSumOfRadii: the clip norm of a record's whole contribution is the sum of the
// weighted radii, not the largest one.
func TestClipIsTheSumOfRadii(t *testing.T) {
	g := GradientAt(everyone, at(1, 2), 1)
	q, err := New(1, g, g.Weighted(.5), GradientAt(everyone, at(0, 0), 3).Weighted(.25))
	if err != nil {
		t.Fatal(err)
	}
	if q.Clip() != 1+.5+.75 {
		t.Errorf("clip norm %v, want 2.25", q.Clip())
	}
}

// TestDistanceIsRoundedUp: the stated distance of two points, which determines the radius of a
// ball, is never below the exact distance of their rounded displacement and exceeds it by at most
// 10 + dim ulps. A curvature interval [lo, hi] gives a ball around (lo+hi)/2 times the displacement
// of radius (hi-lo)/2 times the distance.
func TestDistanceIsRoundedUp(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 3000 {
		d := 1 + r.IntN(20)
		w, prev := make([]float64, d), make([]float64, d)
		size := math.Ldexp(1, r.IntN(300)-150)
		for j := range w {
			w[j], prev[j] = size*r.NormFloat64(), size*r.NormFloat64()
		}
		term := DifferenceWithin(everyone, w, prev, 1)
		sum := new(big.Float).SetPrec(600)
		for _, s := range term.Step() {
			x := new(big.Float).SetPrec(600).SetFloat64(s)
			sum.Add(sum, x.Mul(x, x))
		}
		exact := sum.Sqrt(sum)
		ratio, _ := new(big.Float).Quo(new(big.Float).SetFloat64(term.Distance()), exact).Float64()
		if new(big.Float).SetFloat64(term.Distance()).Cmp(exact) < 0 || ratio > 1+float64(d+12)*0x1p-52 {
			t.Fatalf("%v - %v: distance %v is %v of the true one", w, prev, term.Distance(), ratio)
		}
		lo, hi := -r.Float64(), r.Float64()
		b := DifferenceByCurvature(everyone, w, prev, lo, hi).Ball()
		if want := (hi - lo) / 2 * term.Distance(); b.Radius != want || b.Centre != (lo+hi)/2 {
			t.Fatalf("curvature [%v, %v] at distance %v: ball %+v", lo, hi, term.Distance(), b)
		}
	}
}

// TestBallsHoldZero: every ball of a difference contains zero, whatever the rounding. A term whose
// ball does not contain zero is refused.
func TestBallsHoldZero(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 17))
	for range 20000 {
		lo, hi := -math.Exp(40*r.Float64()-30), math.Exp(40*r.Float64()-30)
		switch r.IntN(4) {
		case 0:
			lo = 0
		case 1:
			hi = 0
		}
		w, prev := at(r.NormFloat64(), r.NormFloat64()), at(r.NormFloat64(), r.NormFloat64())
		term := DifferenceByCurvature(some, w, prev, lo, hi)
		b := term.Ball()
		if !(math.Abs(b.Centre)*term.Distance() <= b.Radius) {
			t.Fatalf("[%v, %v]: the ball of radius %v around %v steps does not hold zero", lo, hi, b.Radius, b.Centre)
		}
		if _, err := New(1, term); err != nil {
			t.Fatal(err)
		}
		term.ball.Radius *= math.Abs(b.Centre) * term.Distance() / b.Radius * (1 - 1e-9)
		if _, err := New(1, term); err == nil && b.Centre != 0 {
			t.Fatalf("centre %v, radius %v at distance %v: taken", b.Centre, term.ball.Radius, term.Distance())
		}
	}
}
