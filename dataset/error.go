package dataset

import (
	"fmt"

	"github.com/stillpoint-dp/stillpoint/internal/safetext"
)

// fieldError is an error in a schema. field is a path such as columns.age.number. It is the same whether the
// schema comes from YAML, JSON or Go.
type fieldError struct {
	field string
	value string // the invalid value; empty if there is no value to show
	rule  string
}

func (e *fieldError) Error() string {
	field := safetext.Text(e.field) // a field may contain the name of a column
	if e.value == "" {
		return fmt.Sprintf("dataset: %s: %s", field, e.rule)
	}
	return fmt.Sprintf("dataset: %s = %s: %s", field, e.value, e.rule)
}

func columnField(name string) string { return "columns." + name }

func itemField(list string, i int) string { return fmt.Sprintf("%s[%d]", list, i) }
