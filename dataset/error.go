package dataset

import (
	"fmt"

	"github.com/stillpoint-dp/stillpoint/internal/printable"
)

// fieldError is a fault of a schema. Field is a path such as
// columns.age.number, the same for YAML, JSON and Go.
type fieldError struct {
	field string
	value string // empty: there is none to show
	rule  string
}

func (e *fieldError) Error() string {
	field := printable.Text(e.field) // it may hold a column's name
	if e.value == "" {
		return fmt.Sprintf("dataset: %s: %s", field, e.rule)
	}
	return fmt.Sprintf("dataset: %s = %s: %s", field, e.value, e.rule)
}

func columnField(name string) string { return "columns." + name }

func itemField(list string, i int) string { return fmt.Sprintf("%s[%d]", list, i) }
