package runfolder_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/stillpoint-dp/stillpoint/internal/runfolder"
	"github.com/stillpoint-dp/stillpoint/internal/train"
)

// Two fits of one table in one folder. The ledger of the folder keeps both charges, although model and
// certificate are from the second fit.
func ExampleFit() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	var rows strings.Builder
	rows.WriteString("age,sick\n")
	for i := range 300 {
		fmt.Fprintf(&rows, "%d,%d\n", 20+i%60, i%2)
	}
	text := `
data: people.csv
table: patients
schema:
  columns: {age: {number: [0, 120]}}
  target: {column: sick, classes: ["0", "1"]}
model: {loss: logistic}
privacy: {epsilon: 1, delta: 1e-6, relation: replace-one}
train: {algorithm: gd, steps: 3}
`
	path := filepath.Join(dir, "people.yaml")
	for name, text := range map[string]string{path: text, filepath.Join(dir, "people.csv"): rows.String()} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			panic(err)
		}
	}
	config, err := train.ReadConfig(path)
	if err != nil {
		panic(err)
	}
	ctx, out := context.Background(), runfolder.Out{Path: filepath.Join(dir, "fit"), Overwrite: true}
	for range 2 {
		fitted, err := runfolder.Fit(ctx, config, out, train.Options{Software: "example"})
		if err != nil {
			panic(err)
		}
		fmt.Println(filepath.Base(fitted.ModelPath), "after", len(fitted.Earlier), "earlier fits")
	}
	totals, err := runfolder.Totals(ctx, []string{out.Path}, 0)
	if err != nil {
		panic(err)
	}
	for _, t := range totals {
		fmt.Printf("%s: %d fits, epsilon %.2f at delta %v under %v\n", t.Table, t.Fits, t.Epsilon, t.Delta, t.Relation)
	}
	// Output:
	// model.json after 0 earlier fits
	// model.json after 1 earlier fits
	// table patients: 2 fits, epsilon 1.45 at delta 1e-06 under replace-one
}
