package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	pythonSources = "../../python/src/stillpoint"
	rSources      = "../../r"
)

// pythonPage returns the page of the reference with the names that the Python package exports, made from
// their signatures and docstrings.
func pythonPage(t *testing.T) string {
	t.Helper()
	var p strings.Builder
	p.WriteString("# Python, name by name\n\n" + generatedLine +
		"From the docstrings in `python/src/stillpoint`. [Stillpoint for Python](../../python/README.md) says how they are used.\n")
	for _, name := range pythonExports(t) {
		places := 0
		for _, file := range pythonFiles(t) {
			if d, found := pythonDefinition(readSource(t, filepath.Join(pythonSources, file)), name, ""); found {
				d.write(&p, "## stillpoint."+name)
				places++
			}
		}
		if places != 1 {
			t.Errorf("__init__.py exports %s, which is defined in %d places", name, places)
		}
	}
	for _, file := range []string{"dask", "spark"} {
		text := readSource(t, filepath.Join(pythonSources, file+".py"))
		d, found := pythonDefinition(text, "fit", "")
		if !found {
			t.Fatalf("%s.py has no fit", file)
		}
		d.write(&p, "## stillpoint."+file+".fit")
	}
	return p.String()
}

// pythonExports returns the names in __all__ of the package.
func pythonExports(t *testing.T) []string {
	t.Helper()
	all := regexp.MustCompile(`(?s)__all__ = \[(.*?)\]`).FindStringSubmatch(readSource(t, filepath.Join(pythonSources, "__init__.py")))
	if all == nil {
		t.Fatal("__init__.py has no __all__")
	}
	var names []string
	for _, m := range regexp.MustCompile(`"(\w+)"`).FindAllStringSubmatch(all[1], -1) {
		names = append(names, m[1])
	}
	return names
}

// pythonFiles returns the package's private files, which define what it exports.
func pythonFiles(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(pythonSources, "_[a-z]*.py"))
	if err != nil || len(found) == 0 {
		t.Fatal(err, "no files")
	}
	for i, f := range found {
		found[i] = filepath.Base(f)
	}
	return found
}

func readSource(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// definition is a function or a class of Python: its first line or lines, its docstring, and of a class
// the public methods.
type definition struct {
	signature, doc string
	methods        []definition
}

var (
	pythonField = regexp.MustCompile("``([^`]+)``")
	pythonRole  = regexp.MustCompile(":\\w+:`~?([^`]+)`")
	pythonBase  = regexp.MustCompile(`\b_[A-Z]\w*`)
	pythonDef   = regexp.MustCompile(`(?m)^    def ([a-z]\w*)\(`)
)

// pythonDefinition finds the definition of a name with the given indentation in a Python source. It returns
// false if there is none.
func pythonDefinition(text, name, indent string) (definition, bool) {
	at := regexp.MustCompile(`(?m)^` + indent + `(?:def|class) ` + name + `\b`).FindStringIndex(text)
	if at == nil {
		return definition{}, false
	}
	head, rest := splitHead(text[at[0]:])
	d := definition{signature: strings.TrimSpace(head), doc: docstring(rest, indent+"    ")}
	if class, is := strings.CutPrefix(d.signature, "class "); is {
		d.signature = class
		body := regexp.MustCompile(`(?m)^\S`).Split(rest, 2)[0]
		if init, found := pythonDefinition(body, "__init__", "    "); found {
			arguments := strings.TrimPrefix(init.signature, "__init__(self, ")
			d.signature = name + "(" + strings.Replace(arguments, ", **refused", "", 1)
		}
		for _, m := range pythonDef.FindAllStringSubmatch(body, -1) {
			if method, found := pythonDefinition(body, m[1], "    "); found && method.doc != "" {
				d.methods = append(d.methods, method)
			}
		}
		if base := pythonBase.FindString(class); base != "" && base != name { // what it has of a private class of the same file
			inherited, _ := pythonDefinition(text, base, "")
			d.methods = append(d.methods, inherited.methods...)
		}
	}
	d.signature = strings.TrimSuffix(strings.TrimPrefix(d.signature, "def "), ":")
	return d, true
}

// splitHead divides a Python definition into its head, up to the colon that ends it, and the rest. It joins
// the lines of the head.
func splitHead(text string) (head, rest string) {
	depth := 0
	for i, c := range text {
		switch {
		case strings.ContainsRune("([{", c):
			depth++
		case strings.ContainsRune(")]}", c):
			depth--
		case c == ':' && depth == 0:
			head = regexp.MustCompile(`\s+`).ReplaceAllString(text[:i+1], " ")
			head = strings.NewReplacer("( ", "(", ", )", ")").Replace(head)
			return head, text[i+1:]
		}
	}
	return text, ""
}

// docstring returns the docstring at the beginning of a Python body, without its quotation marks and
// indentation.
func docstring(body, indent string) string {
	text, is := strings.CutPrefix(strings.TrimLeft(body, " \n"), `"""`)
	if !is {
		return ""
	}
	text, _, _ = strings.Cut(text, `"""`)
	text = strings.ReplaceAll(strings.TrimSpace(text), "\n"+indent, "\n")
	return pythonRole.ReplaceAllString(pythonField.ReplaceAllString(text, "$1"), "$1")
}

// write writes the definition under a heading.
func (d definition) write(p *strings.Builder, heading string) {
	fmt.Fprintf(p, "\n%s\n\n```text\n%s\n\n%s\n```\n", heading, folded(d.signature), d.doc)
	for _, m := range d.methods {
		fmt.Fprintf(p, "\n#%s\n\n```text\n%s\n\n%s\n```\n", heading+"."+m.name(), folded(m.signature), m.doc)
	}
}

func (d definition) name() string {
	name, _, _ := strings.Cut(d.signature, "(")
	return name
}

// folded breaks a signature between its arguments into lines of at most 100 bytes, unless one argument is
// longer.
func folded(signature string) string {
	var lines []string
	line := ""
	for i, part := range strings.SplitAfter(signature, ", ") {
		if i > 0 && len(line)+len(part) > 100 {
			lines, line = append(lines, strings.TrimRight(line, " ")), "    "
		}
		line += part
	}
	return strings.Join(append(lines, line), "\n")
}

// rPage returns the page of the reference with the topics of the R package's help, made from the files in
// r/man. Every name that the package exports must be in one of them.
func rPage(t *testing.T) string {
	t.Helper()
	var p strings.Builder
	p.WriteString("# R, name by name\n\n" + generatedLine +
		"From the help pages in `r/man`. The package's vignette, `vignette(\"stillpoint\")`, goes through a fit.\n")
	pages, err := filepath.Glob(filepath.Join(rSources, "man", "*.Rd"))
	if err != nil || len(pages) == 0 {
		t.Fatal(err, "no pages")
	}
	var aliases []string
	for _, path := range pages {
		page := readSource(t, path)
		for _, alias := range rParts(page, "alias") {
			aliases = append(aliases, alias[0])
		}
		fmt.Fprintf(&p, "\n## %s\n\n%s\n", rParts(page, "title")[0][0], rText(rParts(page, "description")[0][0]))
		fmt.Fprintf(&p, "\n```text\n%s\n```\n\n", rUsage(rParts(page, "usage")[0][0]))
		if arguments := rParts(page, "arguments"); len(arguments) > 0 {
			p.WriteString("| argument | |\n|---|---|\n")
			for _, item := range rParts(arguments[0][0], "item") {
				text := strings.ReplaceAll(strings.ReplaceAll(rText(item[1]), "\n", " "), "|", "\\|")
				fmt.Fprintf(&p, "| `%s` | %s |\n", strings.ReplaceAll(item[0], `\dots`, "..."), text)
			}
			p.WriteString("\n")
		}
		for _, part := range [][2]string{{"details", ""}, {"value", "**Result.** "}} {
			for _, text := range rParts(page, part[0]) {
				p.WriteString(part[1] + rText(text[0]) + "\n\n")
			}
		}
		for _, section := range rParts(page, "section") {
			fmt.Fprintf(&p, "**%s.** %s\n\n", section[0], rText(section[1]))
		}
	}
	exports := regexp.MustCompile(`(?m)^export\((.*)\)$`).FindStringSubmatch(readSource(t, filepath.Join(rSources, "NAMESPACE")))
	for _, name := range strings.Split(exports[1], ", ") {
		if !slices.Contains(aliases, name) {
			t.Errorf("r/NAMESPACE exports %s, which no page in r/man has as an alias", name)
		}
	}
	return regexp.MustCompile(`\n{3,}`).ReplaceAllString(strings.TrimRight(p.String(), "\n")+"\n", "\n\n")
}

// rParts returns the arguments of each macro with the given name in a text of R's help. It finds no macros
// inside the arguments of another one of that name.
func rParts(text, macro string) (parts [][]string) {
	for {
		_, after, found := strings.Cut(text, `\`+macro+"{")
		if !found {
			return parts
		}
		var arguments []string
		rest := "{" + after
		for strings.HasPrefix(rest, "{") {
			end := braced(rest)
			arguments = append(arguments, strings.TrimSpace(rest[1:end]))
			rest = rest[end+1:]
		}
		parts, text = append(parts, arguments), rest
	}
}

// braced returns the byte index of the brace that closes the first brace of a text.
func braced(text string) int {
	depth := 0
	for i, c := range text {
		if c == '{' {
			depth++
		}
		if c == '}' {
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return len(text) - 1
}

var (
	rLink   = regexp.MustCompile(`\\link\{([^{}]*)\}`)
	rCode   = regexp.MustCompile(`\\code\{([^{}]*)\}`)
	rMethod = regexp.MustCompile(`\\method\{([\w.]+)\}\{\w+\}`)
	rBold   = regexp.MustCompile(`\\bold\{([^{}]*)\}`)
)

func rText(text string) string {
	return rBold.ReplaceAllString(rCode.ReplaceAllString(rLink.ReplaceAllString(text, "$1"), "`$1`"), "**$1**")
}

// rUsage returns the usage lines of functions and methods. Methods are shown as calls of their generic
// function.
func rUsage(text string) string {
	return strings.ReplaceAll(rMethod.ReplaceAllString(text, "$1"), `\dots`, "...")
}
