// Command service shows how a Go service trains on records in memory, verifies what it saved, and predicts.
//
//	go run ./examples/service DIR
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/stillpoint-dp/stillpoint"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/loss"
)

// patient is a record of the service. returned says who came back within a month.
type patient struct {
	age            float64
	ward, returned string
}

// table describes how a patient becomes a row: one row for each patient, whatever the record contains.
func table(patients []patient) stillpoint.Table {
	return stillpoint.Rows(patients,
		stillpoint.Number("age", func(p patient) float64 { return p.age }),
		stillpoint.Text("ward", func(p patient) string { return p.ward }),
		stillpoint.Text("returned", func(p patient) string { return p.returned })).Named("patients")
}

func main() {
	stderr, err := stillpoint.Silence() // must come first: from here on a crash shows nothing of the records
	if err == nil {
		err = run(context.Background(), os.Args[len(os.Args)-1])
	}
	if err != nil {
		fmt.Fprintln(stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, dir string) error {
	var patients []patient
	for i := range 20_000 { // old patients of the heart ward return
		p := patient{float64(18 + i*37%83), []string{"heart", "lung", "unknown"}[i%3], "no"}
		if p.age > 60 && p.ward == "heart" || i%10 == 0 {
			p.returned = "yes"
		}
		patients = append(patients, p)
	}
	// Bounds and categories must be public knowledge. They never come from the records.
	schema, err := dataset.New(dataset.Definition{
		Columns: []dataset.Column{{Name: "age", Kind: dataset.Number, Low: 18, High: 100},
			{Name: "ward", Kind: dataset.Category, Categories: []string{"heart", "lung"}}},
		Target: dataset.Target{Column: "returned", Kind: dataset.Category, Classes: []string{"no", "yes"}},
	})
	if err != nil {
		return err
	}
	// Another fit of these records costs another budget. Budget.Dataset would limit all fits to one cap.
	result, err := stillpoint.Fit(ctx, stillpoint.Spec{Table: table(patients), Schema: schema, Loss: loss.Logistic(),
		Budget: stillpoint.Budget{Epsilon: 1, Delta: 1e-6, Relation: stillpoint.ReplaceOne},
		Folder: &stillpoint.Folder{Path: dir}})
	if err != nil {
		return err
	}
	report, err := stillpoint.Verify(ctx, dir) // anybody can do this, without the records
	if err != nil {
		return err
	}
	fmt.Printf("verified: (%v, %v)-differentially private under %v, %d records\n", report.Epsilon, report.Delta,
		report.Relation, report.Records)
	for p, err := range stillpoint.Predictions(ctx, result.Model, table([]patient{{age: 81, ward: "heart"}})) {
		if err != nil {
			return err
		}
		fmt.Printf("a patient of 81 in the heart ward comes back with probability %.2f\n", p.Probabilities[1])
	}
	return nil
}
