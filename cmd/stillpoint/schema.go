package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/printable"
	"github.com/stillpoint-dp/stillpoint/internal/table"
)

type schemaCommand struct {
	Data     string `arg:"" help:"Table (CSV or CSV.gz); only its header is read." placeholder:"DATA"`
	Header   bool   `help:"The first row is a header, though it looks like a record: quote it." xor:"header"`
	NoHeader bool   `help:"The first row is a record: number the columns, and quote nothing of it." xor:"header"`
}

// Help is printed below the flags.
func (schemaCommand) Help() string {
	return `Prints a configuration to be completed: every ??? is a public fact that only you
can state. Nothing but the header is read, so nothing about people shapes it.

The header is quoted. A first row with a number, a date, a code, an empty or very
long cell or the same cell twice looks like a record and is refused: say --header if
it is a header nevertheless, --no-header if the table has none. A record of other
words alone cannot be told from a header.

  stillpoint schema people.csv > people.yaml`
}

func (s *schemaCommand) Run(c *console) error {
	r, err := table.Open(s.Data)
	if err != nil {
		return err
	}
	header := append([]string(nil), r.Header()...)
	if err := r.Close(); err != nil {
		return err
	}
	note := ""
	switch {
	case s.NoHeader:
		for i := range header {
			header[i] = "column" + strconv.Itoa(i+1)
		}
		note = "# The table has no header row: put one in front of it before fitting, for example\n#   " + strings.Join(header, ",") + "\n"
	case s.Header:
		if i := tooMuch(header); i >= 0 {
			return fmt.Errorf("%s: column %d of the first row: must be one line of at most %d characters to be the name of a column", s.Data, i+1, mostName)
		}
	case !dataset.LooksLikeNames(header):
		return errors.New(s.Data + ": the first row looks like a record, not like names of columns, and is not shown: give the table a header row, or say --no-header; if it is a header, say --header")
	}
	name := filepath.Base(s.Data)
	_, err = fmt.Fprintf(c.out, draft, printable.Text(name), dataset.QuoteYAML(name), note, dataset.Draft(header))
	return err
}

// mostName is the most characters that are taken for one name.
const mostName = 1000

// tooMuch returns the first cell that cannot be a name on anybody's word: more
// than a header stands in it. It is -1 if there is none.
func tooMuch(header []string) int {
	for i, name := range header {
		if utf8.RuneCountInString(name) > mostName || strings.ContainsFunc(name, unicode.IsControl) {
			return i
		}
	}
	return -1
}

const draft = `# How to fit a model to %s: complete it, then run
#   stillpoint plan FILE.yaml
#   stillpoint fit FILE.yaml
data: %s # relative to this file

%s%s
model:
  loss: logistic # two classes: logistic, sigmoid, tanh; a number: huber(0.1), welsch(0.5), ...
  # regularizer: l2(0.001)

privacy: # nothing here has a default
  # epsilon: 1     # up to about 1 is a strong guarantee, 10 a weak one
  # delta: 1e-6    # well below 1 / (number of rows)
  relation: replace-one

# train:            # the defaults need no tuning
#   algorithm: gd
`
