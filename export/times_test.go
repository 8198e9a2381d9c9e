package export

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/model"
)

// TestRisksEverywhere tests the risk of models of the time to an event in Predict, in the graph and in SQLite: 1 minus the
// product of the probabilities of no event over the intervals, at usual and at extreme scores.
func TestRisksEverywhere(t *testing.T) {
	hazards := []float64{.1, 0, .65, .25}
	for grouped, alive := range map[string]func(h, z float64) float64{
		"":        func(h, z float64) float64 { return math.Exp(-h * math.Exp(z)) },
		"cloglog": func(h, z float64) float64 { return math.Exp(-h * math.Exp(z)) },
		"logit":   func(h, z float64) float64 { return 1 / (1 + h*math.Exp(z)) },
	} {
		s, err := dataset.New(dataset.Definition{Columns: []dataset.Column{{Name: "a", Kind: dataset.Number, Low: -90, High: 90}},
			Target: dataset.Target{Column: "years", Kind: dataset.Number, High: 4, Event: "died", Cuts: []float64{1, 2, 3, 4},
				Hazards: hazards, Grouped: grouped}})
		if err != nil {
			t.Fatal(err)
		}
		name := map[string]string{"": "poisson-rate", "cloglog": "cloglog", "logit": "logit-hazard"}[grouped]
		m, err := model.New(model.Params{Software: "test", Complete: true, Regularizer: loss.None(), Schema: s,
			Loss: mustParse(t, name+"(3,1.52587890625e-05)"), Weights: []float64{90 * s.Scale(), .5 * s.Scale()},
			Privacy: model.Privacy{Guarantee: account.Guarantee{Epsilon: 1, Delta: 1e-6, Relation: account.ReplaceOne},
				Neighbour: "a table", Certificate: "c.json"}})
		if err != nil {
			t.Fatal(err)
		}
		coin := rand.New(rand.NewPCG(4, 8))
		table := [][]string{{"-90"}, {"90"}, {"0"}}
		for range 40 {
			table = append(table, []string{fmt.Sprint(6 * coin.NormFloat64())})
		}
		file, err := ONNX(m, Graph{})
		if err != nil {
			t.Fatal(err)
		}
		graph := evaluated(file, inputs(t, s, table))["prediction"].numbers
		sql := inSQLite(t, m, []string{"a"}, table)
		said := predicted(t, m, []string{"a"}, table)["risk"]
		for i, row := range table {
			a, _ := strconv.ParseFloat(row[0], 64)
			want := 1.
			for _, h := range hazards {
				want *= alive(h, a+.5)
			}
			want = 1 - want
			inSQL, _ := strconv.ParseFloat(sql[i][0], 64)
			predict, _ := strconv.ParseFloat(said[i], 64)
			for where, got := range map[string]float64{"predict": predict, "sqlite": inSQL, "graph": graph[i]} {
				if !(math.Abs(got-want) < 2e-5) {
					t.Errorf("grouped %q: %s of %v: %v: want %v", grouped, where, a, got, want)
				}
			}
		}
	}
}
