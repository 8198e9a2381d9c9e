package mechanism

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/internal/recordedtest"
)

// recordedEvents are the events of files, one of each kind, and some together.
var recordedEvents = []string{
	`{"kind": "gaussian", "noise_multiplier": 20, "count": 3}`,
	`{"kind": "gaussian", "noise_multiplier": 0.7, "count": 1}`,
	`{"kind": "sampled-gaussian", "noise_multiplier": 1.5, "sampling": 0.04, "count": 40}`,
	`{"kind": "sampled-gaussian", "noise_multiplier": 1.5, "sampling": 1, "count": 2}`,
	`{"kind": "fixed-size-gaussian", "noise_multiplier": 3, "records": 500, "batch": 50, "count": 10}`,
	`{"kind": "gaussian-mixture", "noise_multiplier": 9, "weights": [0.5, 0.3, 0.2], "offsets": [0, 1, 2.5], "count": 2}`,
	`{"kind": "discrete-gaussian", "sigma": 40, "sensitivity": 2, "count": 10}`,
	`{"kind": "tree", "noise_multiplier": 12, "items": 100, "participations": 4, "separation": 16, "count": 1}`,
	`{"kind": "tree", "noise_multiplier": 6, "items": 33, "count": 2}`,
	`{"kind": "toeplitz", "noise_multiplier": 8, "items": 64, "bands": 16, "participations": 2, "separation": 16, "count": 1}`,
	`{"kind": "toeplitz", "noise_multiplier": 8, "items": 20, "count": 1}`,
	`{"kind": "laplace", "scale": 5, "count": 2}`,
	`{"kind": "randomized-response", "p": 0.4, "count": 1}`,
	`{"kind": "pure", "epsilon": 0.3, "count": 2}`,
	`{"kind": "selection", "epsilon": 0.2, "count": 3}`,
	`{"kind": "bounded-range", "epsilon": 0.4, "count": 1}`,
	`{"kind": "repeat-and-select", "repetitions": "geometric", "mean": 5, "count": 1, "events": [{"kind": "gaussian", ` +
		`"noise_multiplier": 4, "count": 2}]}`,
	`{"kind": "repeat-and-select", "repetitions": "poisson", "mean": 3, "count": 1, "events": [{"kind": "pure", "epsilon": 0.1, "count": 2}]}`,
	`{"kind": "repeat-and-select", "repetitions": "negative-binomial", "shape": 0.5, "mean": 4, "count": 1, "events": ` +
		`[{"kind": "gaussian", "noise_multiplier": 9, "count": 1}]}`,
	`{"kind": "repeat-and-select", "repetitions": "logarithmic", "mean": 4, "count": 2, "events": [{"kind": "laplace", "scale": 30, "count": 1}]}`,
	`{"kind": "gaussian", "noise_multiplier": 3, "count": 1}, {"kind": "laplace", "scale": 9, "count": 2}, ` +
		`{"kind": "selection", "epsilon": 0.1, "count": 2}`,
	`{"kind": "gaussian", "noise_multiplier": 0, "count": 1}`,
	`{"kind": "gaussian", "noise_multiplier": -1, "count": 1}`,
	`{"kind": "gaussian", "noise_multiplier": 1, "count": 0}`,
	`{"kind": "gaussian", "noise_multiplier": 1}`,
	`{"kind": "gaussian", "noise_multiplier": 1, "count": 1.5}`,
	`{"kind": "gaussian", "noise_multiplier": "1", "count": 1}`,
	`{"kind": "gaussian", "noise_multiplier": 1, "count": 1, "sampling": 0.1}`,
	`{"kind": "gaussien", "noise_multiplier": 1, "count": 1}`,
	`{"noise_multiplier": 1, "count": 1}`,
	`7`,
	`{"kind": "sampled-gaussian", "noise_multiplier": 1, "sampling": 1.01, "count": 1}`,
	`{"kind": "sampled-gaussian", "noise_multiplier": 1, "sampling": 0, "count": 1}`,
	`{"kind": "fixed-size-gaussian", "noise_multiplier": 3, "records": 50, "batch": 51, "count": 1}`,
	`{"kind": "fixed-size-gaussian", "noise_multiplier": 3, "records": 0, "batch": 0, "count": 1}`,
	`{"kind": "gaussian-mixture", "noise_multiplier": 9, "weights": [0.5, 0.4], "offsets": [0, 1], "count": 1}`,
	`{"kind": "gaussian-mixture", "noise_multiplier": 9, "weights": [1], "offsets": [0, 1], "count": 1}`,
	`{"kind": "gaussian-mixture", "noise_multiplier": 9, "weights": [1.5, -0.5], "offsets": [0, 1], "count": 1}`,
	`{"kind": "discrete-gaussian", "sigma": 0, "sensitivity": 2, "count": 1}`,
	`{"kind": "discrete-gaussian", "sigma": 4, "sensitivity": 0, "count": 1}`,
	`{"kind": "tree", "noise_multiplier": 12, "items": 0, "count": 1}`,
	`{"kind": "tree", "noise_multiplier": 12, "items": 10, "participations": 4, "separation": 4, "count": 1}`,
	`{"kind": "tree", "noise_multiplier": 12, "items": 10, "participations": 0, "count": 1}`,
	`{"kind": "toeplitz", "noise_multiplier": 8, "items": 20, "bands": 21, "count": 1}`,
	`{"kind": "laplace", "scale": 0, "count": 1}`,
	`{"kind": "randomized-response", "p": 0.6, "count": 1}`,
	`{"kind": "randomized-response", "p": 0, "count": 1}`,
	`{"kind": "pure", "epsilon": -1, "count": 1}`,
	`{"kind": "selection", "epsilon": 0, "count": 1}`,
	`{"kind": "repeat-and-select", "repetitions": "geometric", "mean": 0.5, "count": 1, "events": [{"kind": "pure", "epsilon": 0.1, "count": 2}]}`,
	`{"kind": "repeat-and-select", "repetitions": "geometric", "mean": 2, "count": 1, "events": []}`,
	`{"kind": "repeat-and-select", "repetitions": "uniform", "mean": 2, "count": 1, "events": [{"kind": "pure", "epsilon": 0.1, "count": 2}]}`,
	`{"kind": "repeat-and-select", "repetitions": "poisson", "mean": 2, "shape": 1, "count": 1, "events": [{"kind": "pure", "epsilon": 0.1, "count": 2}]}`,
	`{"kind": "repeat-and-select", "repetitions": "negative-binomial", "mean": 2, "shape": -1, "count": 1, "events": [{"kind": "pure", "epsilon": 0.1, "count": 2}]}`,
}

// TestNumbersAreWhatTheyWere compares bounds by each accountant on events of each kind, and the errors of bad events, with
// testdata/numbers.golden, to the bit. The file is written by go test ./account/mechanism -run NumbersAreWhatTheyWere
// -update. Other tests work out the numbers by other ways and with tolerances; this one sees whatever else changes.
//
// Other processors fuse multiplications and additions, and results then have other bits.
func TestNumbersAreWhatTheyWere(t *testing.T) {
	ctx := context.Background()
	var got bytes.Buffer
	say := func(name string, v any, err error) {
		if err != nil {
			v = err
		}
		fmt.Fprintf(&got, "  %s %v\n", name, v)
	}
	for i, text := range recordedEvents {
		relations := []string{"replace-one", "add-or-remove"}
		both := strings.Contains(text, "gaussian-") || strings.Contains(text, "-gaussian") // one of them may be refused
		for k, relation := range relations {
			if !both && k != i%2 {
				continue
			}
			fmt.Fprintf(&got, "%s %s\n", relation, text)
			file, err := DecodeEventFile([]byte(`{"relation": "` + relation + `", "events": [` + text + `]}`))
			if err != nil {
				say("refused:", nil, err)
				continue
			}
			say("events", file.Events, nil)
			say("assume", Assumptions(file.Events), nil)
			c, err := Compose(ctx, file.Events, .1)
			if err != nil {
				say("compose", nil, err)
				continue
			}
			b, err := c.Epsilon(ctx, 1e-6)
			say("epsilon", b, err)
			b, err = c.Delta(ctx, .8)
			say("delta", b, err)
			if i == 0 || i == 12 {
				curve, err := c.TradeOff(ctx, []float64{.02, .5})
				say("trade-off", curve, err)
			}
			r, err := ComposeRenyi(ctx, file.Events)
			if err != nil {
				say("renyi", nil, err)
				continue
			}
			e, err := r.Epsilon(ctx, 1e-5)
			say("by renyi", e, err)
			d, err := r.Delta(ctx, 1.5)
			say("by renyi", d, err)
			rho, err := ZCDP(ctx, file.Events)
			say("rho", rho, err)
			group, err := Group(file.Events[0].Mechanism, 3)
			say("group", group, err)
		}
	}
	for _, x := range []float64{-1, 0, 1e-9, .1, .5, 1, 3, 40} {
		for _, y := range []float64{0, 1e-12, 1e-5, .3, 1, 2} {
			fmt.Fprintln(&got, x, y)
			for i, f := range []func(x, y float64) (float64, error){GaussianDelta, GaussianEpsilon, GaussianMu, ZCDPDelta, ZCDPEpsilon} {
				v, err := f(x, y)
				say([]string{"gaussian delta", "gaussian epsilon", "gaussian mu", "zcdp delta", "zcdp epsilon"}[i], v, err)
			}
		}
		v, err := SelectionMu(x)
		say("selection mu", v, err)
		v, err = RhoOfMu(x)
		say("rho of mu", v, err)
	}
	steps := []SampledSteps{{NoiseMultiplier: 2, Sampling: .05, Count: 10}, {NoiseMultiplier: 3, Sampling: .1, Count: 5}}
	for _, r := range []Relation{ReplaceOne, AddOrRemove} {
		mu, err := ApproximateMu(ctx, steps, r, 1e-5)
		say("approximate mu", mu, err)
		say("checked", nil, CheckApproximateMu(ctx, steps, r, 1e-5, mu))
		say("checked", nil, CheckApproximateMu(ctx, steps, r, 1e-5, mu*.99))
		plan := SampledPlan{Relation: r, Steps: steps, Mu: .1}
		n, err := plan.Count()
		say("count", n, err)
		proven, err := plan.Prove(ctx, 2, 1e-5)
		say("proven", proven, err)
		proven, err = plan.Prove(ctx, .2, 1e-5)
		say("proven", proven, err)
		scaled, proven, err := plan.Calibrate(ctx, .9, 1e-5)
		say("calibrated", fmt.Sprint(scaled, proven), err)
	}
	recordedtest.Compare(t, "testdata/numbers.golden", got.String())
}

// countdown is a context that ends when it is asked for the nth time whether it has ended.
type countdown struct {
	context.Context
	left *int
}

func (c countdown) Err() error {
	if *c.left--; *c.left <= 0 {
		return errEnded
	}
	return nil
}

var errEnded = errors.New("the context ended")

// TestEveryEndOfAContextIsTold ends the context at each place where it is looked at: no function takes that for a result.
func TestEveryEndOfAContextIsTold(t *testing.T) {
	sampled, err := NewSampledGaussian(2, .05, AddOrRemove)
	if err != nil {
		t.Fatal(err)
	}
	gaussian, err := NewGaussian(4)
	if err != nil {
		t.Fatal(err)
	}
	events := []Composed{{sampled, 10}, {gaussian, 1}}
	steps := []SampledSteps{{NoiseMultiplier: 2, Sampling: .05, Count: 10}}
	plan := SampledPlan{Relation: AddOrRemove, Steps: steps, Mu: .1}
	renyi, err := ComposeRenyi(t.Context(), events)
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]func(ctx context.Context) error{
		"compose": func(ctx context.Context) error { _, err := Compose(ctx, events, .1); return err },
		"epsilon": func(ctx context.Context) error {
			c, err := Compose(ctx, events, .1)
			if err == nil {
				_, err = c.Epsilon(ctx, 1e-5)
			}
			return err
		},
		"trade-off": func(ctx context.Context) error {
			c, err := Compose(ctx, events, .1)
			if err == nil {
				_, err = c.TradeOff(ctx, []float64{.1})
			}
			return err
		},
		"renyi": func(ctx context.Context) error { _, err := renyi.Epsilon(ctx, 1e-5); return err },
		"repeated": func(ctx context.Context) error {
			_, err := newRepeatAndSelect(ctx, Repetitions{Shape: 1, Mean: 5}, []Composed{{gaussian, 1}})
			return err
		},
		"approximate": func(ctx context.Context) error { _, err := ApproximateMu(ctx, steps, AddOrRemove, 1e-5); return err },
		"check":       func(ctx context.Context) error { return CheckApproximateMu(ctx, steps, AddOrRemove, 1e-5, .5) },
		"prove":       func(ctx context.Context) error { _, err := plan.Prove(ctx, 2, 1e-5); return err },
	} {
		most := 1 << 30
		if err := f(countdown{t.Context(), &most}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		looks := 1<<30 - most
		for _, at := range []int{1, 2, looks / 2, looks} {
			left := at
			if at < 1 || at > looks {
				continue
			}
			if err := f(countdown{t.Context(), &left}); !errors.Is(err, errEnded) {
				t.Errorf("%s: the context ends at look %d of %d: error %v", name, at, looks, err)
			}
		}
	}
}
