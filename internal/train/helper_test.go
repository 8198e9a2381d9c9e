package train

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
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

// config returns the configuration peopleYAML, with the given replacements (pairs of old and new text), in
// a folder with a table of n rows. It changes the working directory to another, empty folder.
func config(t *testing.T, n int, changes ...string) *Config {
	t.Helper()
	t.Chdir(t.TempDir())
	in := t.TempDir()
	write(t, filepath.Join(in, "people.csv"), people(n))
	c, err := ReadConfig(write(t, filepath.Join(in, "people.yaml"), strings.NewReplacer(changes...).Replace(peopleYAML)))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// empty fails the test if the working directory contains any file.
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
