package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// binding matches, in a line of Python or R, a text that a defect replaces, and its replacement.
var binding = []struct {
	kind string
	old  *regexp.Regexp
	new  string
}{
	{"operator", regexp.MustCompile(` \+ `), " - "},
	{"operator", regexp.MustCompile(` - `), " + "},
	{"operator", regexp.MustCompile(` \* `), " / "},
	{"operator", regexp.MustCompile(` / `), " * "},
	{"operator", regexp.MustCompile(` == `), " != "},
	{"operator", regexp.MustCompile(` != `), " == "},
	{"operator", regexp.MustCompile(` < `), " >= "},
	{"operator", regexp.MustCompile(` > `), " <= "},
	{"operator", regexp.MustCompile(` and `), " or "},
	{"operator", regexp.MustCompile(` or `), " and "},
	{"operator", regexp.MustCompile(` && `), " || "},
	{"operator", regexp.MustCompile(` \|\| `), " && "},
	{"condition inverted", regexp.MustCompile(`\bif not `), "if "},
	{"condition inverted", regexp.MustCompile(` is not None`), " is None"},
	{"condition inverted", regexp.MustCompile(` is None`), " is not None"},
	{"condition inverted", regexp.MustCompile(` not in `), " in "},
	{"condition inverted", regexp.MustCompile(`\bif \(!`), "if ("},
	{"condition inverted", regexp.MustCompile(`\bis\.null\(`), "!is.null("},
	{"truth", regexp.MustCompile(`\bTrue\b`), "False"},
	{"truth", regexp.MustCompile(`\bFalse\b`), "True"},
	{"truth", regexp.MustCompile(`\bTRUE\b`), "FALSE"},
	{"truth", regexp.MustCompile(`\bFALSE\b`), "TRUE"},
	{"constant", regexp.MustCompile(`([ (\[{=])0\b([^.\w])`), "${1}1${2}"},
	{"constant", regexp.MustCompile(`([ (\[{=])1\b([^.\w])`), "${1}2${2}"},
	{"constant", regexp.MustCompile(`([ (\[{=])2\b([^.\w])`), "${1}3${2}"},
	{"constant", regexp.MustCompile(`\.4g\b`), ".2g"},
	{"off by one", regexp.MustCompile(`\[-1\]`), "[0]"},
	{"off by one", regexp.MustCompile(`\[0\]`), "[-1]"},
	{"off by one", regexp.MustCompile(`\bseq_along\(`), "-1 + seq_along("},
	{"key", regexp.MustCompile(`(\[|\.get\(|\$)"?low"?(\]|\)|\b)`), `${1}"high"${2}`},
	{"key", regexp.MustCompile(`"estimate"`), `"low"`},
	{"key", regexp.MustCompile(`"epsilon"`), `"delta"`},
	{"key", regexp.MustCompile(`"value"`), `"noise_sd"`},
	{"statement dropped", regexp.MustCompile(`^( +)[\w.]+\(.*\)$`), "${1}pass"},
}

// bindings lists defects of the bindings for Python and R, line by line: comments and the texts that document a
// function are left out.
func (s *source) bindings() (list []site, err error) {
	for _, pattern := range []string{"python/src/stillpoint/*.py", "r/R/*.R"} {
		files, err := filepath.Glob(filepath.Join(s.root, pattern))
		if err != nil {
			return nil, err
		}
		for _, path := range files {
			file, err := filepath.Rel(s.root, path)
			if err != nil {
				return nil, err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			s.text[file] = text
			list = append(list, linesOf(file, string(text))...)
		}
	}
	return list, nil
}

var defines = regexp.MustCompile(`^ *(?:def|class) +(\w+)|^([\w.]+) *<- *function`)

func linesOf(file, text string) (list []site) {
	at, number, documents, function := 0, 0, false, "-"
	r := strings.HasSuffix(file, ".R")
	for line := range strings.Lines(text) {
		start := at
		at += len(line)
		number++
		line = strings.TrimRight(line, "\n")
		if m := defines.FindStringSubmatch(line); m != nil {
			function = m[1] + m[2]
		}
		if quotes := strings.Count(line, `"""`); quotes > 0 {
			documents = documents != (quotes%2 == 1)
			continue
		}
		trimmed := strings.TrimSpace(line)
		if documents || strings.HasPrefix(trimmed, "#") || strings.HasPrefix(trimmed, "stop(") ||
			strings.HasPrefix(trimmed, "raise ") || strings.HasPrefix(trimmed, "import ") || strings.HasPrefix(trimmed, "from ") {
			continue
		}
		for _, b := range binding {
			if r && b.kind == "statement dropped" {
				continue
			}
			for _, m := range b.old.FindAllStringSubmatchIndex(line, -1) {
				to := string(b.old.ExpandString(nil, b.new, line, m))
				if strings.Count(line[:m[0]], `"`)%2 == 1 && b.kind != "key" { // inside of a text
					continue
				}
				list = append(list, site{file: file, folder: filepath.Dir(file), function: function, line: number, kind: b.kind,
					edits: []edit{{start + m[0], start + m[1], to}}})
			}
		}
	}
	return list
}
