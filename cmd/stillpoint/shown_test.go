package main

import (
	"bytes"
	"encoding/json"
	"math"
	"regexp"
	"strconv"
	"testing"
)

// below returns the probability that a standard normal variable is below x.
func below(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }

// sampledDelta is delta(epsilon) of one Gaussian release on a Poisson sample, with sampling probability q and
// noise of z clip norms, under add-or-remove (Zhu, Dong and Wang 2022): the larger of the values for both
// directions, each computed as the integral over the outcomes that contribute a positive amount.
func sampledDelta(z, q, epsilon float64) float64 {
	// The density ratio of (1-q) N(0,z^2) + q N(1,z^2) to N(0,z^2) at x is 1-q + q e^((2x-1)/(2 z^2)),
	// which increases with x.
	at := func(ratio float64) float64 { return (1 + 2*z*z*math.Log((ratio-1+q)/q)) / 2 }
	with := func(x float64) float64 { return (1-q)*below(-x/z) + q*below(-(x-1)/z) } // above x
	x := at(math.Exp(epsilon))
	added := with(x) - math.Exp(epsilon)*below(-x/z)
	if math.Exp(-epsilon) <= 1-q {
		return added
	}
	x = at(math.Exp(-epsilon))
	return max(added, below(x/z)-math.Exp(epsilon)*(1-with(x)))
}

// accounted runs account with a composition of one release and returns its output.
func accounted(t *testing.T, a accountCommand) string {
	t.Helper()
	a.Steps, a.Group, a.Width = 1, 1, 1e-3
	var b bytes.Buffer
	if err := a.Run(t.Context(), &console{out: &b, err: &b}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestAccountShowsBothEnds tests the lower and upper bounds that the command account prints. Each,
// as text and as JSON, must be on its side of the exact value and close to it: for delta at an
// epsilon, for epsilon at a delta, and along the curve.
func TestAccountShowsBothEnds(t *testing.T) {
	bracket := regexp.MustCompile(`pld +between (\S+) and (\S+) `)
	point := regexp.MustCompile(`at epsilon (\S+) +between (\S+) and (\S+)`)
	for _, c := range []struct {
		z, q  float64
		truth func(epsilon float64) float64
	}{
		{1.25, 1, func(epsilon float64) float64 { return gaussianDelta(1/1.25, epsilon) }},
		{.8, .1, func(epsilon float64) float64 { return sampledDelta(.8, .1, epsilon) }},
	} {
		// between requires that a bracket contains the exact value and that both ends are close to it, up
		// to the 8 digits of a text.
		between := func(what string, lower, upper, truth float64) {
			t.Helper()
			if !(lower <= truth*(1+1e-7) && upper >= truth*(1-1e-7) && lower >= truth*(1-3e-3)-1e-12 &&
				upper <= truth*(1+3e-3)+1e-12) {
				t.Errorf("noise %v, sampling %v: %s: between %v and %v: must hold %v", c.z, c.q, what, lower, upper, truth)
			}
		}
		flags := accountCommand{NoiseMultiplier: c.z, Sampling: c.q, Relation: "add-or-remove"}
		for _, epsilon := range []float64{.1, .7, 1.5} {
			a := flags
			a.Epsilon = []float64{epsilon}
			m := bracket.FindStringSubmatch(accounted(t, a))
			if m == nil {
				t.Fatalf("no bracket is printed:\n%s", accounted(t, a))
			}
			truth := c.truth(epsilon)
			between("delta as text", parsed(t, m[1]), parsed(t, m[2]), truth)
			a.JSON = true
			var r struct {
				DeltaLower *float64 `json:"delta_lower"`
				DeltaUpper *float64 `json:"delta_upper"`
				Results    []struct {
					DeltaLower *float64 `json:"delta_lower"`
					DeltaUpper *float64 `json:"delta_upper"`
				}
			}
			decode(t, accounted(t, a), &r)
			if r.DeltaLower == nil || r.DeltaUpper == nil || len(r.Results) == 0 || r.Results[0].DeltaLower == nil ||
				r.Results[0].DeltaUpper == nil {
				t.Fatalf("ends are missing: %s", accounted(t, a))
			}
			between("delta as JSON", *r.DeltaLower, *r.DeltaUpper, truth)
			between("delta among results", *r.Results[0].DeltaLower, *r.Results[0].DeltaUpper, truth)

			// At the delta of that epsilon, the answer must be that epsilon.
			a = flags
			a.Delta = []float64{truth}
			m = bracket.FindStringSubmatch(accounted(t, a))
			between("epsilon as text", parsed(t, m[1]), parsed(t, m[2]), epsilon)
			a.JSON = true
			var e struct {
				Lower *float64 `json:"epsilon_lower"`
				Upper *float64 `json:"epsilon_upper"`
			}
			decode(t, accounted(t, a), &e)
			if e.Lower == nil || e.Upper == nil {
				t.Fatalf("ends are missing: %s", accounted(t, a))
			}
			between("epsilon as JSON", *e.Lower, *e.Upper, epsilon)
		}
		a := flags
		a.Curve = true
		shown := point.FindAllStringSubmatch(accounted(t, a), -1)
		a.JSON = true
		var r struct{ Curve []curvePoint }
		decode(t, accounted(t, a), &r)
		if len(shown) != curvePoints+1 || len(r.Curve) != len(shown) {
			t.Fatalf("%d points as text, %d as JSON: must be %d", len(shown), len(r.Curve), curvePoints+1)
		}
		for i, p := range r.Curve {
			if truth := c.truth(p.Epsilon); truth > 1e-9 { // for smaller values the bracket is wider
				between("a point of the curve", p.DeltaLower, p.DeltaUpper, truth)
			}
			for k, v := range []float64{p.Epsilon, p.DeltaLower, p.DeltaUpper} {
				if x := parsed(t, shown[i][k+1]); !(math.Abs(x-v) <= 1e-4*v) {
					t.Errorf("point %d of the curve: %v as text, %v as JSON", i, x, v)
				}
			}
		}
	}
}

func parsed(t *testing.T, text string) float64 {
	t.Helper()
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func decode(t *testing.T, text string, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
}
