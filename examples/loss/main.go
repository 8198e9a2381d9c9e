// Command loss trains a model with its own loss: a prediction that is too low costs three times as much as
// a prediction that is too high by the same amount.
//
//	go run ./examples/loss
//
// The rows are generated; no table of people is read.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"math"
	"math/rand/v2"
	"os"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/choose"
)

// asymmetric is a Huber loss that weights errors by their sign. Let r = z - y be the prediction minus the
// label, with y in [-1, 1]. The loss is a(r) times the Huber loss of r with the threshold delta, where a(r)
// = low >= 1 for r < 0 (the prediction is too low) and a(r) = 1 otherwise.
//
//	d/dr = a(r) r clamped to [-a delta, a delta]
//	d2/dr2 = a(r) inside, 0 outside: in [0, low], with jumps, so there is no bound on the third derivative
//
// InitialGap is an upper bound on the loss at z = 0. There |r| <= 1, and the loss grows with |r|, so
// InitialGap is the value at r = -1.
type asymmetric struct{ delta, low float64 }

func (a asymmetric) Name() string      { return fmt.Sprintf("asymmetric(%v,%v)", a.delta, a.low) }
func (asymmetric) Target() loss.Target { return loss.Real }

func (a asymmetric) Constants() loss.Constants {
	return loss.Constants{
		Lipschitz:        float64(a.low * a.delta),
		Curvature:        loss.CurvatureInterval{Lo: 0, Hi: a.low},
		HessianLipschitz: math.Inf(1),
		InitialGap:       a.value(-1),
	}
}

func (a asymmetric) weight(r float64) float64 {
	if r < 0 {
		return a.low
	}
	return 1
}

func (a asymmetric) value(r float64) float64 {
	q := min(math.Abs(r), a.delta)
	return float64(a.weight(r) * float64(q*(math.Abs(r)-float64(q/2))))
}

func (a asymmetric) Values(dst, z, y []float64) {
	same(dst, z, y)
	for i := range dst {
		dst[i] = a.value(z[i] - y[i])
	}
}

func (a asymmetric) Slopes(dst, z, y []float64) {
	same(dst, z, y)
	for i := range dst {
		r := z[i] - y[i]
		dst[i] = float64(a.weight(r) * min(max(r, -a.delta), a.delta))
	}
}

func (a asymmetric) Curvatures(dst, z, y []float64) {
	same(dst, z, y)
	for i := range dst {
		switch r := z[i] - y[i]; {
		case math.IsNaN(r):
			dst[i] = r
		case math.Abs(r) > a.delta:
			dst[i] = 0
		default:
			dst[i] = a.weight(r)
		}
	}
}

// same panics unless dst, z and y have the same length. Its message contains no number from a row.
func same(dst, z, y []float64) {
	if len(dst) != len(z) || len(dst) != len(y) {
		panic("asymmetric: dst, z and y: must have the same length")
	}
}

type person struct{ age, cost float64 }

// people generates n persons with ages from 18 to 90. The cost is 600, plus 20 for each year of age, plus a
// random amount between -500 and 500.
func people(n int) []person {
	coin := rand.New(rand.NewPCG(1, 2))
	made := make([]person, n)
	for i := range made {
		age := 18 + 72*coin.Float64()
		made[i] = person{age, 600 + 20*age + 1000*(coin.Float64()-.5)}
	}
	return made
}

// fit trains a linear model with the loss l and the budget (1, 1e-6), and returns the cost that it predicts
// at the given age.
func fit(ctx context.Context, rows []person, l loss.Loss, age float64) (float64, error) {
	schema, err := dataset.New(dataset.Definition{
		Columns: []dataset.Column{{Name: "age", Kind: dataset.Number, Low: 18, High: 90}},
		Target:  dataset.Target{Column: "cost", Kind: dataset.Number, Low: 0, High: 3000},
	})
	if err != nil {
		return 0, err
	}
	budget, err := account.NewBudget(1, 1e-6, account.ReplaceOne)
	if err != nil {
		return 0, err
	}
	session, err := curator.Open(ctx, curator.Config{
		Rows: curator.RowsOf(rows,
			curator.Number("age", func(p person) float64 { return p.age }),
			curator.Number("cost", func(p person) float64 { return p.cost })),
		Schema: schema, Loss: l, Budget: budget,
	})
	if err != nil {
		return 0, err
	}
	defer session.Close()
	problem, err := optimize.NewProblem(l, budget, session)
	if err != nil {
		return 0, err
	}
	plan, err := choose.Auto{}.Plan(ctx, problem)
	if err != nil {
		return 0, err
	}
	result, err := plan.Run(ctx, session, nil)
	if err != nil {
		return 0, err
	}
	predicted := 0.
	for _, c := range schema.Explain(result.W, false) {
		if c.Per == "age" {
			predicted += float64(c.Value * age)
		} else {
			predicted += c.Value
		}
	}
	return predicted, nil
}

func run(ctx context.Context, out io.Writer) error {
	rows := people(20_000)
	for _, low := range []float64{1, 3} {
		l := asymmetric{.1, low}
		predicted, err := fit(ctx, rows, l, 50)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s: at an age of 50 the model predicts a cost of %.0f\n", l.Name(), predicted)
	}
	return nil
}

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}
