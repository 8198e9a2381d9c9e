package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// peopleYAML is a configuration for the table that the function people makes.
const peopleYAML = `data: people.csv
schema:
  columns:
    age: {number: [0, 100]}
    sex: {category: [f, m]}
    pressure: {number: [80, 200]}
    note: ignore
  target: {column: sick, classes: ["no", "yes"]}
model:
  loss: logistic
privacy:
  epsilon: 1
  delta: 1e-6
  relation: replace-one
`

// fewYAML is a configuration that also works for tables of a few rows, since it fixes the number of
// steps.
const fewYAML = peopleYAML + "train: {algorithm: gd, steps: 2}\n"

// people returns a table in which old people are sick more often and have a higher blood pressure.
func people(n int, seed uint64) string {
	coin := rand.New(rand.NewPCG(seed, uint64(n)))
	var b strings.Builder
	b.WriteString("age,sex,pressure,note,sick\n")
	for range n {
		age, sick := 20+coin.IntN(60), "no"
		if coin.IntN(60) < age-20 {
			sick = "yes"
		}
		fmt.Fprintf(&b, "%d,%s,%d,x,%s\n", age, []string{"f", "m"}[coin.IntN(2)], 90+age/2+coin.IntN(30), sick)
	}
	return b.String()
}

// writePeople writes a table, people.csv, and configurations for it: people.yaml and, for
// regression, pressure.yaml.
func writePeople(dir string, n int) error {
	regression := strings.NewReplacer(
		"    pressure: {number: [80, 200]}\n", "    sick: {category: [no, yes]}\n",
		`{column: sick, classes: ["no", "yes"]}`, "{column: pressure, number: [80, 200]}",
		"logistic", "huber(0.1)",
	).Replace(peopleYAML)
	for name, text := range map[string]string{
		"people.csv":    people(n, 1),
		"people.yaml":   peopleYAML,
		"pressure.yaml": regression,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			return err
		}
	}
	return nil
}
