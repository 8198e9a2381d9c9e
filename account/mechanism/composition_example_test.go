package mechanism_test

import (
	"context"
	"fmt"
	"log"

	"github.com/stillpoint-dp/stillpoint/account/mechanism"
)

// A training run has 2250 steps on samples of 4% of the records. Upper is the epsilon to report.
func ExampleCompose() {
	step, err := mechanism.NewSampledGaussian(1.5, 0.04, mechanism.AddOrRemove)
	if err != nil {
		log.Fatal(err)
	}
	run, err := mechanism.Compose(context.Background(), []mechanism.Composed{{Mechanism: step, Count: 2250}}, 1e-3)
	if err != nil {
		log.Fatal(err)
	}
	epsilon, err := run.Epsilon(context.Background(), 1e-5)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("epsilon between %.2f and %.2f\n", epsilon.Lower, epsilon.Upper)
	// Output: epsilon between 6.77 and 6.77
}

// Two different phases of a run use one multiplier.
func ExampleCalibrateMultiplier() {
	z, err := mechanism.CalibrateMultiplier(context.Background(), 1, 1e-6, func(z float64) ([]mechanism.Composed, error) {
		large, err := mechanism.NewSampledGaussian(z, 0.02, mechanism.AddOrRemove)
		if err != nil {
			return nil, err
		}
		small, err := mechanism.NewSampledGaussian(z, 0.005, mechanism.AddOrRemove)
		return []mechanism.Composed{{Mechanism: large, Count: 100}, {Mechanism: small, Count: 1900}}, err
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("noise multiplier %.3f\n", z)
	// Output: noise multiplier 1.508
}

func ExampleDecodeEventFile() {
	plan, err := mechanism.DecodeEventFile([]byte(`{"relation": "add-or-remove", "events": [
		{"kind": "sampled-gaussian", "noise_multiplier": 2, "sampling": 0.01, "count": 10000},
		{"kind": "laplace", "scale": 20, "count": 1}]}`))
	if err != nil {
		log.Fatal(err)
	}
	run, err := mechanism.Compose(context.Background(), plan.Events, 1e-2)
	if err != nil {
		log.Fatal(err)
	}
	epsilon, err := run.Epsilon(context.Background(), 1e-6)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%v: epsilon %.1f\n", plan.Relation, epsilon.Upper)
	// Output: add-or-remove: epsilon 2.5
}
