package train

import (
	"math"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/inference"
	"github.com/stillpoint-dp/stillpoint/loss"
)

// TestForecastsOfIntervalsOnBothSides tests what a forecast of intervals says of a small epsilon, of none, and of each share of the
// coefficients that had an interval in simulations.
func TestForecastsOfIntervalsOnBothSides(t *testing.T) {
	const begin = "95% confidence intervals of up to 4 coefficients: of a typical column about +-0.2 per standard deviation of the column (given the " +
		"others), 1.5 times as wide as without privacy; half as wide with 8000 records"
	for _, c := range []struct {
		epsilon, reported float64
		want              string
	}{
		{.4, 1, ", or epsilon 0.4"}, {0, 1, " (with no epsilon, since the sampling error alone is larger)"},
		{.4, .1, ", or epsilon 0.4; in simulations of this size about 10% of the coefficients had one"},
		{.4, .95, ", or epsilon 0.4; in simulations of this size about 95% of the coefficients had one"},
		{.4, 0, ", or epsilon 0.4; expect NO interval: in simulations of this size no fit had one. More records, a larger epsilon, fewer columns or, for " +
			"counts, a smaller clip help"},
	} {
		e := &Expected{Level: .95, HalfWidth: .2, Ratio: 1.5, Records: 8000, Epsilon: c.epsilon, Columns: 5, Reported: c.reported}
		if got := e.String(); got != begin+c.want {
			t.Errorf("%q: must be %q", got, begin+c.want)
		}
	}
}

// TestIntervalsHaveRoom: the file of the longest numbers takes no more than what is reserved for it, and a tenth of it at least.
func TestIntervalsHaveRoom(t *testing.T) {
	const k = 60
	f := &inference.Fit{Level: .95, Method: inference.Wald}
	long := func(n int) (list []float64) {
		for i := range n {
			list = append(list, -math.Pi*1e-123*float64(i+1))
		}
		return list
	}
	for j := range k {
		f.Columns = append(f.Columns, inference.Column{Feature: 100 + j})
	}
	f.Beta, f.Remainders, f.LeastDirection, f.Left = long(k), long(k), long(k), long(2*k)
	f.Covariance, f.Sampling, f.Metric = long(k*(k+1)/2), long(k*(k+1)/2), long(k*(k+1)/2)
	text, err := f.JSON()
	if room := inferenceRoom(k); err != nil || len(text) > room || room > 10*len(text) {
		t.Errorf("%d bytes, %v: the room is %d", len(text), err, room)
	}
}

// TestLossesOfIntervals tests which losses begin at a base rate that a fit with intervals cannot do without. Features of effects
// are for losses of one margin.
func TestLossesOfIntervals(t *testing.T) {
	number := dataset.Target{Column: "y", Kind: dataset.Number, High: 9}
	classes := func(names ...string) dataset.Target {
		return dataset.Target{Column: "y", Kind: dataset.Category, Classes: names}
	}
	for _, c := range []struct {
		target dataset.Target
		loss   string
		based  bool // needs a base rate
	}{
		{classes("a", "b"), "logistic", false}, {number, "squared(1)", false}, {number, "poisson(1)", false}, {number, "gamma(2,0.1)", true},
		{classes("a", "b", "c"), "ordered(3)", true}, {classes("a", "b", "c"), "softmax(3)", true}, {number, "absolute", false},
	} {
		s, err := dataset.New(dataset.Definition{Columns: []dataset.Column{{Name: "x", Kind: dataset.Number, High: 1}}, Target: c.target})
		if err != nil {
			t.Fatal(err)
		}
		l, err := loss.Parse(c.loss)
		if err != nil {
			t.Fatal(err)
		}
		with := &Config{Schema: s, Inference: &Inference{}}
		with.Train.Base = Off
		if _, err = with.intervals(l); c.loss != "absolute" && (err != nil) != c.based || c.based && !strings.Contains(err.Error(),
			"train.base: must be a share of the budget with loss "+c.loss) {
			t.Errorf("%s: intervals without a base rate: %v", c.loss, err)
		}
		rate := .5
		with.Model.Start.Rate = &rate // a stated start takes the place of a base rate
		if _, err := with.intervals(l); (err == nil) != (c.loss != "absolute") {
			t.Errorf("%s: intervals from a stated start: %v", c.loss, err)
		}
		with.Train.Base, with.Model.Start = 0, Start{}
		if _, err := with.intervals(l); (err == nil) != (c.loss != "absolute") {
			t.Errorf("%s: intervals: %v", c.loss, err)
		}
	}
	for _, names := range [][]string{{"a", "b"}, {"a", "b", "c"}} {
		s, err := dataset.New(dataset.Definition{Columns: []dataset.Column{{Name: "x", Kind: dataset.Number, High: 1}}, Target: classes(names...)})
		if err != nil {
			t.Fatal(err)
		}
		c := &Config{Schema: s}
		c.Model.Features, c.Model.Loss = featuresOfEffects, map[int]LossName{2: "logistic", 3: "softmax"}[len(names)]
		if _, err := c.finds(); (err == nil) != (len(names) == 2) || err != nil && !strings.Contains(err.Error(), "must have one margin") {
			t.Errorf("%d classes: %v", len(names), err)
		}
	}
}

// TestStatedRatesOfIntervals: a base rate that the schema states tells the forecast of intervals the mean second derivative of
// the loss and the mean square of its slope: for classes both are p (1 - p), for counts the mean count over the largest and over
// its square. Counts with exposures, numbers and schemas that state none tell nothing, and events and several classes only their
// shares.
func TestStatedRatesOfIntervals(t *testing.T) {
	number := dataset.Target{Column: "y", Kind: dataset.Number, High: 20}
	with := func(t dataset.Target, change func(*dataset.Target)) dataset.Target {
		change(&t)
		return t
	}
	exposed := with(number, func(t *dataset.Target) { t.Exposure = dataset.Exposure{Column: "e", Low: 1, High: 2} })
	times := with(number, func(t *dataset.Target) { t.Event = "d" })
	classes := func(names ...string) dataset.Target {
		return dataset.Target{Column: "y", Kind: dataset.Category, Classes: names}
	}
	for _, c := range []struct {
		name              string
		target            dataset.Target
		loss              string
		share             []float64
		curvature, square float64
		events            float64
		shares            int
	}{
		{"classes", classes("a", "b"), "logistic", []float64{.2}, .16, .16, 0, 0},
		{"counts", number, "poisson(1)", []float64{3}, .15, .0075, 0, 0},
		{"counts with exposures", exposed, "poisson-rate(1,0.5)", []float64{3}, 0, 0, 0, 0},
		{"numbers", number, "squared(1)", []float64{3}, 0, 0, 0, 0},
		{"a time", times, "hazard", []float64{.3}, 0, 0, .3, 0},
		{"several classes", classes("a", "b", "c"), "softmax", []float64{.2, .3, .5}, 0, 0, 0, 3},
	} {
		for _, stated := range []bool{true, false} {
			target := c.target
			if stated {
				target.Share = c.share
			}
			s, err := dataset.New(dataset.Definition{Columns: []dataset.Column{{Name: "x", Kind: dataset.Number, High: 1}}, Target: target})
			if err != nil {
				t.Fatal(err)
			}
			config := &Config{Schema: s, Inference: &Inference{}}
			config.Model.Loss = LossName(c.loss)
			l, err := config.loss()
			if err != nil {
				t.Fatal(err)
			}
			a, err := config.intervals(l)
			if err != nil {
				t.Fatal(err)
			}
			if !stated {
				c.curvature, c.square, c.events, c.shares = 0, 0, 0, 0
			}
			if k := a.Known; !(math.Abs(k.Curvature-c.curvature) <= 1e-15) || !(math.Abs(k.Square-c.square) <= 1e-15) || k.Events != c.events ||
				len(k.Shares) != c.shares {
				t.Errorf("%s, stated %v: %+v", c.name, stated, k)
			}
		}
	}
}
