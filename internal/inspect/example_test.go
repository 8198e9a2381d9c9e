package inspect_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/inspect"
)

// A table that the user may look at is checked before any budget is spent on it.
func ExampleCheck() {
	schema, err := dataset.New(dataset.Definition{
		Columns: []dataset.Column{{Name: "age", Kind: dataset.Number, Low: 17, High: 90}},
		Target:  dataset.Target{Column: "ill", Kind: dataset.Category, Classes: []string{"no", "yes"}},
	})
	if err != nil {
		log.Fatal(err)
	}
	folder, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "people.csv")
	if err := os.WriteFile(path, []byte("age,ill\n33,no\n120,Yes\n"), 0o600); err != nil {
		log.Fatal(err)
	}
	report, err := inspect.Check(context.Background(), []string{path}, dataset.CSV{}, schema)
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range report.Columns {
		fmt.Printf("%s: %d read, %d above, %d other\n", c.Name, c.Read, c.Above, c.Other)
	}
	// Output:
	// age: 1 read, 1 above, 0 other
	// ill: 1 read, 0 above, 1 other
}
