package export

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/model"
)

// TestMonotoneEverywhere tests the predictions of a model with monotone columns, in Predict, in the graph
// and in SQLite. From bound to bound and beyond, they must never change in the wrong direction by more than
// the rounding of float32. The test fails if an export does not read the projected weights.
func TestMonotoneEverywhere(t *testing.T) {
	const rows, slack = 120, 1e-6
	coin := rand.New(rand.NewPCG(3, 3))
	for _, l := range []loss.Loss{loss.Logistic(), mustParse(t, "huber(0.1)")} {
		s, err := dataset.New(dataset.Definition{
			Columns: []dataset.Column{
				{Name: "a", Kind: dataset.Number, Low: 0, High: 10, Curve: 7, Monotone: dataset.Up},
				{Name: "b", Kind: dataset.Number, Low: 0, High: 100, Transform: dataset.Log1p, Curve: 4,
					Knots: []float64{0, 5, 20, 100}, Monotone: dataset.Down},
			},
			Target: suited(l),
		})
		if err != nil {
			t.Fatal(err)
		}
		w := make([]float64, s.Dim())
		for j := range w {
			w[j] = coin.NormFloat64()
		}
		of := func(w []float64) (*model.Model, error) {
			return model.New(model.Params{
				Software: "stillpoint test", Complete: true, Loss: l, Regularizer: loss.None(), Schema: s, Weights: w,
				Privacy: model.Privacy{Guarantee: account.Guarantee{Epsilon: 1, Delta: 1e-6, Relation: account.ReplaceOne},
					Neighbour: "a table", Certificate: "c.json"},
			})
		}
		if _, err := of(w); err == nil {
			t.Error("a model whose schema says what its weights do not hold is made")
		}
		w, _ = s.ProjectMonotone(w, nil)
		m, err := of(w)
		if err != nil {
			t.Fatal(err)
		}
		for column, sign := range map[string]float64{"a": 1, "b": -1} {
			var table [][]string
			for i := range rows {
				x := -1 + 13*float64(i)/rows
				if column == "b" {
					x *= 10
				}
				row := []string{"4", "7"}
				row[int(column[0]-'a')] = fmt.Sprint(x)
				table = append(table, row)
			}
			name := "prediction"
			if l.Target() == loss.Binary {
				name = "probability"
			}
			file, err := ONNX(m, Graph{})
			if err != nil {
				t.Fatal(err)
			}
			var inSQL []string
			for _, row := range inSQLite(t, m, []string{"a", "b"}, table) {
				inSQL = append(inSQL, row[0])
			}
			var inGraph []string
			for _, v := range evaluated(file, inputs(t, s, table))[name].numbers {
				inGraph = append(inGraph, fmt.Sprint(v))
			}
			for where, list := range map[string][]string{"predict": predicted(t, m, []string{"a", "b"}, table)[name],
				"graph": inGraph, "sqlite": inSQL} {
				if len(list) != rows {
					t.Fatalf("%s: %d predictions", where, len(list))
				}
				first, last := 0., 0.
				for i, text := range list {
					v, err := strconv.ParseFloat(text, 64)
					if err != nil {
						t.Fatal(err)
					}
					if i == 0 {
						first = v
					} else if sign*(v-last) < -slack*(1+max(v, -v)) {
						t.Errorf("%s, %s, %s: %v after %v", l.Name(), where, column, v, last)
					}
					last = v
				}
				if !(sign*(last-first) > 1e-3) {
					t.Errorf("%s, %s, %s: from %v to %v", l.Name(), where, column, first, last)
				}
			}
		}
	}
}

func mustParse(t *testing.T, name string) loss.Loss {
	t.Helper()
	l, err := loss.Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	return l
}
