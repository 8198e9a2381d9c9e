package stillpoint_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/stillpoint-dp/stillpoint"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/loss"
)

// Patient is the type of a record in the example's program.
type Patient struct {
	Age      float64
	Returned string
}

// The data of the examples: generated patients, of whom the old come back, and public facts about a
// patient.
var (
	ctx      = context.Background()
	patients = invented(5000)
	schema   = known()
)

func invented(n int) []Patient {
	list := make([]Patient, n)
	for i := range list {
		if list[i] = (Patient{float64(18 + i%80), "no"}); list[i].Age > 60 && i%10 > 0 {
			list[i].Returned = "yes"
		}
	}
	return list
}

func known() *dataset.Schema {
	s, err := dataset.New(dataset.Definition{
		Columns: []dataset.Column{{Name: "age", Kind: dataset.Number, Low: 18, High: 100}},
		Target:  dataset.Target{Column: "returned", Kind: dataset.Category, Classes: []string{"no", "yes"}},
	})
	if err != nil {
		panic(err)
	}
	return s
}

// example is the specification of the fit in the examples.
func example() stillpoint.Spec {
	return stillpoint.Spec{
		Table: stillpoint.Rows(patients,
			stillpoint.Number("age", func(p Patient) float64 { return p.Age }),
			stillpoint.Text("returned", func(p Patient) string { return p.Returned })),
		Schema: schema,
		Loss:   loss.Logistic(),
		Budget: stillpoint.Budget{Epsilon: 1, Delta: 1e-6, Relation: stillpoint.ReplaceOne},
	}
}

// ExampleFit fits records in the program's memory. README.md shows the same lines. The verdict differs from
// the one below with probability below 1e-9: the noise is a thirtieth of the compared difference.
func ExampleFit() {
	schema, err := dataset.New(dataset.Definition{ // public facts alone
		Columns: []dataset.Column{{Name: "age", Kind: dataset.Number, Low: 18, High: 100}},
		Target:  dataset.Target{Column: "returned", Kind: dataset.Category, Classes: []string{"no", "yes"}},
	})
	if err != nil {
		log.Fatal(err)
	}
	result, err := stillpoint.Fit(ctx, stillpoint.Spec{
		Table: stillpoint.Rows(patients, // or CSV("people.csv"), Parquet, Reader
			stillpoint.Number("age", func(p Patient) float64 { return p.Age }),
			stillpoint.Text("returned", func(p Patient) string { return p.Returned })),
		Schema: schema,
		Loss:   loss.Logistic(),
		Budget: stillpoint.Budget{Epsilon: 1, Delta: 1e-6, Relation: stillpoint.ReplaceOne},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Verdict) // is the model better than the best constant? result.Summary() says it all
	// Output:
	// better than the best constant
}

// ExamplePlan prints the plan that Fit would run. The table's rows are only counted.
func ExamplePlan() {
	planned, err := stillpoint.Plan(ctx, example())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(planned.Algorithm, "over", planned.Records, "records")
	fmt.Println(planned.Outlook)
	// Output:
	// preconditioned over 5000 records
	// will beat a constant prediction, if the columns predict the target. In benchmarks of this size, half of the fits kept 98% or more of the gain over the constant that a fit without noise has, and nine in ten kept 90% or more. Assumes equally common classes (target.share states another base rate)
}

// ExampleVerify rechecks saved files. Anybody can do this without the records.
func ExampleVerify() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	result, err := stillpoint.Fit(ctx, example())
	if err != nil {
		log.Fatal(err)
	}
	dir = filepath.Join(dir, "model")
	if err := result.Save(dir); err != nil {
		log.Fatal(err)
	}
	report, err := stillpoint.Verify(ctx, dir)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.Epsilon, report.Delta, report.Relation, report.Records, report.Neighbour)
	// Output:
	// 1 1e-06 replace-one 5000 a table with one row replaced by any other
}

// ExamplePredictions predicts rows of a stream, and rows in the program's memory. The target column may be
// absent.
func ExamplePredictions() {
	result, err := stillpoint.Fit(ctx, example())
	if err != nil {
		log.Fatal(err)
	}
	for p, err := range stillpoint.Predictions(ctx, result.Model, stillpoint.Reader(strings.NewReader("age\n20\n95\n"))) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(p.OK, p.Class)
	}
	// Output:
	// true no
	// true yes
}

// ExampleResult_Report writes the page for readers, and predictions as a CSV file.
func ExampleResult_Report() {
	result, err := stillpoint.Fit(ctx, example())
	if err != nil {
		log.Fatal(err)
	}
	var page, table strings.Builder
	if err := result.Report(&page); err != nil {
		log.Fatal(err)
	}
	if err := stillpoint.Predict(ctx, result.Model, example().Table, &table, stillpoint.PredictOptions{}); err != nil {
		log.Fatal(err)
	}
	fmt.Println(strings.Contains(page.String(), "<title>A private model of returned</title>"))
	header, _, _ := strings.Cut(table.String(), "\n")
	fmt.Println(header, strings.Count(table.String(), "\n"))
	// Output:
	// true
	// probability,class 5001
}
