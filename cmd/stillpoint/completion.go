package main

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"github.com/alecthomas/kong"

	"github.com/stillpoint-dp/stillpoint/export"
	"github.com/stillpoint-dp/stillpoint/internal/train"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
)

type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"The shell: bash, zsh or fish." placeholder:"SHELL"`
}

func (s completionCommand) Run(k *kong.Context, c *console) error {
	return completions.ExecuteTemplate(c.out, s.Shell, levels(k.Model))
}

// level is a command as a completion script needs it.
type level struct {
	Path  string // the words of the command, without the program's name
	Subs  []word
	Flags []option
	// Args are the values that the positional arguments may have; File is true if one is a file.
	Args []string
	File bool
}

type word struct{ Name, Help string }

// option is a flag. Takes is true if a value follows, Values are its values if they can be listed, and File is true
// if the value is the name of a file or folder.
type option struct {
	word
	Short  string
	Takes  bool
	Values []string
	File   bool
}

// levels lists all commands that are shown, parents before their commands.
func levels(model *kong.Application) (all []level) {
	var add func(n *kong.Node, path []string)
	add = func(n *kong.Node, path []string) {
		l := level{Path: strings.Join(path, " ")}
		for _, group := range n.AllFlags(true) {
			for _, f := range group {
				o := option{word: word{f.Name, sentence(f.Help)}, Takes: !f.IsBool() && !f.IsCounter()}
				if f.Short != 0 {
					o.Short = string(f.Short)
				}
				if o.Takes {
					o.Values, o.File = valuesOf(f.Value, f.PlaceHolder)
				}
				l.Flags = append(l.Flags, o)
			}
		}
		slices.SortFunc(l.Flags, func(a, b option) int { return cmp.Compare(a.Name, b.Name) })
		for _, p := range n.Positional {
			values, file := valuesOf(p, p.Tag.PlaceHolder)
			l.Args, l.File = append(l.Args, values...), l.File || file
		}
		for _, sub := range n.Children {
			if !sub.Hidden {
				l.Subs = append(l.Subs, word{sub.Name, sentence(sub.Help)})
			}
		}
		all = append(all, l)
		for _, sub := range n.Children {
			if !sub.Hidden {
				add(sub, append(slices.Clone(path), sub.Name))
			}
		}
	}
	add(model.Node, nil)
	return all
}

// fileWords are the placeholders of values that are files or folders.
var fileWords = []string{"FILE", "DIR", "CONFIG", "DATA", "MODEL", "CERTIFICATE", "FOLDER", "DIR,...", "EVENTS", "KEY"}

// valuesOf returns the values of a flag or an argument that can be listed, and whether it is a file.
func valuesOf(v *kong.Value, placeholder string) (values []string, file bool) {
	switch {
	case v.Enum != "":
		return v.EnumSlice(), false
	case v.Name == "algorithm" || v.Name == "name" && strings.Contains(v.Help, "algorithm"):
		return train.Algorithms(), false
	case v.Name == "sql":
		return export.Dialects(), false
	}
	return nil, slices.Contains(fileWords, cmp.Or(placeholder, strings.ToUpper(v.Name)))
}

// sentence returns the first sentence of a text, without its full stop.
func sentence(text string) string {
	first, _, _ := strings.Cut(text, ". ")
	return strings.TrimSuffix(strings.TrimSpace(first), ".")
}

// single returns a text for single quotes of a shell, in which zsh's marks of a description are not special.
func single(text string) string {
	return strings.NewReplacer("'", "’", "[", "(", "]", ")", ":", "\\:", "\n", " ").Replace(text)
}

var completions = template.Must(template.New("").Funcs(template.FuncMap{
	"single": single, "join": func(list []string) string { return strings.Join(list, " ") },
	"roff": roff, "title": titled, "flag": flagged, "upper": strings.ToUpper, "software": software,
	"command": func(n *kong.Node) string { return strings.ReplaceAll(titled(n), "-", " ") },
	"plain":   func(text string) string { return strings.NewReplacer("'", "’", "\n", " ").Replace(text) },
	"words": func(list []word) string {
		return strings.Join(vector.Map(list, func(w word) string { return w.Name }), " ")
	},
	"options": func(list []option) string {
		return strings.Join(vector.Map(list, func(o option) string { return "--" + o.Name }), " ")
	},
	"last":   func(path string) string { return path[strings.LastIndex(path, " ")+1:] },
	"parent": func(path string) string { return path[:max(strings.LastIndex(path, " "), 0)] },
}).Parse(completionScripts))

// completionScripts are the templates of the scripts, by the names of the shells.
//
//go:embed completion.tmpl
var completionScripts string

type manCommand struct {
	Out string `help:"Write a page for each command into this folder: DIR/stillpoint.1, DIR/stillpoint-fit.1, ..." placeholder:"DIR"`

	Name []string `arg:"" optional:"" help:"The command, such as fit or budget show; without it the page of stillpoint itself." placeholder:"COMMAND"`
}

func (m manCommand) Run(k *kong.Context, c *console) error {
	if m.Out != "" {
		if len(m.Name) > 0 {
			return errors.New("--out: writes the pages of all commands: must be given without a command")
		}
		return manuals(k.Model, m.Out)
	}
	n := k.Model.Node
	for _, name := range m.Name {
		i := slices.IndexFunc(n.Children, func(sub *kong.Node) bool { return sub.Name == name && !sub.Hidden })
		if i < 0 {
			return fmt.Errorf("command = %q: must be a command of %s", name, n.Name)
		}
		n = n.Children[i]
	}
	text, err := manual(n)
	if err == nil {
		_, err = fmt.Fprint(c.out, text)
	}
	return err
}

// manuals writes the manual page of every command that is shown into a folder, which it makes.
func manuals(model *kong.Application, folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	var write func(n *kong.Node) error
	write = func(n *kong.Node) error {
		text, err := manual(n)
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, titled(n)+".1"), []byte(text), 0o644)
		}
		for _, sub := range n.Children {
			if err == nil && !sub.Hidden {
				err = write(sub)
			}
		}
		return err
	}
	return write(model.Node)
}

// titled returns the name of a command's page: the words of the command, joined by hyphens.
func titled(n *kong.Node) string {
	if n.Parent == nil {
		return n.Name
	}
	return titled(n.Parent) + "-" + n.Name
}

// manual returns the manual page of a command, in the macros of man(7).
func manual(n *kong.Node) (string, error) {
	page := struct {
		*kong.Node
		Summary, About string
	}{n, n.Help, n.Detail}
	if n.Parent == nil { // the description of the program has its summary in the first line
		page.Summary, page.About, _ = strings.Cut(n.Help, "\n")
	}
	page.Summary, page.About = strings.TrimSuffix(page.Summary, "."), strings.Trim(page.About, "\n")
	var b strings.Builder
	err := completions.ExecuteTemplate(&b, "man", page)
	return b.String(), err
}

// flagged returns a flag as manual pages name it.
func flagged(f *kong.Flag) string {
	name := "--" + f.Name
	if f.Short != 0 {
		name = "-" + string(f.Short) + ", " + name
	}
	if !f.IsBool() && !f.IsCounter() {
		name += "=" + cmp.Or(f.FormatPlaceHolder(), strings.ToUpper(f.Name))
	}
	return name
}

// roff escapes a text for roff: backslashes, hyphens, and points and apostrophes at the beginning of a line.
func roff(text string) string {
	lines := strings.Split(strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}

// helpTexts has the text that the help of a command prints below its flags, in a file with the name of the command's
// manual page. stillpoint.txt describes the program.
//
//go:embed help
var helpTexts embed.FS

// detail returns the text for the manual page of the given name, or "" if the command's one line of help says all.
func detail(page string) string {
	text, _ := helpTexts.ReadFile("help/" + page + ".txt")
	return strings.TrimSuffix(string(text), "\n")
}

// parserOf returns the parser of command lines, with the help of all commands.
func parserOf(cmd *commands, options ...kong.Option) (*kong.Kong, error) {
	parser, err := kong.New(cmd, append(options, kong.Name("stillpoint"), kong.Description(detail("stillpoint")),
		kong.Vars{"version": versionLine()})...)
	if err == nil {
		explain(parser.Model.Node)
	}
	return parser, err
}

// explain gives all commands below n the texts of their help.
func explain(n *kong.Node) {
	for _, sub := range n.Children {
		sub.Detail = detail(titled(sub))
		explain(sub)
	}
}
