//go:build results

package experiment_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/lab/experiment"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/firstorder"
	"github.com/stillpoint-dp/stillpoint/optimize/kl"
	"github.com/stillpoint-dp/stillpoint/optimize/nonsmooth"
	"github.com/stillpoint-dp/stillpoint/optimize/onepass"
	"github.com/stillpoint-dp/stillpoint/optimize/recursive"
	"github.com/stillpoint-dp/stillpoint/optimize/secondorder"
)

// TestPromises prints Markdown: the number of records from which the bound of each theorem is below what the start
// satisfies, at delta 1e-6 under replace-one.
func TestPromises(t *testing.T) {
	o2nc := func(o nonsmooth.Oracle, r nonsmooth.Order) nonsmooth.O2NC {
		return nonsmooth.O2NC{Radius: .4, Oracle: o, Order: r, Theorem: true}
	}
	list := []struct {
		family    string
		algorithm optimize.Algorithm
	}{
		{"tanh", firstorder.SpiderBoost{Theorem: true}},
		{"tanh", onepass.TreeSpider{Theorem: true}},
		{"logistic", recursive.Recursive{Theorem: true}},
		{"logistic", recursive.Recursive{Theorem: true, Inner: recursive.PhasedSGD}},
		{"capped(0.4)", o2nc(nonsmooth.SinglePass, nonsmooth.ZeroOrder)},
		{"capped(0.4)", o2nc(nonsmooth.MultiPass, nonsmooth.RuleOrder)},
		{"capped(0.4)", o2nc(nonsmooth.SinglePass, nonsmooth.RuleOrder)},
		{"saddle(0.15)", secondorder.Spider{Theorem: true}},
		{"saddle(0.15)", secondorder.Perturbed{Theorem: true}},
		{"exp-tail", kl.Spider{Theorem: true}},
		{"quartic", kl.Spider{Theorem: true}},
		{"low-rank(5)", kl.Spider{Theorem: true}},
		{"three-halves-fine", kl.Proximal{Theorem: true}},
		{"exp-tail", kl.Adaptive{Theorem: true}},
		{"low-rank(5)", kl.Adaptive{Theorem: true}},
		{"low-rank(5)", kl.StronglyConvex{Theorem: true}},
	}
	fmt.Println("\n## Promises")
	fmt.Println("\n| theorem | family | d = 10 | 100 | 1000 |\n|---|---|---|---|---|")
	for _, x := range list {
		var row []string
		name := ""
		for _, d := range []int{10, 100, 1000} {
			f, err := experiment.NewFamily(x.family, d, 20, 0)
			if err != nil {
				t.Fatal(err)
			}
			var cell []string
			for _, epsilon := range []float64{.1, 1, 8} {
				theorem, from := promised(t, f, x.algorithm, epsilon)
				name, cell = theorem, append(cell, from)
			}
			row = append(row, strings.Join(cell, " / "))
		}
		fmt.Printf("| %s | %s | %s |\n", name, x.family, strings.Join(row, " | "))
	}
}

// promised returns the theorem's name and the number of records, by the first size at which the theorem's settings can
// be planned.
func promised(t *testing.T, f *experiment.Family, a optimize.Algorithm, epsilon float64) (theorem, from string) {
	t.Helper()
	b, err := account.NewBudget(epsilon, 1e-6, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	for n := 1e3; n <= 1e12; n *= 10 {
		p, err := f.Problem(n, b)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := a.Plan(context.Background(), p)
		if err != nil {
			continue
		}
		s := plan.Summary().Promise
		if s.From == 0 {
			return s.Theorem, "none"
		}
		return s.Theorem, strings.NewReplacer("e+0", "e", "e+", "e").Replace(fmt.Sprintf("%.2g", s.From))
	}
	return "not planned", "none"
}
