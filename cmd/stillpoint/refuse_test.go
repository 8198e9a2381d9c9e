package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// TestEveryCommandRefusesItsInput runs each command that reads a file on a path that is not there, on a file that is none of
// the program's, and on a folder of such files. It must end with an error and print no result.
func TestEveryCommandRefusesItsInput(t *testing.T) {
	broken := t.TempDir()
	for _, name := range []string{"model.json", "certificate.json", "ledger.jsonl", "journal.jsonl", "file"} {
		if err := os.WriteFile(filepath.Join(broken, name), []byte("{\"format\": 1\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(t.TempDir())
	parser, err := parserOf(new(commands))
	if err != nil {
		t.Fatal(err)
	}
	own := []string{"completion", "man", "version", "algorithms", "losses", "audit", "experiment", "shard"} // read no file, or wait for a session
	seen := 0
	for _, leaf := range parser.Model.Leaves(false) {
		path := strings.Fields(leaf.Path())
		if slices.Contains(own, leaf.Name) || slices.ContainsFunc(path, func(s string) bool { return slices.Contains(own, s) }) {
			continue
		}
		for _, input := range []string{filepath.Join(broken, "missing"), filepath.Join(broken, "file"), broken} {
			args := slices.DeleteFunc(slices.Clone(path), func(s string) bool { return strings.HasPrefix(s, "<") })
			value := func(v *kong.Value) string {
				if v.Enum != "" {
					return v.EnumSlice()[0]
				}
				switch v.Target.Kind().String() {
				case "int", "int64", "uint64", "float64":
					return "1"
				}
				return input
			}
			for _, f := range leaf.Flags {
				if f.Name == "store" {
					args = append(args, "--store=sqlite:"+input)
				} else if f.Required {
					args = append(args, "--"+f.Name+"="+value(f.Value))
				}
			}
			for _, p := range leaf.Positional {
				args = append(args, value(p))
			}
			var out, told bytes.Buffer
			code := run(context.Background(), args, &console{out: &out, err: &told})
			seen++
			if code == 0 {
				t.Errorf("%q: ends well: %s%s", args, out.String(), told.String())
			}
		}
	}
	if seen < 40 {
		t.Errorf("%d runs", seen)
	}
}
