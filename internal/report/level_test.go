package report

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/internal/inference"
	"github.com/stillpoint-dp/stillpoint/model"
)

// TestAtLevel compares intervals of other levels with the estimate and its standard error by hand: .8 is within 1.2816
// standard errors, and of three coefficients together at .95 each is within 2.3940, the quantile of 1 - .05/3. The model of
// the fit must stay as it was.
func TestAtLevel(t *testing.T) {
	m := waldModel(t, inference.Wald)
	before, err := m.Coefficients()
	if err != nil {
		t.Fatal(err)
	}
	columns := strings.Count(string(m.Inference()), `"feature"`)
	if columns != 4 {
		t.Fatalf("%d columns with the intercept: the test is of 4", columns)
	}
	for _, c := range []struct {
		level    float64
		together int
		quantile float64
	}{{.8, 0, 1.2816}, {0, Every, 2.1280}, {.95, Every, 2.3940}, {.99, 0, 2.5758}, {0, 0, 1.6449},
		{.95, 5, 2.5758}, {.95, 1, 1.9600}} {
		asked := &c.level
		if c.level == 0 {
			asked = nil
		}
		at, err := AtLevel(m, asked, c.together)
		if err != nil {
			t.Fatal(err)
		}
		after, err := at.Coefficients()
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(at.Weights(), m.Weights()) {
			t.Error("another level changes the weights")
		}
		for i, k := range after.List {
			was := before.List[i]
			if k.State != inference.Reported {
				continue
			}
			if k.Estimate != was.Estimate || !(math.Abs(k.High-k.Estimate-c.quantile*was.Error) <= 1e-4*was.Error) ||
				!(math.Abs(k.Estimate-k.Low-c.quantile*was.Error) <= 1e-4*was.Error) {
				t.Errorf("%+v, %s: %v [%v, %v]: must be %v +- %v * %v", c, k.Term, k.Estimate, k.Low, k.High, was.Estimate,
					c.quantile, was.Error)
			}
		}
	}
	if again, err := m.Coefficients(); err != nil || again.Level != before.Level {
		t.Errorf("the fit's level is %v now, %v: must be %v", again.Level, err, before.Level)
	}
}

// TestAtLevelIsRefused: levels outside the limits, too many coefficients together, and other levels of a Fieller region must
// be errors that name the level and the rule.
func TestAtLevelIsRefused(t *testing.T) {
	wald := waldModel(t, inference.Wald)
	region := waldModel(t, inference.Region)
	same := .9
	if _, err := AtLevel(region, &same, 0); err != nil {
		t.Error("the level of the fit is no other level: ", err)
	}
	for _, c := range []struct {
		of       *model.Model
		level    float64
		together int
		want     string
	}{
		{wald, 0, 0, "level = 0: must be between 0.5 and 0.999"},
		{wald, 0, 3, "level = 0: must be between 0.5 and 0.999"},
		{wald, .95, 100, "level = 0.95: 100 intervals together need 0.9995 each: must be at most 0.999"},
		{wald, 1, 0, "level = 1: must be between 0.5 and 0.999"},
		{wald, .2, Every, "level = 0.2: must be between 0.5 and 0.999"},
		{wald, .999, Every, "level = 0.999: 3 coefficients together need 0.99967 each: must be at most 0.999"},
		{region, .95, 0, "level = 0.95: must be that of the fit, 0.9, since the intervals are projections of a Fieller region"},
	} {
		if _, err := AtLevel(c.of, &c.level, c.together); err == nil || !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("%v, %v: %v: must be %q", c.level, c.together, err, c.want)
		}
	}
}
