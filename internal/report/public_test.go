package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/model"
)

// TestCurvatureAsReleased tests that the page states the least curvature of the loss that was
// released at the result, its noise, and the number of directions in which curvature was measured.
// If the curvature is below zero by more than the noise explains, the page must say that this point
// is no minimum.
func TestCurvatureAsReleased(t *testing.T) {
	for least, want := range map[string]string{"-0.0071": "by more than noise explains",
		"-0.0213": "this point is no minimum", "0.0213": "by more than noise explains"} {
		f := people(t, "p", 3)
		f.algorithm.Plan = bytes.Replace(f.algorithm.Plan, []byte("{"),
			[]byte(`{"curvature":{"least":`+least+`,"sigma":0.0031,"directions":5},`), 1)
		fit := read(t, f)
		fact := factOf(t, fit.signal(fit.noise()), "Curvature released")
		if fact.Value != strings.Replace(least, "-", "−", 1) || !strings.Contains(fact.Note, "5 directions") ||
			!strings.Contains(fact.Note, "0.0031") || !strings.Contains(fact.Note, want) {
			t.Errorf("%s: %q, %q: want %q", least, fact.Value, fact.Note, want)
		}
	}
}

// TestNoiseMayMakeANormZero tests that the page states a gradient norm that was released as 0. Noise may
// make the released norm of a short gradient 0.
func TestNoiseMayMakeANormZero(t *testing.T) {
	f := people(t, "p", 3)
	f.algorithm.Plan = bytes.Replace(f.algorithm.Plan, []byte("{"),
		[]byte(`{"looked":{"gradient_norm":0,"sigma":0.2,"among":3},`), 1)
	fit := read(t, f)
	if fact := factOf(t, fit.signal(fit.noise()), "Gradient norm of the choice"); fact.Value != "0" {
		t.Errorf("value %q: want 0", fact.Value)
	}
}

// TestLookedAsReleased tests the gradient norms by which a run chose its result (the member looked of its
// plan). The page must state the released norm at the result, the loss whose gradient it is, its noise, and
// the number of points among which the result was chosen.
func TestLookedAsReleased(t *testing.T) {
	for radius, want := range map[string]string{`,"radius":0.2`: "of the loss smoothed over radius 0.2, ",
		"": "of the loss, at the result, chosen by it among 8 points; released with noise of 0.0031"} {
		f := people(t, "p", 3)
		f.algorithm.Plan = bytes.Replace(f.algorithm.Plan, []byte("{"),
			[]byte(`{"looked":{"gradient_norm":0.0213,"sigma":0.0031,"among":8`+radius+`},`), 1)
		fit := read(t, f)
		fact := factOf(t, fit.signal(fit.noise()), "Gradient norm of the choice")
		if fact.Value != "0.0213" || !strings.Contains(fact.Note, want) || !strings.Contains(fact.Note, "8 points") ||
			!strings.Contains(fact.Note, "0.0031") {
			t.Errorf("%q, %q: want %q", fact.Value, fact.Note, want)
		}
	}
}

// TestPublicTable tests a page with the model's quality on a public table. The numbers must be in a section
// that says that they are not private. The page must not claim that nothing on it was computed from the
// table.
func TestPublicTable(t *testing.T) {
	fit := read(t, people(t, "p", 3))
	const released = "Nothing on this page was computed from the table"
	text := func() string {
		t.Helper()
		page, err := fit.Page(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return string(render(t, page))
	}
	if s := text(); !strings.Contains(s, released) || strings.Contains(s, publicTitle) {
		t.Error("without a public table the page must say that nothing was computed from one")
	}
	fit.Public = &model.Metrics{N: 12345, Skipped: 1, Accuracy: new(.875), GradientNorm: new(.0456),
		LeastEigenvalue: new(-.0321), EigenvalueResidual: new(1e-7)}
	s := text()
	has(t, s, publicTitle, "NOT private", "12,345", "1 row was not scored", "0.875", "0.0456", "−0.0321", "10⁻⁷",
		"still falls along its eigenvector")
	if strings.Contains(s, released) {
		t.Error("with a public table the page must not say that nothing was computed from one")
	}
	fit.Public.LeastEigenvalue = new(.01)
	has(t, text(), "to second order the loss falls along no direction")
	fit.Public.LeastEigenvalue, fit.Public.NoEigenvalue = nil, "the slope jumps"
	has(t, text(), "Least eigenvalue", "none", "the slope jumps")
}
