package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestCompletions runs each shell that is installed on the script for it. Every command, flag and listed value of the
// model must be offered after its beginning, and nothing that does not begin so.
func TestCompletions(t *testing.T) {
	parser, err := parserOf(&commands{})
	if err != nil {
		t.Fatal(err)
	}
	var asked [][]string // the words before the key is pressed, and one that must be offered
	for _, l := range levels(parser.Model) {
		at := strings.Fields("stillpoint " + l.Path)
		for _, sub := range l.Subs {
			asked = append(asked, append(slices.Clone(at), sub.Name[:1], sub.Name))
		}
		for _, o := range l.Flags {
			asked = append(asked, append(slices.Clone(at), "--"+o.Name[:1], "--"+o.Name))
			for _, v := range o.Values {
				asked = append(asked, append(slices.Clone(at), "--"+o.Name, v[:1], v))
			}
		}
		for _, v := range l.Args {
			asked = append(asked, append(slices.Clone(at), v[:1], v))
		}
	}
	if len(asked) < 150 {
		t.Fatalf("%d completions: the test shows nothing", len(asked))
	}
	for shell, try := range map[string]func(words []string) string{
		"bash": func(words []string) string {
			return "COMP_WORDS=('" + strings.Join(words, "' '") + "'); COMP_CWORD=$((${#COMP_WORDS[@]}-1)); COMPREPLY=(); " +
				"_stillpoint; echo \"${COMPREPLY[*]}\"\n"
		},
		"fish": func(words []string) string { // with the descriptions cut off
			return "echo (complete -C '" + strings.Join(words, " ") + "' | string replace -r '\\t.*' '')\n"
		},
	} {
		t.Run(shell, func(t *testing.T) {
			path, err := exec.LookPath(shell)
			if err != nil {
				t.Skip(err)
			}
			program := helpOf(t, "completion", shell)
			for _, words := range asked {
				program += try(words[:len(words)-1])
			}
			file := filepath.Join(t.TempDir(), "script")
			if err := os.WriteFile(file, []byte(program), 0o600); err != nil {
				t.Fatal(err)
			}
			out, err := exec.Command(path, file).Output()
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
			if len(lines) != len(asked) {
				t.Fatalf("%d answers to %d questions", len(lines), len(asked))
			}
			for i, line := range lines {
				begun, want := asked[i][len(asked[i])-2], asked[i][len(asked[i])-1]
				offered := strings.Fields(line)
				if !slices.Contains(offered, want) {
					t.Errorf("%q: %q is not offered: %q", asked[i], want, line)
				}
				for _, o := range offered {
					if !strings.HasPrefix(o, begun) {
						t.Errorf("%q: %q is offered after %q", asked[i], o, begun)
					}
				}
			}
		})
	}
	t.Run("zsh", func(t *testing.T) { // its completions need a terminal, so that the script is read alone
		path, err := exec.LookPath("zsh")
		if err != nil {
			t.Skip(err)
		}
		script := helpOf(t, "completion", "zsh")
		c := exec.Command(path, "-fc", "autoload -U compinit; compinit -D -u; eval \"$(cat)\"; print $_comps[stillpoint]; "+
			"_arguments() { print -l -- \"$@\" }; words=(stillpoint fit --); CURRENT=3; _stillpoint")
		c.Stdin = strings.NewReader(script)
		out, err := c.CombinedOutput()
		if err != nil || !strings.HasPrefix(string(out), "_stillpoint\n") || !strings.Contains(string(out), "\n--dry-run[") ||
			strings.Contains(string(out), "--sql") {
			t.Errorf("%v: %s", err, out)
		}
	})
}

// TestManualsAreWellFormed: groff, where it is installed, must find no fault in the manual page of any command, and the
// page must name every flag that the help names. Each command must have a text in the folder help, and each text a command.
func TestManualsAreWellFormed(t *testing.T) {
	parser, err := parserOf(&commands{})
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := manuals(parser.Model, folder); err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(filepath.Join(folder, "*.1"))
	if err != nil || len(pages) < 25 {
		t.Fatalf("%d pages: %v", len(pages), err)
	}
	texts, err := helpTexts.ReadDir("help")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range texts {
		page := strings.TrimSuffix(text.Name(), ".txt")
		if !slices.Contains(pages, filepath.Join(folder, page+".1")) || detail(page) == "" {
			t.Errorf("help/%s: must be of a command, and say something", text.Name())
		}
	}
	for _, path := range pages {
		switch page := strings.TrimSuffix(filepath.Base(path), ".1"); page {
		case "stillpoint-version", "stillpoint-certificate", "stillpoint-budget-close", "stillpoint-budget-list": // one line says all
		default:
			if detail(page) == "" {
				t.Errorf("help/%s.txt: must say what the command does", page)
			}
		}
	}
	groff, missing := exec.LookPath("groff")
	for _, page := range pages {
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(page), "stillpoint"), ".1")
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		plain := strings.NewReplacer(`\-`, "-", `\e`, `\`).Replace(string(text))
		for line := range strings.Lines(helpOf(t, append(strings.Fields(strings.ReplaceAll(name, "-", " ")), "--help")...)) {
			if flag, is := strings.CutPrefix(strings.TrimSpace(line), "--"); is && strings.HasPrefix(line, "      --") {
				if flag, _, _ = strings.Cut(flag, " "); !strings.Contains(plain, "--"+flag) {
					t.Errorf("%s: has no flag --%s", filepath.Base(page), flag)
				}
			}
		}
		if missing == nil {
			if out, err := exec.Command(groff, "-ww", "-man", "-Tutf8", "-z", page).CombinedOutput(); err != nil || len(out) > 0 {
				t.Errorf("%s: %v: %s", filepath.Base(page), err, out)
			}
		}
	}
}
