package dataset

import (
	"testing"

	"github.com/goccy/go-yaml"
)

// load decodes the schema section of a configuration.
func load(doc string) (*Schema, error) {
	var config struct{ Schema *Schema }
	err := yaml.UnmarshalWithOptions([]byte(doc), &config, yaml.Strict())
	return config.Schema, err
}

func mustLoad(t testing.TB, doc string) *Schema {
	t.Helper()
	s, err := load(doc)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func mustBind(t testing.TB, s *Schema, header ...string) *Map {
	t.Helper()
	m, err := s.Bind(header)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func public(name string, values ...string) Column {
	return Column{Name: name, Kind: Public, Values: values}
}

// people is a schema with S = sqrt(2 numbers + 1 category + 1) = 2.
const people = `
schema:
  columns:
    age:    {number: [0, 10]}
    gain:   {number: [0, 3], transform: log1p}
    work:   {category: [private, state]}
    weight: ignore
    split:  {public: [train, test]}
  target: {column: y, classes: [0, 1]}
  where: split=train
  missing: ["", "?", -1]
`

var peopleHeader = []string{"split", "y", "age", "gain", "work", "weight"}
