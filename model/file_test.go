package model

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/loss"
)

func TestRoundTrip(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(r *rapid.T) {
		weight := rapid.Float64Range(-1e300, 1e300)
		special := rapid.SampledFrom([]float64{0, math.Copysign(0, -1), 5e-324, -5e-324, 0.1, 1.0 / 3, 1e21, 1e-7})
		weights := rapid.SliceOfN(rapid.OneOf(weight, special), 4, 4).Draw(r, "weights")
		m := makeModel(t, classes, "tanh", "nonconvex(0.01)", weights...)
		path := filepath.Join(dir, "model.json")
		digest, err := m.Write(path)
		if err != nil {
			r.Fatal(err)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			r.Fatal(err)
		}
		if sum := sha256.Sum256(data); digest != hex.EncodeToString(sum[:]) {
			r.Fatalf("digest %s", digest)
		}
		got, err := Read(path)
		if err != nil {
			r.Fatal(err)
		}
		for j, w := range got.Weights() {
			if math.Float64bits(w) != math.Float64bits(weights[j]) {
				r.Fatalf("weight %v read as %v", weights[j], w)
			}
		}
		again, err := got.Bytes()
		if err != nil || string(again) != string(data) {
			r.Fatalf("written again as %s, %v", again, err)
		}
	})
}

func TestReadKeepsEverything(t *testing.T) {
	m := makeModel(t, delay, "huber(0.25)", "l2(0.5)", 1, 2, 3, 4)
	path := filepath.Join(t.TempDir(), "m.json")
	if _, err := m.Write(path); err != nil {
		t.Fatal(err)
	}
	got, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, m) {
		t.Errorf("got %+v, want %+v", got, m)
	}
	if got.Software() != "stillpoint v1.2.3" || !got.Complete() || got.Privacy() != privacy || got.dim() != 4 ||
		got.Loss().Name() != "huber(0.25)" || got.Regularizer().Name() != "l2(0.5)" ||
		got.Schema().Filter().String() != "split=train" {
		t.Errorf("got %+v", got)
	}
	got.Weights()[0] = 7
	if got.Weights()[0] != 1 {
		t.Error("weights are shared")
	}
	weights := []float64{1, 2, 3, 4}
	m = makeModel(t, delay, "huber(0.25)", "none", weights...)
	weights[0] = 7
	if m.Weights()[0] != 1 {
		t.Error("weights are shared with the caller's")
	}
}

// TestReadRefusesOtherSpellings tests that names of loss and regularizer have one spelling, so that
// a model has one file.
func TestReadRefusesOtherSpellings(t *testing.T) {
	data, err := makeModel(t, delay, "huber(0.25)", "none", 1, 2, 3, 4).Bytes()
	if err != nil {
		t.Fatal(err)
	}
	file := strings.Replace(string(data), "huber(0.25)", "huber(25e-2)", 1)
	if _, err := Parse([]byte(file)); err == nil || !strings.Contains(err.Error(), `must be written "huber(0.25)"`) {
		t.Errorf("got %v", err)
	}
}

func TestReadRefuses(t *testing.T) {
	data, err := makeModel(t, classes, "logistic", "l2(0.5)", 1, 2, 3, 0.1).Bytes()
	if err != nil {
		t.Fatal(err)
	}
	valid := string(data)
	replace := func(old, new string) string {
		if !strings.Contains(valid, old) {
			t.Fatalf("no %q in %s", old, valid)
		}
		return strings.Replace(valid, old, new, 1)
	}
	for _, test := range []struct{ name, file, want string }{
		{"empty", "", "must be JSON"},
		{"null", "null", "null: must have a value"},
		{"array", "[]", "must be an object"},
		{"cut", valid[:len(valid)-3], "must be JSON"},
		{"trailing", valid + "{}", "nothing after it"},
		{"not UTF-8", replace("v1.2.3", "\xff"), "must be UTF-8"},
		{"other format", replace(format, "stillpoint certificate"),
			`format = "stillpoint certificate": must be "stillpoint model"`},
		{"no format", replace(`"format": "stillpoint model",`, ""), "format: is missing"},
		{"later version", replace(`"version": 1`, `"version": 3, "optimizer": "x"`), "version = 3: must be 1 or 2"},
		{"other version", replace(`"version": 1`, `"version": 2`), "version = 2: must be 1 for 4 weights and 4 features"},
		{"version text", replace(`"version": 1`, `"version": "1"`), `version = "1": must be an integer`},
		{"unknown", replace(`"complete"`, `"seed": 1, "complete"`), "seed: is unknown"},
		{"missing", replace(`"complete": true,`, ""), "complete: is missing"},
		{"twice", replace(`"complete"`, `"complete": false, "complete"`), "complete: is given twice"},
		{"twice, in capitals", replace(`"complete"`, `"COMPLETE": false, "complete"`), "complete: is given twice"},
		{"twice, with a long s", replace(`"schema": {`, `"\u017fchema": 1, "schema": {`), "schema: is given twice"},
		{"capitals", replace(`"complete"`, `"Complete"`), "complete: is missing"},
		{"complete null", replace(`"complete": true`, `"complete": null`), "complete = null: must have a value"},
		{"complete text", replace(`"complete": true`, `"complete": "true"`), `complete = "true": must be true or false`},
		{"no software", replace("stillpoint v1.2.3", ""), "software"},
		{"privacy array", replace(`"privacy": {`, `"privacy": [], "inference": {`), "privacy = []: must be an object"},
		{"privacy without delta", replace(`"delta": 0.000001,`, ""), "privacy.delta: is missing"},
		{"privacy with more", replace(`"delta"`, `"rho": 1, "delta"`), "privacy.rho: is unknown"},
		{"epsilon 0", replace(`"epsilon": 1`, `"epsilon": 0`), "privacy.epsilon = 0: must be finite and > 0"},
		{"delta 1", replace(`"delta": 0.000001`, `"delta": 1`), "privacy.delta = 1: must be > 0 and < 1"},
		{"relation", replace("replace-one", "replace-all"), `privacy.relation = "replace-all"`},
		{"certificate with a directory", replace("certificate.json", "../certificate.json"), "privacy.certificate"},
		{"certificate with a drive's directory", replace("certificate.json", `c\\certificate.json`), "privacy.certificate"},
		{"certificate a directory", replace("certificate.json", ".."), "privacy.certificate"},
		{"no certificate", replace("certificate.json", ""), "privacy.certificate"},
		{"unknown loss", replace(`"logistic"`, `"exponential"`), `"exponential": must be one of`},
		{"loss for other targets", replace(`"logistic"`, `"huber(1)"`),
			"is for a number: the target is declared as 2 classes"},
		{"unknown regularizer", replace("l2(0.5)", "l1(0.5)"), "l1"},
		{"regularizer spelt otherwise", replace("l2(0.5)", "l2(5e-1)"), `must be written "logistic", "l2(0.5)"`},
		{"schema with more", replace(`"target": {`, `"sources": 1, "target": {`), `unknown field "sources"`},
		{"schema with a column twice", replace(`"name": "b"`, `"name": "a"`), "columns.a"},
		{"schema with a key twice", replace(`"where"`, `"where": "split=test", "where"`), "schema.where: is given twice"},
		{"schema with bad bounds", replace("[\n          -1,\n          1\n", "[\n          1,\n          1\n"),
			"columns.a.number"},
		{"feature renamed", replace("    \"b\",\n", "    \"B\",\n"), `features[1] = "B": must be "b"`},
		{"feature missing", replace("    \"b\",\n", ""), `features[1] = "c": must be "b"`},
		{"last feature missing", replace(",\n    \"(intercept)\"\n", "\n"), "features: 3 of them: must be 4"},
		{"weight missing", replace(",\n    0.1\n", "\n"), "weights: 3 of them: must be 4"},
		{"weight too many", replace("    0.1\n", "    0.1, 1\n"), "weights: 5 of them"},
		{"weight null", replace("    0.1\n", "    null\n"), "weights[3] = null"},
		{"weight text", replace("    0.1\n", "    \"0.1\"\n"), `weights[3] = "0.1": must be a number`},
		{"weight NaN", replace("    0.1\n", "    NaN\n"), "must be JSON"},
		{"weight beyond float64", replace("    0.1\n", "    1e999\n"),
			"weights[3]: must be a number in the range of float64"},
		{"weights overflow together", replace("    3,\n    0.1\n", "    1e308, 1e308\n"),
			"sum of their absolute values must be finite"},
	} {
		path := filepath.Join(t.TempDir(), "m.json")
		if err := os.WriteFile(path, []byte(test.file), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Read(path)
		if err == nil || !strings.Contains(err.Error(), test.want) ||
			!strings.Contains(err.Error(), "model: ") && !strings.Contains(err.Error(), "m.json") {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
	}
	if _, err := Parse(data); err != nil {
		t.Errorf("unchanged: %v", err)
	}
	if _, err := Read(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

type anotherLoss struct{ loss.RankOne }

func (anotherLoss) Name() string { return "another" }

func TestNewRefuses(t *testing.T) {
	l2, err := loss.L2(1)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name   string
		change func(*Params)
		want   string
	}{
		{"no schema", func(p *Params) { p.Schema = nil }, "schema"},
		{"zero schema", func(p *Params) { p.Schema = new(dataset.Schema) }, "schema"},
		{"no loss", func(p *Params) { p.Loss = nil }, "loss"},
		{"no regularizer", func(p *Params) { p.Regularizer = nil }, "regularizer"},
		{"loss nobody knows", func(p *Params) { p.Loss = anotherLoss{loss.Logistic()} }, `loss = "another"`},
		{"no software", func(p *Params) { p.Software = "" }, "software"},
		{"no privacy", func(p *Params) { p.Privacy = Privacy{} }, "privacy.relation = relation(0)"},
		{"delta NaN", func(p *Params) { p.Privacy.Delta = math.NaN() }, "privacy.delta"},
		{"loss for a regression", func(p *Params) { p.Schema = schema(t, delay) },
			"is for two classes: the target is declared as a number"},
		{"too few weights", func(p *Params) { p.Weights = p.Weights[1:] }, "weights: 3 of them"},
		{"NaN weight", func(p *Params) { p.Weights[2] = math.NaN() }, "weights[2] = NaN: must be finite"},
		{"infinite weight", func(p *Params) { p.Weights[0] = math.Inf(-1) }, "weights[0] = -Inf"},
	} {
		p := Params{Software: "s", Privacy: privacy, Loss: loss.Logistic(), Regularizer: l2, Schema: schema(t, classes),
			Weights: []float64{1, 2, 3, 4}}
		test.change(&p)
		if _, err := New(p); err == nil || !strings.HasPrefix(err.Error(), "model: ") ||
			!strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
	}
}

func TestWriteReplacesAndLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	m := makeModel(t, classes, "logistic", "none", 1, 2, 3, 4)
	if err := os.Mkdir(filepath.Join(dir, "taken"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Write(filepath.Join(dir, "taken")); err == nil {
		t.Error("replaced a directory")
	}
	for range 2 {
		if _, err := m.Write(filepath.Join(dir, "model.json")); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("left %v, %v", entries, err)
	}
	if _, err := new(Model).Write(filepath.Join(dir, "zero")); err == nil {
		t.Error("wrote the zero Model")
	}
}

func FuzzParse(f *testing.F) {
	data, err := makeModel(f, classes, "logistic", "l2(0.5)", 1, 2, 3, 0.1).Bytes()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add(data[:len(data)/2])
	f.Add([]byte(`{"format":"stillpoint model","version":1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := Parse(data)
		if err != nil {
			return
		}
		again, err := m.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		if n, err := Parse(again); err != nil || !reflect.DeepEqual(m, n) {
			t.Fatalf("%s is written as %s: %v", data, again, err)
		}
		if z := m.margin(make([]float32, m.dim())); z != 0 {
			t.Fatalf("margin of zero: %v", z)
		}
	})
}
