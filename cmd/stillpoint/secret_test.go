package main

import (
	"bytes"
	"compress/gzip"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Secret cells, which no output of a fit may show. The digits that the tests look for are common to
// the decimal forms of the integer and the float. Twelve given digits occur by chance among the
// 10^5 digits of noise in the tests' outputs with probability 10^-7.
const (
	secretNumber, secretDigits = "481516234815162348", "151623481516"
	secretWord                 = "Quokka"
)

// planted returns a table with the secrets in every kind of cell, valid or not.
func planted() string {
	return people(100, 3) + strings.NewReplacer("#", secretNumber, "@", secretWord).Replace(
		"#,f,130,x,yes\n"+ // beyond the bound
			"50,@,130,x,yes\n"+ // not a listed category
			"50,f,@,#,no\n"+ // not a number
			"50,f,130,@,@\n"+ // not a class
			"50,f,130,x,#\n"+
			"50,f,130,x,yes,#,@\n"+ // too many cells
			"#\n@\n"+ // too few
			"\"#\"@,f,1,x,no\n"+ // quotes
			"50,f\"@,#,x,no\n"+
			"50,\xff@,#,x,no\n"+ // not UTF-8
			"50,f,130,\"@,no\n#") // a quote without an end
}

func compressed(text string, keep int) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write([]byte(text))
	z.Close()
	return b.String()[:keep]
}

func TestNothingShowsCells(t *testing.T) {
	dir := t.TempDir()
	rows := planted()
	_, headless, _ := strings.Cut(rows, "\n")
	last := rows[strings.Index(rows, secretNumber):]
	inputs := map[string]string{
		"people.csv":  rows,
		"people.yaml": peopleYAML,
		"pressure.yaml": strings.NewReplacer("column: sick, classes: [\"no\", \"yes\"]",
			"column: pressure, number: [80, 200]", "    pressure: {number: [80, 200]}",
			"    sick: {category: [\"no\", \"yes\"]}", "logistic", "huber(0.1)").Replace(peopleYAML),
		"headless.csv":  last + headless,
		"headless.yaml": strings.Replace(peopleYAML, "people.csv", "headless.csv", 1),
		"cut.csv.gz":    compressed(rows, 500),
		"cut.yaml":      strings.Replace(peopleYAML, "people.csv", "cut.csv.gz", 1),
		"fewer.yaml":    strings.Replace(peopleYAML, "    note: ignore\n", "", 1),
		"more.yaml":     strings.Replace(peopleYAML, "note: ignore", "note: ignore\n    weight: ignore", 1),
		"loss.yaml":     strings.Replace(peopleYAML, "logistic", "huber(0.1)", 1),
		"records.yaml":  peopleYAML + "  records: 3\n",
		"filter.yaml": strings.NewReplacer("\nmodel:", "\n  where: sex=f\nmodel:", "sex: {category: [f, m]}",
			"sex: {public: [f, m]}").Replace(fewYAML),
		"malformed.csv":  "age,sex,pressure,note,sick\n" + last,
		"malformed.yaml": strings.Replace(fewYAML, "people.csv", "malformed.csv", 1),
	}
	writeFiles(t, dir, inputs)
	if !shows(inputs["people.csv"]) || !shows("4.8151623481516235e+17") || !shows(strings.ToUpper(secretWord)) {
		t.Fatal("the secrets would not be found")
	}
	for _, run := range []struct {
		code int
		args string
	}{
		{0, "fit people.yaml"},
		{0, "fit people.yaml"},
		{0, "fit people.yaml --out out --epsilon 100"},
		{1, "fit people.yaml --out out"},
		{1, "fit people.yaml --out people.csv"},
		{0, "fit pressure.yaml"},
		{0, "fit malformed.yaml"},
		{0, "fit filter.yaml"},
		{1, "fit headless.yaml"},
		{1, "fit cut.yaml"},
		{1, "fit fewer.yaml"},
		{1, "fit more.yaml"},
		{1, "fit loss.yaml"},
		{1, "fit records.yaml"},
		{1, "fit people.csv"},
		{1, "fit headless.csv"},
		{1, "fit malformed.csv"},
		{0, "plan people.yaml"},
		{0, "plan people.yaml --json"},
		{1, "plan headless.yaml"},
		{1, "plan cut.yaml"},
		{1, "plan people.csv"},
		{0, "schema people.csv"},
		{0, "schema cut.csv.gz"},
		{0, "predict people-fit/model.json people.csv"},
		{0, "predict filter-fit/model.json people.csv --where sex=f"},
		{0, "predict pressure-fit/model.json people.csv --out scores.csv"},
		{1, "predict people-fit/model.json headless.csv"},
		{1, "predict people-fit/model.json cut.csv.gz"},
		{1, "predict people.csv people.csv"},
		{0, "evaluate people-fit/model.json people.csv"},
		{0, "evaluate pressure-fit/model.json people.csv --json"},
		{1, "evaluate people-fit/model.json headless.csv"},
		{1, "evaluate people-fit/model.json cut.csv.gz"},
		{1, "evaluate malformed-fit/model.json malformed.csv --where sex=q"},
		{1, "evaluate people.csv people.csv"},
		{0, "verify people-fit/certificate.json"},
		{4, "verify people-fit/certificate.json --model people.csv"},
		{4, "verify people.csv"},
	} {
		o := executable(t, dir, strings.Fields(run.args)...)
		if o.code != run.code {
			t.Errorf("stillpoint %s: exit code %d: must be %d: %s", run.args, o.code, run.code, o.stderr)
		}
		if shows(o.stdout) || shows(o.stderr) {
			t.Errorf("stillpoint %s: shows cells:\n%s%s", run.args, o.stdout, o.stderr)
		}
	}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		if _, given := inputs[e.Name()]; given && filepath.Dir(path) == dir {
			return nil
		}
		text, err := os.ReadFile(path)
		if shows(path) || shows(string(text)) {
			t.Errorf("%s shows cells", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func shows(text string) bool {
	text = strings.ToLower(text)
	return strings.Contains(text, secretDigits) || strings.Contains(text, strings.ToLower(secretWord))
}

// noisy matches everything that may differ between two fits: noisy answers, numbers computed from them, and
// times.
var noisy = regexp.MustCompile(`noisy gradient norm [^,]+|steps        [^\n]+|quality      [^\n]+|WARNING      [^\n]+|(?s)"compared": ?\{.*?\}|(?s)"warnings": ?\[.*?\]|(?s)"late": ?\{.*?\}|"(weights|gradient_norms)": ?\[.*?\]|"(model_sha256|checksum|time)": ?"[^"]*"|"certificate": ?"[0-9a-f]{64}"`)

// TestNeighboursLookAlike: fits of neighbouring tables must print the same, end in the same way and write
// the same files, except for noisy answers.
func TestNeighboursLookAlike(t *testing.T) {
	rows := strings.SplitAfter(people(60, 4), "\n")
	rows = rows[:61]
	with := func(i int, row string) string {
		changed := append([]string(nil), rows...)
		changed[i] = row
		return strings.Join(changed, "")
	}
	// The sensitivities of gd follow from the plan, and with a stated step_scale the step sizes do. Those of
	// preconditioned follow from released answers as well, and so do the plans of fits that release their base rate.
	gd := peopleYAML + "train: {algorithm: gd, base: off, step_scale: 4}\n"
	addOrRemove := strings.Replace(gd, "replace-one", "add-or-remove\n  records: 50", 1)
	tests := []struct {
		name, config string
		tables       []string
	}{
		{"replace-one", gd, []string{
			with(30, "0,m,80,x,no\n"),
			with(30, "1e999,quokka,-1e999,quokka,yes\n"),
			with(30, "NaN,,,,NaN\n"),
			with(30, "1\n"),
			with(30, "1,2,3,4,5,6,7\n"),
			with(30, "\"1\"2,f,130,x,yes\n"),
			with(60, "\"an open quote"),
		}},
		{"add-or-remove", addOrRemove, []string{
			with(30, ""),
			with(30, rows[30]+"50,f,130,x,yes\n"),
			with(30, rows[30]+"1\n"),
			strings.Join(rows[:2], ""),
			rows[0], // no rows
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			want := appearance(t, test.config, strings.Join(rows, ""))
			for i, table := range test.tables {
				if got := appearance(t, test.config, table); got != want {
					t.Errorf("table %d: seen:\n%s\nbeside:\n%s", i, got, want)
				}
			}
		})
	}
}

// appearance returns everything that can be observed of a fit, with noisy numbers removed.
func appearance(t *testing.T, config, table string) string {
	t.Helper()
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"people.yaml": config, "people.csv": table})
	o := succeeds(t, dir, "fit", "people.yaml", "--out", "out")
	var b strings.Builder
	b.WriteString(o.stdout + o.stderr)
	entries, err := os.ReadDir(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		b.WriteString("== " + e.Name() + "\n" + readFile(t, dir, "out", e.Name()))
	}
	return strings.ReplaceAll(noisy.ReplaceAllString(b.String(), "(noisy)"), dir, "DIR")
}
