package export_test

import (
	"fmt"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/export"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/model"
)

func ExampleSQL() {
	schema, err := dataset.New(dataset.Definition{
		Columns: []dataset.Column{{Name: "age", Kind: dataset.Number, Low: 0, High: 100}},
		Target:  dataset.Target{Column: "cost", Kind: dataset.Number, Low: 0, High: 50},
	})
	if err != nil {
		panic(err)
	}
	squared, err := loss.Squared(1)
	if err != nil {
		panic(err)
	}
	m, err := model.New(model.Params{
		Software: "example", Complete: true, Loss: squared, Regularizer: loss.None(), Schema: schema,
		Weights: []float64{.5, .25},
		Privacy: model.Privacy{Guarantee: account.Guarantee{Epsilon: 1, Delta: 1e-6, Relation: account.ReplaceOne},
			Neighbour: "a table with one row replaced", Certificate: "certificate.json"},
	})
	if err != nil {
		panic(err)
	}
	text, err := export.SQL(m, export.Query{Dialect: "sqlite", Table: "people"})
	if err != nil {
		panic(err)
	}
	fmt.Println(len(text) > 0, export.Dialects())
	// Output:
	// true [bigquery duckdb postgresql sqlite]
}
