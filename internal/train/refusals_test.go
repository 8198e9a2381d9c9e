package train

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/internal/recordedtest"
)

// packageFolder is the folder of the package, also for tests in other folders.
var packageFolder, _ = os.Getwd()

// choices are lists of names in errors, which become longer with each new one.
var choices = regexp.MustCompile(`(must be one of|the keys here are) .*`)

// configurations are whole configurations, a key on each line.
var configurations = []string{`data: people.csv
schema:
  columns:
    age:
      number: [0, 100]
      curve: 5
      monotone: up
    income:
      number: [0, 1000]
      transform: log1p
    sex:
      category: [f, m]
      reference: m
    town:
      hash: 8
    born:
      date: [1950-01-01, 2020-12-31]
    note: ignore
    split:
      public: [train, test]
  target:
    column: sick
    classes: ["0", "1"]
    share: 0.1
  where: split=train
  missing: [""]
  interactions: [[sex, income]]
model:
  loss: logistic
  regularizer: l2(0.01)
  radius: 50
  family: curves
privacy:
  epsilon: 1
  delta: 1e-6
  relation: replace-one
train:
  algorithm: gd
  passes: 10
  measure: 0.05
  compare: 0.02
  base: off
`, `data: [a.csv, b.csv]
table: sales
schema:
  curves: auto
  columns:
    hours:
      number: [-10, 80]
    region:
      category: [north, south, east]
  target:
    column: cost
    number: [0, 50000]
    weight: w
  unit:
    column: person
    rows: 8
model:
  loss: huber(0.1)
  units: mean
  reduce: jl(4)
privacy:
  epsilon: 0.5
  delta: 1e-7
  relation: add-or-remove
  records: 5000
train:
  algorithm: auto
  goal: population
  ranks: off
inference:
  level: 0.9
`, `data: t.csv
schema:
  columns:
    dose:
      number: [1, 5]
    drug:
      category: [a, b]
  target:
    time: days
    event: died
    entry: start
    cuts: [30, 90, 365]
    changing: drug
model:
  loss: poisson(3)
  start:
    rate: 0.3
privacy:
  epsilon: 2
  delta: 1e-6
  relation: replace-one
`, `data: t.csv
schema:
  columns:
    dose:
      number: [1, 5]
  target:
    column: claims
    number: [0, 9]
    exposure:
      column: years
      number: [0.1, 1]
model:
  loss: poisson(2)
privacy:
  epsilon: 2
  delta: 1e-6
  relation: replace-one
train:
  algorithm: dp-sgd
  steps: 5
  sampling: 0.01
`, `data: t.csv
schema:
  columns:
    dose:
      number: [1, 5]
  target:
    column: kind
    classes: [r, g, b]
model:
  loss:
    network:
      hidden: [4]
      activation: tanh
      output: softmax
      clip: 2
      seed: 3
  weights:
    r: 2
privacy:
  epsilon: 2
  delta: 1e-6
  relation: replace-one
`}

// TestRefusalsAreWhatTheyWere changes each line of some configurations: it is left out, given twice, or its value is
// another one. What is read of each, or the text of the error, is in testdata/refusals.golden, which is written by
// go test ./internal/train -run RefusalsAreWhatTheyWere -update.
func TestRefusalsAreWhatTheyWere(t *testing.T) {
	t.Chdir(t.TempDir())
	var got bytes.Buffer
	seen := map[string]bool{}
	for number, whole := range configurations {
		lines := strings.SplitAfter(strings.TrimSuffix(whole, "\n"), "\n")
		lines[len(lines)-1] += "\n"
		try := func(name string, at int, text string) {
			changed := strings.Join(lines[:at], "") + text + strings.Join(lines[min(at+1, len(lines)):], "")
			if seen[changed] {
				return
			}
			seen[changed] = true
			path := filepath.Join("a", "c.yaml")
			write(t, path, changed)
			fmt.Fprintf(&got, "%d %s: %s\n", number, name, choices.ReplaceAllString(strings.ReplaceAll(readText(path), "\n", " "),
				"$1 ..."))
		}
		try("whole", len(lines), "")
		for at, line := range lines {
			key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
			name := strings.TrimSpace(key)
			try("without "+name, at, "")
			if value == "" {
				try(name+" = 7", at, key+": 7\n")
				continue
			}
			try(name+" twice", at, line+line)
			for _, other := range []string{"-1", "0", "2", "0.5", "1e300", "", "x", "sex", "[]", "[1, 1]", "[2, a]", "[0, 50, 20]", "true",
				"auto", "{a: 1}"} {
				try(name+" = "+other, at, key+": "+other+"\n")
			}
		}
	}
	recordedtest.Compare(t, filepath.Join(packageFolder, "testdata", "refusals.golden"), got.String())
}

// readText says what is read of a configuration, or why it is refused.
func readText(path string) string {
	c, err := ReadConfig(path)
	if err != nil {
		return err.Error()
	}
	schema, err := json.Marshal(c.Schema)
	if err != nil {
		return err.Error()
	}
	digest := sha256.Sum256(schema)
	text := fmt.Sprintf("%v %v, %v, %x by %s", c.Data, c.Schema.Dim(), float32(c.Schema.Scale()), digest[:4],
		c.Train.Algorithm)
	if err := c.Check(); err != nil || c.Privacy.Epsilon == nil || c.Privacy.Delta == nil {
		return fmt.Sprint(text, ": no budget: ", err)
	}
	relation, err := account.ParseRelation(c.Privacy.Relation)
	if err != nil {
		return text + ": " + err.Error()
	}
	budget, err := account.NewBudget(*c.Privacy.Epsilon, *c.Privacy.Delta, relation)
	if err != nil {
		return text + ": " + err.Error()
	}
	p, l, err := c.Problem(budget, 5000)
	if err != nil {
		return text + ": " + err.Error()
	}
	sum := 0.
	for j, v := range p.Start {
		sum += v / float64(j+1)
	}
	return fmt.Sprintf("%s: %s, %d, smooth %.6g, bound %.6g, gap %.6g, start %.4g", text, l.Name(), p.Dim(),
		p.Smoothness(), p.Constants.Lipschitz, p.Constants.InitialGap, math.Abs(sum))
}
