package mechanism_test

import (
	"fmt"
	"log"

	"github.com/stillpoint-dp/stillpoint/account/mechanism"
)

// A budget of epsilon 1 and delta 1e-6 permits one Gaussian release whose noise is 1/mu times the
// sensitivity.
func ExampleGaussianMu() {
	mu, err := mechanism.GaussianMu(1, 1e-6)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("mu %.6f, noise multiplier %.4f\n", mu, 1/mu)
	// Output: mu 0.236704, noise multiplier 4.2247
}

// A run makes a hundred releases, each with noise of 40 times the sensitivity. Charges add, so mu^2
// is 100/40^2.
func ExampleGaussianEpsilon() {
	epsilon, err := mechanism.GaussianEpsilon(10.0/40, 1e-6)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("epsilon %.4f\n", epsilon)
	// Output: epsilon 1.0607
}

// A mechanism known to be Gaussian has a smaller epsilon than its zCDP parameter gives.
func ExampleZCDPEpsilon() {
	const mu, delta = 0.25, 1e-6
	rho, err := mechanism.RhoOfMu(mu)
	if err != nil {
		log.Fatal(err)
	}
	generic, err := mechanism.ZCDPEpsilon(rho, delta)
	if err != nil {
		log.Fatal(err)
	}
	exact, err := mechanism.GaussianEpsilon(mu, delta)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("rho %v: epsilon %.4f, as a Gaussian %.4f\n", rho, generic, exact)
	// Output: rho 0.03125: epsilon 1.1429, as a Gaussian 1.0607
}
