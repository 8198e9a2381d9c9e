package loss

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// TestParametersAreRefused tests, for each parameter of each loss and regularizer, that a number that is none, infinite or
// negative is refused, by an error that names the loss and the parameter, and that no loss comes with it.
func TestParametersAreRefused(t *testing.T) {
	valid := func(field string) float64 {
		return map[string]float64{"tau": .3, "e": .3, "least": .1, "p": 1.5, "mean": 5, "most": 300, "classes": 3, "typical": 5}[field]
	}
	tried := 0
	for _, name := range Names() {
		fields := losses.entries[name].fields
		params := func() map[string]float64 {
			list := map[string]float64{}
			for _, f := range fields {
				if list[f] = valid(f); list[f] == 0 {
					list[f] = 2
				}
			}
			return list
		}
		if l, err := New(name, params()); err != nil || l == nil {
			t.Errorf("%s with %v: %v", name, params(), err)
			continue
		}
		for _, field := range fields {
			for _, v := range []float64{math.NaN(), math.Inf(1), -1} {
				bad := params()
				bad[field] = v
				tried++
				l, err := New(name, bad)
				of := strings.TrimSuffix(name, "-rate") // a loss with exposures is made of that without
				if err == nil || l != nil || !strings.Contains(err.Error(), of) || !strings.Contains(err.Error(), field) &&
					!(field == "most" && strings.Contains(err.Error(), "the largest number")) {
					t.Errorf("%s with %s = %v: %v, %v", name, field, v, l, err)
				}
			}
		}
	}
	for _, name := range RegularizerNames() {
		fields := regularizers.entries[name].fields
		for i := range fields {
			params := map[string]float64{}
			for _, f := range fields {
				params[f] = .5
			}
			params[fields[i]] = math.NaN()
			tried++
			if r, err := NewRegularizer(name, params); err == nil || r != nil {
				t.Errorf("%s with %s = NaN: %v, %v", name, fields[i], r, err)
			}
		}
	}
	if tried < 60 {
		t.Errorf("%d parameters tried", tried)
	}
}

// TestCountsOfMargins tests the number of margins of each loss: 1 for a score, that of the classes for several, and 0 for a
// loss that computes its gradient itself.
func TestCountsOfMargins(t *testing.T) {
	for name, want := range map[string]int{"logistic": 1, "huber(0.5)": 1, "softmax(4)": 4, "ordered(4)": 0,
		"network(3,tanh,logistic)": 0, "weighted(softmax(3),1,2,3)": 3} {
		l, err := Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		_, general := l.(General)
		if got := Count(l); got != want || general != (want == 0) {
			t.Errorf("%s: %d margins, general %v: must be %d", name, got, general, want)
		}
	}
	if !slices.Contains(Names(), "logistic") {
		t.Error("no losses")
	}
}

// TestEndsOfIntervalsAreTaken tests that both ends of the interval of a quantile are taken, and nothing beyond.
func TestEndsOfIntervalsAreTaken(t *testing.T) {
	for tau, taken := range map[float64]bool{.001: true, .999: true, .00099: false, .99901: false, .5: true} {
		if _, err := New("pinball", map[string]float64{"tau": tau}); (err == nil) != taken {
			t.Errorf("pinball(%v): %v", tau, err)
		}
	}
}
