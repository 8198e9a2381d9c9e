package loss

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestNewErrors(t *testing.T) {
	known := strings.Join(Names(), ", ")
	for _, c := range []struct {
		name   string
		params map[string]float64
		want   string
	}{
		{"hubre", nil, `loss: name = "hubre": must be one of ` + known},
		{"", nil, `loss: name = "": must be one of ` + known},
		{"Logistic", nil, `loss: name = "Logistic": must be one of ` + known},
		{"huber", nil, "loss: huber: delta is missing: parameters must be delta"},
		{"huber", map[string]float64{"c": 1}, "loss: huber: c = 1: unknown parameter: must be delta"},
		{"huber", map[string]float64{"delta": 1, "c": 2}, "loss: huber: c = 2: unknown parameter: must be delta"},
		{"huber", map[string]float64{"delta": -1}, "loss: huber: delta = -1: must be between 1e-06 and 1e+06"},
		{"huber", map[string]float64{"delta": math.NaN()}, "loss: huber: delta = NaN: must be between 1e-06 and 1e+06"},
		{"squared", map[string]float64{"clip": math.Inf(1)}, "loss: squared: clip = +Inf: must be between 1e-06 and 1e+06"},
		{"welsch", map[string]float64{"c": 0}, "loss: welsch: c = 0: must be between 1e-06 and 1e+06"},
		{"geman-mcclure", map[string]float64{"c": 0}, "loss: geman-mcclure: c = 0: must be between 1e-06 and 1e+06"},
		{"tukey", map[string]float64{"c": 1e7}, "loss: tukey: c = 1e+07: must be between 1e-06 and 1e+06"},
		{"smoothed-hinge", map[string]float64{"width": 1e-7},
			"loss: smoothed-hinge: width = 1e-07: must be between 1e-06 and 1e+06"},
		{"poisson", map[string]float64{"clip": 0}, "loss: poisson: clip = 0: must be between 1e-06 and 1e+06"},
		{"softmax", map[string]float64{"classes": 2},
			"loss: softmax: classes = 2: must be between 3 and 4096 (logistic is for 2)"},
		{"softmax", map[string]float64{"classes": 3.5},
			"loss: softmax: classes = 3.5: must be a whole number between 3 and 4096"},
		{"softmax", map[string]float64{"classes": 1e300},
			"loss: softmax: classes = 1e+300: must be a whole number between 3 and 4096"},
		{"pinball", map[string]float64{"tau": 1}, "loss: pinball: tau = 1: must be between 0.001 and 0.999"},
		{"pinball", map[string]float64{"tau": math.NaN()}, "loss: pinball: tau = NaN: must be between 0.001 and 0.999"},
		{"epsilon-insensitive", map[string]float64{"e": 1},
			"loss: epsilon-insensitive: e = 1: must be between 1e-06 and 1, and below 1"},
		{"capped-absolute", map[string]float64{"c": 0}, "loss: capped-absolute: c = 0: must be between 1e-06 and 1e+06"},
		{"logistic", map[string]float64{"lambda": 1}, "loss: logistic: lambda = 1: unknown parameter: must be none"},
	} {
		if l, err := New(c.name, c.params); err == nil || err.Error() != c.want || l != nil {
			t.Errorf("New(%q, %v) = %v, %v\nwant error %s", c.name, c.params, l, err, c.want)
		}
	}
}

func TestNewRegularizerErrors(t *testing.T) {
	for _, c := range []struct {
		name   string
		params map[string]float64
		want   string
	}{
		{"l1", nil, `loss: regularizer: name = "l1": must be one of l2, nonconvex, none`},
		{"l2", nil, "loss: regularizer: l2: lambda is missing: parameters must be lambda"},
		{"l2", map[string]float64{"lambda": -1}, "loss: regularizer: l2: lambda = -1: must be between 0 and 1e+06"},
		{"nonconvex", map[string]float64{"lambda": math.NaN()},
			"loss: regularizer: nonconvex: lambda = NaN: must be between 0 and 1e+06"},
		{"none", map[string]float64{"lambda": 1}, "loss: regularizer: none: lambda = 1: unknown parameter: must be none"},
	} {
		if r, err := NewRegularizer(c.name, c.params); err == nil || err.Error() != c.want || r != nil {
			t.Errorf("NewRegularizer(%q, %v) = %v, %v\nwant error %s", c.name, c.params, r, err, c.want)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for name, want := range map[string]string{
		"huber":           `loss: name = "huber": must be huber(delta)`,
		"huber(0.1":       `loss: name = "huber(0.1": must end in ")"`,
		"huber()":         `loss: name = "huber()": delta = "": must be a number`,
		"huber(x)":        `loss: name = "huber(x)": delta = "x": must be a number`,
		"huber( 1)":       `loss: name = "huber( 1)": delta = " 1": must be a number`,
		"huber(1,2)":      `loss: name = "huber(1,2)": must be huber(delta)`,
		"huber(NaN)":      "loss: huber: delta = NaN: must be between 1e-06 and 1e+06",
		"huber(1e999)":    `loss: name = "huber(1e999)": delta = "1e999": must be a number`,
		"logistic()":      `loss: name = "logistic()": must be logistic`,
		"logistic(1)":     `loss: name = "logistic(1)": must be logistic`,
		"huber(0.1) ":     `loss: name = "huber(0.1) ": must end in ")"`,
		"huber(0.1)(0.1)": `loss: name = "huber(0.1)(0.1)": delta = "0.1)(0.1": must be a number`,
	} {
		if l, err := Parse(name); err == nil || err.Error() != want || l != nil {
			t.Errorf("Parse(%q) = %v, %v\nwant error %s", name, l, err, want)
		}
	}
	if r, err := ParseRegularizer("l2"); err == nil || r != nil {
		t.Errorf("ParseRegularizer(%q) = %v, %v: want an error", "l2", r, err)
	}
}

// TestNamesRoundTrip tests that every float that a constructor accepts survives New, Name and
// Parse.
func TestNamesRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom(Names()).Draw(t, "name")
		params := map[string]float64{}
		for _, field := range losses.entries[name].fields {
			params[field] = rapid.Float64Range(minScale, maxScale).Draw(t, field)
			switch field {
			case "tau", "e", "least":
				params[field] = rapid.Float64Range(.001, .999).Draw(t, field)
			case "p":
				params[field] = rapid.Float64Range(1.01, 1.99).Draw(t, field)
			case "mean":
				params[field] = rapid.Float64Range(minScale, 1).Draw(t, field)
			case "most":
				params[field] = rapid.Float64Range(1, maxScale).Draw(t, field)
			case "classes":
				params[field] = float64(rapid.IntRange(3, mostMargins).Draw(t, field))
			}
		}
		l, err := New(name, params)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := Parse(l.Name()); err != nil || back != l {
			t.Errorf("Parse(%q) = %#v, %v: want %#v", l.Name(), back, err, l)
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom(RegularizerNames()).Draw(t, "name")
		params := map[string]float64{}
		for _, field := range regularizers.entries[name].fields {
			params[field] = rapid.Float64Range(0, maxScale).Draw(t, field)
		}
		r, err := NewRegularizer(name, params)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := ParseRegularizer(r.Name()); err != nil || back != r {
			t.Errorf("ParseRegularizer(%q) = %#v, %v: want %#v", r.Name(), back, err, r)
		}
	})
}
