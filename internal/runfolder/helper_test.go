package runfolder

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/internal/ledgerfile"
	"github.com/stillpoint-dp/stillpoint/internal/train"
)

const peopleYAML = `data: people.csv
schema:
  columns:
    age: {number: [0, 100]}
    sex: {category: [f, m]}
    note: ignore
  target: {column: sick, classes: ["0", "1"]}
model: {loss: logistic}
privacy: {epsilon: 1, delta: 1e-6, relation: replace-one}
`

// people returns a table of n rows for peopleYAML. The share of sick people rises with age.
func people(n int) string {
	coin := rand.New(rand.NewPCG(1, uint64(n)))
	var b strings.Builder
	b.WriteString("age,sex,note,sick\n")
	for range n {
		age, sick := 20+coin.IntN(60), 0
		if coin.IntN(60) < age-20 {
			sick = 1
		}
		fmt.Fprintf(&b, "%d,%s,x,%d\n", age, []string{"f", "m"}[coin.IntN(2)], sick)
	}
	return b.String()
}

func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// config writes a table of n rows and the configuration peopleYAML, and returns the
// configuration. changes are pairs of texts: each old text in peopleYAML is replaced by the new
// text after it. config makes an empty folder the current one.
func config(t *testing.T, n int, changes ...string) *train.Config {
	t.Helper()
	t.Chdir(t.TempDir())
	in := t.TempDir()
	write(t, filepath.Join(in, "people.csv"), people(n))
	c, err := train.ReadConfig(write(t, filepath.Join(in, "people.yaml"),
		strings.NewReplacer(changes...).Replace(peopleYAML)))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// empty fails the test unless the current folder is empty.
func empty(t *testing.T) {
	t.Helper()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		t.Errorf("left behind: %s", e.Name())
	}
}

func wantError(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v: must contain %q", err, want)
	}
}

// readLedger reads a ledger file; one that does not exist is empty.
func readLedger(path string) ([]Entry, error) {
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return ledgerfile.Parse(text)
}

// options holds all options of a fit in a folder.
type options struct {
	Out               string
	Overwrite, Strict bool
	Software          string
	Planned           func(train.Planned)
	Step              func(train.Step)
	Stores            train.Stores
	disk              place
}

func (o options) split() (Out, train.Options) {
	return Out{Path: o.Out, Overwrite: o.Overwrite, disk: o.disk},
		train.Options{Strict: o.Strict, Software: o.Software, Planned: o.Planned, Step: o.Step, Stores: o.Stores}
}

func fit(ctx context.Context, c *train.Config, o options) (*Fitted, error) {
	out, rest := o.split()
	return Fit(ctx, c, out, rest)
}

func dryRun(ctx context.Context, c *train.Config, o options) (*Dry, error) {
	out, rest := o.split()
	return DryRun(ctx, c, out, rest)
}

// looked returns a new folder on which the method look was called, and look's error.
func looked(disk place, out, name string, overwrite bool) (*folder, error) {
	f := newFolder(disk, out, name, overwrite)
	return f, f.look()
}

// beside returns the configuration like with another table, which it writes to a file in the
// current folder.
func beside(t *testing.T, like *train.Config) *train.Config {
	t.Helper()
	c, err := train.ReadConfig(write(t, "people.yaml", peopleYAML))
	if err != nil {
		t.Fatal(err)
	}
	c.Data, c.Table, c.Train, c.Privacy, c.Model, c.Budget = like.Data, like.Table, like.Train, like.Privacy, like.Model,
		like.Budget
	return c
}
