package main

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/internal/train"
)

var rewriteReference = flag.Bool("rewrite", false, "write the generated pages of docs/reference")

const (
	referenceFolder = "../../docs/reference"
	generatedLine   = "<!-- Written by go generate ./cmd/stillpoint: edit its source, not this page. -->\n\n"
)

// TestReferenceIsFresh: the generated pages of the reference must agree with the code. With -rewrite the
// test writes the pages instead.
func TestReferenceIsFresh(t *testing.T) {
	for name, write := range map[string]func(*testing.T) string{
		"commands.md": commandPage, "keys.md": keyPage, "losses.md": lossPage, "algorithms.md": algorithmPage,
		"exit-codes.md": exitPage, "python-names.md": pythonPage, "r.md": rPage,
	} {
		path, want := filepath.Join(referenceFolder, name), write(t)
		if *rewriteReference {
			if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%s is not what the code says (%v): go generate ./cmd/stillpoint", path, err)
		}
	}
}

// helpOf returns the output of a command line.
func helpOf(t *testing.T, args ...string) string {
	t.Helper()
	var out, failures bytes.Buffer
	if code := run(t.Context(), args, &console{out: &out, err: &failures}); code != 0 {
		t.Fatalf("%q ends with %d: %s", args, code, failures.String())
	}
	return out.String()
}

// commandPage returns the page of the reference with the help of every command.
func commandPage(t *testing.T) string {
	var p strings.Builder
	p.WriteString("# Commands\n\n" + generatedLine + "The output of `--help`, of the whole command and of each of its parts.\n\n")
	section := func(title string, args ...string) {
		fmt.Fprintf(&p, "## %s\n\n```text\n%s\n```\n\n", title, strings.TrimSpace(helpOf(t, append(args, "--help")...)))
	}
	section("stillpoint")
	parser, err := parserOf(&commands{})
	if err != nil {
		t.Fatal(err)
	}
	for _, leaf := range parser.Model.Leaves(true) {
		words := strings.Fields(leaf.FullPath())[1:]
		for i, w := range words { // of the words of a usage line, only the commands
			if strings.HasPrefix(w, "<") {
				words = words[:i]
				break
			}
		}
		section(strings.Join(words, " "), words...)
	}
	return strings.TrimRight(p.String(), "\n") + "\n"
}

// keysBelow lists the types that describe a configuration file, with the prefix that the reference
// gives to their keys.
var keysBelow = []struct{ file, name, prefix string }{
	{"internal/train/config.go", "Config", ""}, {"dataset/csv.go", "CSV", "csv."},
	{"internal/train/config.go", "Model", "model."},
	{"optimize/steps.go", "KL", "model.kl."}, {"internal/train/config.go", "Privacy", "privacy."},
	{"internal/train/config.go", "StoredBudget", "budget."}, {"internal/train/settings.go", "Memory", "memory."},
	{"internal/train/inference.go", "Inference", "inference."},
}

// keyPage returns the page of the reference with the keys of a configuration outside schema and
// train. Their descriptions are the comments of the fields.
func keyPage(t *testing.T) string {
	var p strings.Builder
	p.WriteString("# Keys, one by one\n\n" + generatedLine +
		"The keys of a configuration and their meaning, from the comments in its Go types. The keys of `schema` are\n" +
		"in the [example of every key](configuration.md); those of `train` go with the [algorithm](algorithms.md).\n\n" +
		"| key | meaning |\n|---|---|\n")
	for _, of := range keysBelow {
		for _, f := range fieldsOf(t, filepath.Join("../..", filepath.FromSlash(of.file)), of.name) {
			fmt.Fprintf(&p, "| `%s%s` | %s |\n", of.prefix, f.key, cell(f.doc))
		}
	}
	return p.String()
}

// cell escapes a text for a cell of a Markdown table.
func cell(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "|", `\|`), "<", "&lt;")
}

type field struct{ key, doc string }

// fieldsOf reads the fields of a struct type that have a YAML key, with their doc comments. A field without
// a comment gets the comment of its own type.
func fieldsOf(t *testing.T, path, name string) (fields []field) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		g, ok := n.(*ast.GenDecl)
		if !ok || g.Tok != token.TYPE {
			return true
		}
		for _, s := range g.Specs {
			spec := s.(*ast.TypeSpec)
			of, ok := spec.Type.(*ast.StructType)
			if !ok || spec.Name.Name != name {
				continue
			}
			for _, f := range of.Fields.List {
				if f.Tag == nil {
					continue
				}
				tag, err := strconv.Unquote(f.Tag.Value)
				if err != nil {
					t.Fatal(err)
				}
				key := reflect.StructTag(tag).Get("yaml")
				if key == "" || key == "-" {
					continue
				}
				doc := f.Doc.Text()
				if doc == "" {
					doc = g.Doc.Text()
				}
				fields = append(fields, field{key, doc})
			}
		}
		return true
	})
	if len(fields) == 0 {
		t.Fatalf("%s: %s has no field with a key", path, name)
	}
	return fields
}

// lossPage returns the page of the reference with a table of all losses and their constants.
func lossPage(*testing.T) string {
	var p strings.Builder
	p.WriteString("# Losses by task\n\n" + generatedLine +
		"The values of `model.loss`. Parameters are in units of the scaled target: a number is scaled from its bounds to\n" +
		"[-1, 1]. The steepest slope is the largest norm of a row's gradient, for the parameters shown. At a corner the slope\n" +
		"of the loss jumps. A loss with corners is smoothed by a known amount before the fit.\n\n" +
		"| write | for | target | convex | corners | steepest slope |\n|---|---|---|---|---|---|\n")
	yes := map[bool]string{true: "yes", false: "no"}
	for _, l := range train.Losses() {
		steepest := "none"
		if !math.IsInf(l.Steepest, 0) {
			steepest = strconv.FormatFloat(l.Steepest, 'g', 4, 64)
		}
		fmt.Fprintf(&p, "| `%s` | %s | %s | %s | %s | %s |\n", l.Text, l.Use, l.Target, yes[l.Convex], yes[l.Corners],
			steepest)
	}
	p.WriteString("\nA network, `{network: {hidden: [16], activation: tanh, output: LOSS}}`, takes any of them as its output.\n")
	return p.String()
}

// algorithmPage returns the page of the reference with the output of the command algorithms.
func algorithmPage(t *testing.T) string {
	var p strings.Builder
	p.WriteString("# Algorithms and their settings\n\n" + generatedLine +
		"The values of `train.algorithm` and their settings, as `stillpoint algorithms` prints them. A setting\n" +
		"that is left out has its default. [First-order methods](../explanation/papers/first-order.md) and the\n" +
		"pages beside it state the proved properties of each algorithm.\n\n" +
		"Symbols: n is the number of records, d the number of weights, mu the budget, and N = n mu/sqrt(d) the effective\n" +
		"size. L0 is the largest norm of a record's gradient. L1, the smoothness, is the largest change of a record's\n" +
		"gradient for one unit of the weights. F0 is the most by which the objective at the start exceeds its minimum. G0 is\n" +
		"sqrt(2 L1 F0), a bound on the gradient norm at the start. T is the number of steps, and eta the size of a step. h is\n" +
		"the value of `step_scale`. Names such as StepScale and Theorem stand for the keys `step_scale` and `theorem`.\n\n" +
		"Words: a pass is a computation over all rows. An anchor is a released gradient, to which later steps add released\n" +
		"gradient differences. A cohort is a set of records that one release uses. A rank-one loss depends on a single\n" +
		"margin, the weighted sum of a row's features. The rules of `output` are: `last`, the last iterate; `average`, the\n" +
		"average of all iterates; `tail-average`, that of the second half of the iterates; `smallest`, the iterate with the\n" +
		"smallest released gradient norm; and `random`, an iterate drawn at random. Both averages weight an iterate by the\n" +
		"charge of the answer that was released there. The KL condition bounds the excess risk F(w) - min F by a power of\n" +
		"the gradient norm. A saddle is a point with a small gradient and a negative eigenvalue of the Hessian; an escape is\n" +
		"a sequence of steps away from it. A landing is a final gradient descent. The parameters in the name of a loss are\n" +
		"examples: pinball(0.9) stands for pinball with every parameter.\n\n")
	for _, name := range append(train.Algorithms(), "selected") {
		settings := train.HelpOf(name)
		fmt.Fprintf(&p, "## %s\n\n", name)
		if text, err := lossesOf(t.Context(), name); err != nil {
			t.Fatal(err)
		} else if text != "" {
			fmt.Fprintf(&p, "This algorithm fits %s.\n\n", text)
		}
		if len(settings) == 0 {
			p.WriteString("Nothing to set.\n\n")
			continue
		}
		p.WriteString("| key | type | meaning |\n|---|---|---|\n")
		for _, s := range settings {
			fmt.Fprintf(&p, "| `%s` | %s | %s |\n", s.Key, cell(s.Type), cell(s.Doc))
		}
		p.WriteString("\n")
	}
	return strings.TrimRight(p.String(), "\n") + "\n"
}

// exitPage returns the page of the reference with the exit codes. Their descriptions are the
// comments of the constants.
func exitPage(t *testing.T) string {
	file, err := parser.ParseFile(token.NewFileSet(), "main.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var p strings.Builder
	p.WriteString("# Exit codes and JSON\n\n" + generatedLine +
		"| exit code | `code` in JSON | when |\n|---|---|---|\n| 0 | | done |\n")
	rows := 0
	ast.Inspect(file, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok || len(v.Values) != 1 || !strings.HasPrefix(v.Names[0].Name, "exit") {
			return true
		}
		number, err := strconv.Atoi(v.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		name := ""
		if codes[number] != "" {
			name = "`" + codes[number] + "`"
		}
		fmt.Fprintf(&p, "| %d | %s | %s |\n", number, name, cell(v.Comment.Text()))
		rows++
		return true
	})
	if rows < len(codes) {
		t.Fatalf("%d exit codes are declared, %d have names", rows, len(codes))
	}
	p.WriteString("\nA program that calls the command passes `--json` and `--progress=json`. Results are then JSON on standard\n" +
		"output. Progress and errors are JSON on standard error, one object in each line.\n\n" +
		"| `event` | members |\n|---|---|\n")
	for _, e := range []struct {
		name  string
		event any
	}{
		{"reading, stopping", noteEvent{}}, {"plan", planEvent{}}, {"step", stepEvent{}}, {"error", errorEvent{}},
	} {
		var keys []string
		for _, f := range reflect.VisibleFields(reflect.TypeOf(e.event)) {
			if key, _, _ := strings.Cut(f.Tag.Get("json"), ","); key != "event" {
				keys = append(keys, "`"+key+"`")
			}
		}
		fmt.Fprintf(&p, "| %s | %s |\n", e.name, strings.Join(keys, ", "))
	}
	p.WriteString("\nThe members of `plan` are those that `stillpoint plan --json` prints. New members may be added. Existing members keep\n" +
		"their meaning. After a fault in the program (134) standard error may hold lines that are no JSON.\n")
	return p.String()
}
