//go:build results

// Package results_test computes the figures without privacy that the pages of this folder compare with. The
// rows are encoded as for the private fits.
//
//	go test -tags results -count=1 -v ./lab/results
package results_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/internal/train"
	"github.com/stillpoint-dp/stillpoint/loss"
)

func config(t *testing.T, path string) *train.Config {
	t.Helper()
	c, err := train.ReadConfig(path)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func parse(t *testing.T, name string) loss.RankOne {
	t.Helper()
	l, err := loss.Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	return l.(loss.RankOne)
}

// TestAdult prints the results of logistic regression without privacy on the Adult table.
func TestAdult(t *testing.T) {
	c := config(t, "../../examples/adult/adult.yaml")
	training := read(t, c.DataPath(), c.Schema, "split=train")
	held := read(t, c.DataPath(), c.Schema, "split=test")
	w := minimise(t, training, parse(t, string(c.Model.Loss)))
	accuracy, auc := held.accuracyAndAUC(held.margins(w))
	fmt.Printf("adult: %d rows, %d held out: accuracy %.4f, auc %.4f\n", training.n(), held.n(), accuracy, auc)
}

var tableOf = flag.String("table", "", "a configuration whose loss TestTable minimises without privacy")

// TestTable prints the loss of a fit without privacy for the configuration that is named on the
// command line. Its table has a column split that tells training rows from held-out rows.
func TestTable(t *testing.T) {
	if *tableOf == "" {
		t.Skip("-table names no configuration")
	}
	c := config(t, *tableOf)
	training := read(t, c.DataPath(), c.Schema, "split=train")
	held := read(t, c.DataPath(), c.Schema, "split=test")
	z := held.margins(minimise(t, training, parse(t, string(c.Model.Loss))))
	low, high := c.Schema.Target().Low, c.Schema.Target().High
	// A fit's predictions are clamped to the target's bounds, too.
	mae, rmse := held.errorsOf(func(i int) float64 { return (low+high)/2 + min(max(z[i], -1), 1)*(high-low)/2 })
	fmt.Printf("%s: %d rows, %d held out, %d features: mae %.2f, rmse %.2f\n", *tableOf, training.n(), held.n(),
		training.dim, mae, rmse)
}

// TestFlights prints the loss without privacy of each configuration in flights.sh, at the stationary point
// and after 1000 steps of gradient descent, beside constant predictions.
func TestFlights(t *testing.T) {
	for _, name := range []string{"flights", "schedule"} {
		reference(t, name, config(t, "../../examples/flights/"+name+".yaml"))
	}
	reference(t, "flights, dep_delay bounded by [-60, 1500] instead", widened(t))
}

func reference(t *testing.T, name string, c *train.Config) {
	training := read(t, c.DataPath(), c.Schema, "split=train")
	held := read(t, c.DataPath(), c.Schema, "split=test")
	fmt.Printf("%s: %d rows, %d held out\n", name, training.n(), held.n())
	report := func(what string, predict func(int) float64) {
		mae, rmse := held.errorsOf(predict)
		fmt.Printf("  %-16s mae %.2f  rmse %.2f\n", what, mae, rmse)
	}
	sorted := slices.Sorted(slices.Values(training.truth))
	var mean float64
	for _, y := range sorted {
		mean += y / float64(len(sorted))
	}
	median := sorted[len(sorted)/2]
	report(fmt.Sprintf("mean %.2f", mean), func(int) float64 { return mean })
	report(fmt.Sprintf("median %.0f", median), func(int) float64 { return median })
	for _, loss := range []string{"squared(1)", "squared(0.12)", "huber(0.01)", "welsch(0.02)"} {
		z := held.margins(minimise(t, training, parse(t, loss)))
		report(loss, func(i int) float64 { return c.Schema.TargetFromUnit(z[i]) })
		z = held.margins(descend(training, parse(t, loss), 1000))
		report("  1000 steps", func(i int) float64 { return c.Schema.TargetFromUnit(z[i]) })
	}
}

// widened returns the flights configuration with a wider public bound of the departure delay, to measure
// the cost of the bound.
func widened(t *testing.T) *train.Config {
	t.Helper()
	text, err := os.ReadFile("../../examples/flights/flights.yaml")
	if err != nil {
		t.Fatal(err)
	}
	data, err := filepath.Abs("../../examples/flights/pnwflights.csv.gz")
	if err != nil {
		t.Fatal(err)
	}
	wide := strings.NewReplacer("data: pnwflights.csv.gz", "data: "+data, "[-60, 180]",
		"[-60, 1500]").Replace(string(text))
	path := filepath.Join(t.TempDir(), "wide.yaml")
	if err := os.WriteFile(path, []byte(wide), 0o600); err != nil {
		t.Fatal(err)
	}
	return config(t, path)
}
