package train_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/stillpoint-dp/stillpoint/internal/train"
)

func ExampleConfig_Plan() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "people.yaml")
	text := `
data: people.csv
schema:
  columns: {age: {number: [0, 120]}, sex: {category: [f, m]}}
  target: {column: sick, classes: ["no", "yes"]}
model: {loss: logistic}
privacy: {epsilon: 1, delta: 1e-6, relation: replace-one, records: 10000}
train: {algorithm: gd}
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		panic(err)
	}
	config, err := train.ReadConfig(path)
	if err != nil {
		panic(err)
	}
	planned, err := config.Plan(context.Background())
	if err != nil {
		panic(err)
	}
	fmt.Printf("%d features, %s, clip norm %v\n", planned.Dim, planned.Summary.Algorithm, planned.Summary.Clip)
	fmt.Println(planned.Budget)
	// Output:
	// 5 features, gd, clip norm 1
	// (epsilon 1, delta 1e-06) under replace-one, mu 0.236704
}
