package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// forged is a text that follows every hostile character in the tests' inputs. If a line of output
// begins with it, the character has ended a line.
const forged = "FORGED"

// hostiles are characters that a terminal interprets or shows as something else, by the name of
// their class: the control characters C0, DEL and C1, escape sequences, line ends of Unicode, and
// invisible or bidirectional formatting.
func hostiles() map[string]string {
	join := func(from, to rune) string {
		var b strings.Builder
		for r := from; r <= to; r++ {
			b.WriteString(string(r) + forged)
		}
		return b.String()
	}
	return map[string]string{
		"C0":        join(1, 0x1f),
		"DEL":       "\x7f" + forged,
		"C1":        join(0x80, 0x9f),
		"sequences": "\x1b[2J\x1b]0;" + forged + "\a\x1b[31m" + forged + "\u009b2J" + forged,
		"line ends": "\n" + forged + "\r\n" + forged + "\u0085" + forged + "\u2028" + forged + "\u2029" + forged,
		"bidi":      "\u061c" + forged + join(0x200b, 0x200f) + join(0x202a, 0x202e) + join(0x2066, 0x2069),
		"unseen":    "\u00ad" + forged + "\ufeff" + forged + "\U000e0041" + forged + "\ue000" + forged,
	}
}

// obeyed returns the first part of a text that a terminal would interpret instead of showing it, or
// "".
func obeyed(s string) string {
	if found := unseen(s); found != "" {
		return found
	}
	if regexp.MustCompile(`(?m)^\s*` + forged).MatchString(s) {
		return "a line of its own"
	}
	return ""
}

func quoted(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// unseen finds the first character of a text, other than a newline, that a terminal interprets or does not
// show. It returns up to 12 bytes of the text from this character on, quoted. It returns "" if there is no
// such character.
func unseen(s string) string {
	for i, r := range s {
		_, size := utf8.DecodeRuneInString(s[i:])
		if r != '\n' && (!unicode.IsGraphic(r) || r == utf8.RuneError && size == 1) {
			return fmt.Sprintf("%+q", s[i:min(len(s), i+12)])
		}
	}
	return ""
}

// reseals replaces text in the certificate at path and recomputes its checksum.
func reseals(t *testing.T, path, from, to string) string {
	t.Helper()
	text := strings.Replace(readFile(t, path), from, to, 1)
	if text == readFile(t, path) {
		t.Fatalf("%s: has no %s", path, from)
	}
	i := strings.LastIndex(text, `  "checksum": "sha256:`)
	sum := sha256.Sum256([]byte(text[:i] + "}\n"))
	return text[:i] + `  "checksum": "sha256:` + hex.EncodeToString(sum[:]) + "\"\n}\n"
}

// TestControlCharactersStayIn tests hostile text in every input. Whatever text is in a header, a
// configuration, a specification, a certificate, a model, a ledger or a file's name, each command
// must print only graphic characters and its own line ends.
func TestControlCharactersStayIn(t *testing.T) {
	table := people(40, 3)
	quick := peopleYAML + "train: {algorithm: gd, steps: 2}\n"
	for class, h := range hostiles() {
		if testing.Short() && class != "sequences" {
			continue
		}
		t.Run(class, func(t *testing.T) {
			dir := t.TempDir()
			t.Chdir(dir)
			name := "n" + strings.ReplaceAll(h, "/", "")
			file := name
			for len(file) > 150 {
				_, size := utf8.DecodeLastRuneInString(file)
				file = file[:len(file)-size]
			}
			column := strings.NewReplacer("\r", "").Replace(name) // the reader removes the CR of CRLF
			cell := `"` + column + `"`
			hostile := strings.NewReplacer("note: ignore", quoted(column)+": ignore", "people.csv", "h.csv").Replace(quick)
			filter := strings.NewReplacer("note: ignore", quoted(column)+": {public: ["+quoted(name)+"]}", "people.csv", "h.csv",
				"\nmodel:", "\n  where: "+quoted(column+"="+name)+"\nmodel:").Replace(quick)
			files := map[string]string{
				"people.csv":     table,
				"people.yaml":    quick,
				"h.csv":          strings.ReplaceAll(strings.Replace(table, ",note,", ","+cell+",", 1), ",x,", `,"`+name+`",`),
				"h.yaml":         hostile,
				"filter.yaml":    filter,
				"data.yaml":      strings.Replace(quick, "people.csv", quoted(file+".csv"), 1),
				file + ".csv":    table,
				file + ".yaml":   quick,
				file + "-s.yaml": quick + "budget: {store: \"sqlite:b.db\", dataset: people}\n",
				file + "-i.yaml": peopleYAML + "inference: {level: 0.9}\n",
				"stored.yaml":    quick + "budget: {store: \"sqlite:b.db\", dataset: " + quoted(name) + "}\n",
				"store.yaml":     quick + "budget: {store: " + quoted(name) + ", dataset: people}\n",
				"key.yaml":       peopleYAML + quoted(name) + ": 1\n",
				"raw.yaml":       peopleYAML + name + ": 1\n",
				"word.yaml":      strings.Replace(peopleYAML, "note: ignore", "note: "+quoted(name), 1),
				"column.yaml":    strings.Replace(peopleYAML, "note: ignore", quoted(name)+": {number: [2, 1]}", 1),
				"words.yaml":     strings.Replace(hostile, quoted(column)+": ignore", quoted(column)+": {category: [x]}", 1),
				"list.yaml":      strings.Replace(quick, "note: ignore", "note: {category: {file: list.txt}}", 1),
				"list.txt":       name + "\n",
				"gone.yaml":      strings.Replace(quick, "note: ignore", quoted(name)+": ignore", 1),
				"bare.yaml":      strings.Replace(peopleYAML, "note: ignore", quoted(name)+": {number: [???, 1]}", 1),
				"loss.yaml":      strings.Replace(peopleYAML, "logistic", quoted(name), 1),
				"relation.yaml":  strings.Replace(peopleYAML, "replace-one", quoted(name), 1),
				"algorithm.yaml": peopleYAML + "train: {algorithm: " + quoted(name) + "}\n",
				"class.yaml":     strings.Replace(quick, `"yes"`, quoted(name), 1),
				"where.yaml":     strings.Replace(peopleYAML, "\nmodel:", "\n  where: "+quoted(name)+"\nmodel:", 1),
				"events.json":    `{"relation": ` + quoted(name) + `, "events": [{"kind": ` + quoted(name) + `}]}`,
				"kind.json": `{"relation": "replace-one", "events": [{"kind": ` + quoted(name) + `, ` + quoted(name) +
					`: 1}]}`,
			}
			for n := range files {
				if strings.ContainsRune(n, 0) {
					delete(files, n)
				}
			}
			writeFiles(t, dir, files)
			ran := 0
			run := func(args ...string) int {
				var stdout, stderr bytes.Buffer
				code := run(t.Context(), args, &console{out: &stdout, err: &stderr})
				ran++
				for _, text := range []string{stdout.String(), stderr.String()} {
					if found := obeyed(text); found != "" {
						t.Errorf("stillpoint %q: %s in\n%q", args, found, text)
					}
				}
				return code
			}
			must := func(want int, args ...string) {
				if got := run(args...); got != want {
					t.Errorf("stillpoint %q: exit code %d, want %d", args, got, want)
				}
			}
			must(0, "fit", "people.yaml")
			must(0, "fit", file+".yaml")
			must(0, "fit", "data.yaml", "--out", file+"-out")
			must(0, "fit", "data.yaml")
			run("fit", "h.yaml")      // a header with invalid UTF-8 is refused
			run("fit", "filter.yaml") // white space at an end of the filter's value is refused
			must(0, "schema", file+".csv")
			run("schema", "h.csv")
			run("schema", "h.csv", "--header")
			run("schema", "h.csv", "--no-header")
			run("schema", "people.csv", "--from-public", "h.csv")
			run("check", "h.yaml")
			run("check", "words.yaml", "h.csv")
			run("check", "list.yaml")
			must(0, "check", "people.yaml")
			must(0, "check", "data.yaml", "--json")
			must(0, "fit", "people.yaml", "--dry-run")
			must(0, "fit", "data.yaml", "--dry-run", "--out", file+"-dry", "--json")
			for _, config := range []string{"key", "raw", "word", "column", "gone", "bare", "loss", "relation", "algorithm",
				"class", "where"} {
				run("plan", config+".yaml")
			}
			run("plan", "filter.yaml")
			run("plan", "filter.yaml", "--json")
			must(1, "plan", "key.yaml")
			must(1, "plan", "loss.yaml")
			must(1, "plan", "h.csv")
			must(1, "fit", file)
			must(1, "fit", "people.yaml", "--out", file+".csv")
			must(2, name)
			must(2, "experiment", "run", file)
			must(2, "audit", file)
			must(2, "fit", "people.yaml", "--"+name)
			must(1, "account", "--events", "events.json", "--delta", "1e-6")
			must(1, "account", "--events", "kind.json", "--delta", "1e-6")
			must(1, "account", "--events", file, "--delta", "1e-6")

			// Names and labels in a store of budgets: the user's own, and names and labels of another user.
			stored := []string{"--store", "sqlite:b.db", "--epsilon", "9", "--delta", "1e-6", "--relation", "replace-one"}
			must(0, append([]string{"budget", "create", "people"}, stored...)...)
			must(1, append([]string{"budget", "create", name}, stored...)...)
			must(0, "fit", file+"-s.yaml")
			must(1, "fit", "stored.yaml")
			must(1, "fit", "store.yaml")
			must(0, "budget", "list", "--store", "sqlite:b.db")
			must(1, "budget", "list", "--store", "sqlite:"+file)
			must(1, "budget", "show", name, "--store", "sqlite:b.db")
			must(0, "budget", "show", "people", "--store", "sqlite:b.db", "--certificate", "spent.json")
			must(0, "verify", "spent.json")
			for _, member := range []string{`"dataset": `, `"dataset":`, `"time":`, `"label":`, `"run":`, `"kind":`, `"salt":`,
				`"head": `} {
				text := readFile(t, "spent.json")
				i := strings.Index(text, member) + len(member)
				end := i + strings.Index(text[i+1:], `"`) + 2
				writeFiles(t, dir, map[string]string{"altered.json": text[:i] + quoted(name) + text[end:]})
				must(4, "verify", "altered.json")
			}

			// What a stranger's certificate and model say.
			certificate, fitted := filepath.Join("people-fit", "certificate.json"), filepath.Join("people-fit", "model.json")
			must(0, "report", "people-fit", "--out", file+".html")
			must(0, "coefficients", "people-fit")
			must(0, "coefficients", "people-fit", "--json")
			must(1, "contrast", "people-fit", name)
			must(0, "fit", file+"-i.yaml", "--out", "intervals-fit")
			must(1, "contrast", "intervals-fit", name)
			must(0, "coefficients", "intervals-fit")
			for i, change := range [][2]string{
				{`"software": "`, `"software": ` + quoted(name)[:len(quoted(name))-1]},
				{`"name": "`, `"name": ` + quoted(name)[:len(quoted(name))-1]},
				{`"trusted": []`, `"trusted": [` + quoted(name) + `]`},
				{`"privacy_unit": "row"`, `"privacy_unit": ` + quoted(name)},
				{`"basis": "gaussian-dp-filter"`, `"basis": ` + quoted(name)},
				{`"privacy_unit"`, `"filter": {"column": ` + quoted(name) + `, "value": ` + quoted(name) +
					"},\n  \"privacy_unit\""},
				{`"privacy_unit"`, quoted(name) + `: 1, "privacy_unit"`},
				{`"privacy_unit"`, quoted(name) + `: 1, ` + quoted(name) + `: 2, "privacy_unit"`},
				{`"kind": "`, `"kind": ` + quoted(name)[:len(quoted(name))-1]},
				{`"question": "`, `"question": ` + quoted(name)[:len(quoted(name))-1]},
				{`"relation": "replace-one"`, `"relation": ` + quoted(name)},
				{`"complete": true`, `"complete": ` + quoted(name)},
			} {
				dir := fmt.Sprintf("certificate-%d", i)
				if err := os.CopyFS(dir, os.DirFS("people-fit")); err != nil {
					t.Fatal(err)
				}
				writeFiles(t, dir, map[string]string{"certificate.json": reseals(t, certificate, change[0], change[1])})
				run("verify", filepath.Join(dir, "certificate.json"))
				run("verify", filepath.Join(dir, "certificate.json"), "--json")
				run("report", dir)
				run("coefficients", dir)
			}
			for i, change := range [][2]string{
				{`"software": "`, `"software": ` + quoted(name)[:len(quoted(name))-1]},
				{`"logistic"`, quoted(name)},
				{`"format"`, quoted(name) + `: null, "format"`},
				{`"format"`, quoted(name) + `: 1, "format"`},
				{`"replace-one"`, quoted(name)},
				{`"certificate.json"`, quoted(name)},
				{`"yes"`, quoted(name)},
				{`"name": "note"`, `"name": ` + quoted(name)},
				{`"name": "age"`, `"name": ` + quoted(name)},
				{`"privacy": {`, `"privacy": {` + quoted(name) + `: 1,`},
			} {
				text := strings.Replace(readFile(t, fitted), change[0], change[1], 1)
				model := fmt.Sprintf("model-%d.json", i)
				writeFiles(t, ".", map[string]string{model: text})
				run("predict", model, "people.csv")
				run("evaluate", model, "people.csv")
				run("evaluate", model, "people.csv", "--where", name)
				run("verify", certificate, "--model", model)
			}
			must(4, "verify", "h.csv")
			for _, signed := range []string{"list.txt", "h.csv",
				"people.yaml"} { // files given as a list of signers, a signature or a key
				run("certificate", "verify", "spent.json", "--signers", signed, "--signature", "list.txt")
				run("certificate", "verify", "spent.json", "--signers", "list.txt", "--signature", signed)
				run("certificate", "sign", "spent.json", "--key", signed)
			}
			run("certificate", "sign", file, "--key", file)
			must(1, "predict", "h.csv", "h.csv")
			must(1, "predict", "people-fit/model.json", file)
			must(1, "verify", file)
			must(1, "report", file)
			must(1, "coefficients", file)
			if ran < 100 {
				t.Errorf("only %d commands were run", ran)
			}
		})
	}
}

// TestWhatIsPrintedIsEscapedLast tests that control characters in everything that is written to the
// console or as JSON are escaped there, even if text from files has been escaped before.
func TestWhatIsPrintedIsEscapedLast(t *testing.T) {
	for class, h := range hostiles() {
		var stdout, stderr bytes.Buffer
		if code := run(t.Context(), []string{"fit", "--no-such-flag" + h}, &console{out: &stdout, err: &stderr}); code == 0 ||
			stderr.Len() == 0 {
			t.Errorf("%s: exit %d, %q", class, code, &stderr)
		}
		if err := printJSON(&stdout, map[string]string{h: h}); err != nil {
			t.Fatal(err)
		}
		// Text that a command forgot to escape.
		c, flush := escaping(&console{out: &stdout, err: &stderr})
		fmt.Fprintln(c.out, h)
		fmt.Fprintln(c.err, h)
		flush()
		for _, text := range []string{stdout.String(), stderr.String()} {
			if found := unseen(text); found != "" {
				t.Errorf("%s: %s in %q", class, found, text)
			}
		}
	}
}
