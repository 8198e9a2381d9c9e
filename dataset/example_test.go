package dataset_test

import (
	"fmt"

	"github.com/goccy/go-yaml"

	"github.com/stillpoint-dp/stillpoint/dataset"
)

const config = `
data: visits.csv
schema:
  columns:
    age:  {number: [0, 100]}
    ward: {category: [A, B]}
    cost: {number: [0, 9999], transform: log1p}
    name: ignore
  target: {column: readmitted, classes: ["no", "yes"]}
`

func schema() *dataset.Schema {
	var c struct {
		Data   string
		Schema *dataset.Schema
	}
	if err := yaml.UnmarshalWithOptions([]byte(config), &c, yaml.Strict()); err != nil {
		panic(err)
	}
	return c.Schema
}

func ExampleMap_Encode() {
	s := schema()
	m, err := s.Bind([]string{"name", "age", "ward", "cost", "readmitted"})
	if err != nil {
		fmt.Println(err)
		return
	}
	row := make([]float32, m.Dim())
	for _, cells := range [][]string{
		{"Ada", "75", "B", "99", "yes"},
		{"Bob", "unknown", "Z", "", "no"},
		{"Cyd", "20", "A", "0", ""}, // no target: counts, and contributes zero
	} {
		target, ok := m.Encode(row, cells)
		fmt.Printf("%v %v %v\n", row, target, ok)
	}
	fmt.Println(s.Features())
	// Output:
	// [0.25 0 0.5 0 0 0.5] 1 true
	// [0 0 0 0.5 0 0.5] -1 true
	// [0 0 0 0 0 0] 0 false
	// [age ward=A ward=B ward=other cost (intercept)]
}

func ExampleSchema_Bind() {
	_, err := schema().Bind([]string{"name", "age", "ward", "cost", "readmitted", "postcode"})
	fmt.Println(err)
	_, err = schema().Bind([]string{"Ada", "75", "B", "99", "yes"}) // no header row
	fmt.Println(err)
	// Output:
	// dataset: column "postcode" of the table is not in the schema: add it to columns, or mark it "NAME: ignore" there
	// dataset: column "age" of the schema is not in the table's header (its first row)
}

func ExampleSchema_UnmarshalYAML() {
	var c struct{ Schema *dataset.Schema }
	err := yaml.Unmarshal([]byte(`
schema:
  columns:
    age: {number: [120, 0]}
  target: {column: cost, number: [0, 9999]}
`), &c)
	fmt.Println(yaml.FormatError(err, false, false))
	// Output:
	// [4:11] dataset: columns.age.number = [120, 0]: the lower bound must be below the upper
}

func ExampleSchema_Explain() {
	for _, c := range schema().Explain([]float64{4, -1, 1, 0, 3, 0.5}, false) {
		if c.Per != "" {
			fmt.Printf("%-12s %+.3f per unit of %s\n", c.Feature, c.Value, c.Per)
		} else {
			fmt.Printf("%-12s %+.3f\n", c.Feature, c.Value)
		}
	}
	// Output:
	// age          +0.040 per unit of age
	// ward=A       -0.500
	// ward=B       +0.500
	// ward=other   +0.000
	// cost         +0.326 per unit of log1p(cost)
	// (intercept)  -3.250
}

func ExampleNew() {
	s, err := dataset.New(dataset.Definition{
		Columns: []dataset.Column{
			{Name: "distance", Kind: dataset.Number, Low: 0, High: 3000},
			{Name: "origin", Kind: dataset.Category, Categories: []string{"SEA", "PDX"}},
		},
		Target: dataset.Target{Column: "delay", Kind: dataset.Number, Low: -60, High: 240},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	text, err := yaml.Marshal(s)
	fmt.Print(string(text), err)
	// Output:
	// columns:
	//   distance: {number: [0, 3000]}
	//   origin: {category: [SEA, PDX]}
	// target: {column: delay, number: [-60, 240]}
	// missing: [""]
	// <nil>
}
