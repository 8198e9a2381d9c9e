package train

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/internal/strictyaml"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

func TestReadConfig(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"empty", "", "is empty"},
		{"blank", " \n\n", "is empty"},
		{"comments", "# nothing\n", "must be YAML with the keys"},
		{"table", people(5), "must be YAML with the keys"},
		{"broken", strings.Replace(peopleYAML, "]}", "}", 1), "[4:"},
		{"list", "- data: x\n", "[1:1]"},
		{"unknown key", peopleYAML + "privcy: 1\n",
			"unknown key; the keys here are data, table, csv, schema, described, model, privacy, budget, train, memory"},
		{"unknown key below", strings.Replace(peopleYAML, "delta:", "dleta:", 1),
			"unknown key; the keys here are epsilon, delta, relation, records"},
		{"unknown schema key", strings.Replace(peopleYAML, "columns:", "colums:", 1),
			"schema: unknown key; the keys here are columns, target, interactions, curves, where, missing"},
		{"repeated key", strings.Replace(peopleYAML, "epsilon: 1,", "epsilon: 1, epsilon: 10,", 1), "a key is given twice"},
		{"two documents", peopleYAML + "---\n" + peopleYAML, "must be one YAML document"},
		{"text for a number", strings.Replace(peopleYAML, "epsilon: 1,", "epsilon: one,", 1), "[9:"},
		{"half a record", strings.Replace(peopleYAML, "one}", "one, records: 5.7}", 1), "must be a whole number"},
		{"half a step", peopleYAML + "train: {steps: 1.5}\n", "must be a whole number"},
		{"no data", strings.Replace(peopleYAML, "people.csv", `""`, 1), "data: must name the table"},
		{"no schema", "data: x\nmodel: {loss: logistic}\n", "schema: must describe"},
		{"no loss", strings.Replace(peopleYAML, "logistic", `""`, 1), "model.loss: must name a loss"},
		{"no relation", strings.Replace(peopleYAML, ", relation: replace-one", "", 1),
			"privacy.relation: must be replace-one or add-or-remove"},
		{"records", strings.Replace(peopleYAML, "one}", "one, records: -4}", 1), "privacy.records = -4: must be >= 1"},
		{"no memory", peopleYAML + "memory: {gigabytes: -1}\n", "memory.gigabytes = -1: must be > 0"},
		{"memory NaN", peopleYAML + "memory: {gigabytes: .nan}\n", "memory.gigabytes = NaN: must be > 0"},
		{"memory beyond count", peopleYAML + "memory: {gigabytes: 1e10}\n",
			"memory.gigabytes = 1e+10: must be > 0 and at most 9e9"},
		{"folder of nothing", peopleYAML + "memory: {folder: rows}\n", "memory.folder: is for rows beyond memory.gigabytes"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := write(t, filepath.Join(t.TempDir(), "people.yaml"), test.text)
			c, err := ReadConfig(path)
			if c != nil {
				t.Error("a configuration beside the error")
			}
			wantError(t, err, test.want)
			wantError(t, err, path)
		})
	}
	_, err := ReadConfig(filepath.Join(t.TempDir(), "absent.yaml"))
	wantError(t, err, "absent.yaml: no such file")
}

// TestReadConfigDoesNotQuoteATable tests that, if a table is passed by mistake instead of a
// configuration, the error quotes none of its cells.
func TestReadConfigDoesNotQuoteATable(t *testing.T) {
	for _, table := range []string{
		"age,note\n48151623,quokka\n",
		"age;note\n48151623;quokka\n",
		"48151623,quokka\n",
		"age: note\n48151623: quokka\n",
		"- 48151623\n- quokka\n",
		"\"48151623\n\tquokka",
		"[48151623, quokka",
		"schema,age\nquokka,48151623\n",
	} {
		_, err := ReadConfig(write(t, filepath.Join(t.TempDir(), "people.csv"), table))
		wantError(t, err, "must be YAML with the keys")
		if err != nil && (strings.Contains(err.Error(), "48151623") || strings.Contains(err.Error(), "quokka")) {
			t.Errorf("%v: quotes the table", err)
		}
	}
}

func TestDataPath(t *testing.T) {
	c := config(t, 1)
	if c.Name() != "people" || filepath.Base(c.DataPath()) != "people.csv" || !filepath.IsAbs(c.DataPath()) {
		t.Errorf("name %q, data %q", c.Name(), c.DataPath())
	}
	c.Data = Files{"/elsewhere/x.csv"}
	if c.DataPath() != "/elsewhere/x.csv" {
		t.Errorf("data %q", c.DataPath())
	}
	c, err := ReadConfig(write(t, filepath.Join("sub", "a.b.yaml"), peopleYAML))
	if err != nil || c.Name() != "a.b" || c.DataPath() != filepath.Join("sub", "people.csv") {
		t.Errorf("name %q, data %q, %v", c.Name(), c.DataPath(), err)
	}
}

// TestZerosThatAreWritten tests that a key whose zero value means "left out" is refused if a
// configuration writes 0 for it. A delta of .999 must be refused, too.
func TestZerosThatAreWritten(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"model: {loss: logistic, radius: 0}", "must be > 0, or be left out"},
		{"memory: {gigabytes: 0}", "must be > 0, or be left out"},
	} {
		var config Config
		if err := strictyaml.Decode([]byte(c.text), &config); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v: want %q", c.text, err, c.want)
		}
	}
	var config Config
	if err := strictyaml.Decode([]byte("model: {loss: logistic, radius: 2.5}\nmemory: {gigabytes: 1}"),
		&config); err != nil || config.Model.Radius != 2.5 || config.Memory.Gigabytes != 1 {
		t.Errorf("%+v, %+v, %v", config.Model, config.Memory, err)
	}
	epsilon, delta := 1., .999
	config.Privacy.Epsilon, config.Privacy.Delta, config.Privacy.Relation = &epsilon, &delta, "replace-one"
	if _, err := config.budget(); err == nil ||
		!strings.Contains(err.Error(), "privacy.delta = 0.999: must be below 0.5") {
		t.Errorf("delta: %v", err)
	}
}

// TestARadiusIsNotTheRules tests the setting radius of the algorithms o2nc and smoothed. A radius of .25 must give
// another plan than no radius, which a rule then chooses. A negative radius must be refused with an error that names
// radius.
func TestARadiusIsNotTheRules(t *testing.T) {
	b, err := account.NewBudget(2, 1e-6, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	p, err := optimize.NewProblem(loss.Hinge(), b, optimize.Stated(3, 1e5))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"o2nc", "smoothed"} {
		said := map[string]string{}
		for _, radius := range []string{"", ", radius: 0.25"} {
			var c Config
			text := "model: {loss: hinge}\ntrain: {algorithm: " + name + radius + "}"
			if err := strictyaml.Decode([]byte(text), &c); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			plan, _, err := c.Train.Plan(t.Context(), p)
			if err != nil {
				t.Fatalf("%s%s: %v", name, radius, err)
			}
			said[radius] = fmt.Sprintf("%+v", plan.Summary())
		}
		if said[", radius: 0.25"] == said[""] {
			t.Errorf("%s: %q", name, said)
		}
		_, _, err := Train{Algorithm: name, Settings: Settings{"radius": -.5}}.Plan(t.Context(), p)
		if err == nil || !strings.Contains(err.Error(), "radius = -0.5: must be > 0, or left out for the rule's") {
			t.Errorf("%s: a negative radius: %v", name, err)
		}
	}
}
