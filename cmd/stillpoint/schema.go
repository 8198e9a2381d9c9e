package main

import (
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/table"
)

type schemaCommand struct {
	Data string `arg:"" help:"Table (CSV or CSV.gz); only its header is read." placeholder:"DATA"`
}

// Help is printed below the flags.
func (schemaCommand) Help() string {
	return `Prints a configuration to be completed: every ??? is a public fact that only you
can state. Nothing but the header is read, so nothing about people shapes it. The
header is quoted as it stands: a table without a header row would show its first
record.

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
	name := filepath.Base(s.Data)
	_, err = fmt.Fprintf(c.out, draft, name, strconv.Quote(name), dataset.Draft(header))
	return err
}

const draft = `# How to fit a model to %s: complete it, then run
#   stillpoint plan FILE.yaml
#   stillpoint fit FILE.yaml
data: %s # relative to this file

%s
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
