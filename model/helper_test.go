package model

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/loss"
)

var privacy = Privacy{Guarantee: account.Guarantee{Epsilon: 1, Delta: 1e-6, Relation: account.ReplaceOne},
	Neighbour: "a table with one row replaced by any other, both with split = train", Certificate: "certificate.json"}

// schema returns a schema of three numbers a, b and c within [-1, 1]. Each row is divided by 2, so
// its features are a/2, b/2, c/2, 1/2, without rounding for dyadic cells.
func schema(t testing.TB, target dataset.Target) *dataset.Schema {
	t.Helper()
	number := func(name string) dataset.Column {
		return dataset.Column{Name: name, Kind: dataset.Number, Low: -1, High: 1}
	}
	s, err := dataset.New(dataset.Definition{
		Columns: []dataset.Column{number("a"), number("b"), number("c"),
			{Name: "split", Kind: dataset.Public, Values: []string{"train", "test"}}},
		Target:  target,
		Where:   "split=train",
		Missing: []string{"", "NA"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var (
	classes = dataset.Target{Column: "label", Kind: dataset.Category, Classes: []string{"no", "yes"}}
	delay   = dataset.Target{Column: "delay", Kind: dataset.Number, Low: -60, High: 240}
)

// params returns the parts of a complete model, from which New makes it.
func params(t testing.TB, target dataset.Target, lossName, regularizer string, weights ...float64) Params {
	t.Helper()
	l, err := loss.Parse(lossName)
	if err != nil {
		t.Fatal(err)
	}
	r, err := loss.ParseRegularizer(regularizer)
	if err != nil {
		t.Fatal(err)
	}
	return Params{
		Software: "stillpoint v1.2.3", Complete: true, Privacy: privacy,
		Loss: l, Regularizer: r, Schema: schema(t, target), Weights: weights,
	}
}

func makeModel(t testing.TB, target dataset.Target, lossName, regularizer string, weights ...float64) *Model {
	t.Helper()
	m, err := New(params(t, target, lossName, regularizer, weights...))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func writeFile(t testing.TB, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "table.csv")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func readText(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// margin returns the margin <w, x> of an encoded row. It sums the products in the order of the features by
// fused multiply-add. It panics if len(x) is not Dim.
func (m *Model) margin(x []float32) float64 {
	if len(x) != len(m.weights) {
		panic(fmt.Sprintf("model: a row of %d features for %d weights", len(x), len(m.weights)))
	}
	return loss.MarginsAt(m.weights, x)[0]
}
