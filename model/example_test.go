package model_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/model"
)

func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	schema, err := dataset.New(dataset.Definition{
		Columns: []dataset.Column{{Name: "age", Kind: dataset.Number, Low: 0, High: 100}},
		Target:  dataset.Target{Column: "readmitted", Kind: dataset.Category, Classes: []string{"no", "yes"}},
	})
	if err != nil {
		log.Fatal(err)
	}
	m, err := model.New(model.Params{
		Software: "stillpoint v1.0.0",
		Complete: true,
		Privacy: model.Privacy{Guarantee: account.Guarantee{Epsilon: 1, Delta: 1e-6, Relation: account.ReplaceOne},
			Neighbour: "a table with one row replaced by any other", Certificate: "certificate.json"},
		Loss:        loss.Tanh(),
		Regularizer: loss.None(),
		Schema:      schema,
		Weights:     []float64{2, -0.5},
	})
	if err != nil {
		log.Fatal(err)
	}
	file := filepath.Join(dir, "model.json")
	if _, err := m.Write(file); err != nil {
		log.Fatal(err)
	}

	// Somebody else, later:
	m, err = model.Read(file)
	if err != nil {
		log.Fatal(err)
	}
	patients := filepath.Join(dir, "patients.csv")
	if err := os.WriteFile(patients, []byte("name,age\nAda,90\nBert,?\nCleo,20\n"), 0o600); err != nil {
		log.Fatal(err)
	}
	if err := m.Predict(context.Background(), patients, os.Stdout, model.PredictOptions{}); err != nil {
		log.Fatal(err)
	}

	labelled := filepath.Join(dir, "labelled.csv")
	if err := os.WriteFile(labelled, []byte("age,readmitted\n90,yes\n20,no\n40,yes\n70,\n"), 0o600); err != nil {
		log.Fatal(err)
	}
	metrics, err := m.Evaluate(context.Background(), labelled, "", "")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(metrics)
	// Output:
	// score,class
	// 0.7778175175189972,yes
	// -0.3535533845424652,no
	// -1.2020815312862396,no
	// NOT private: computed directly from the table; do not publish without accounting.
	// n              3
	// skipped        1
	// accuracy       0.666667
	// auc            1
	// objective      0.692233
	// gradient_norm  0.254818
}
