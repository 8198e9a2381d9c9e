package main

import (
	"cmp"
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/alecthomas/kong"
)

// manuals writes the manual page of every command that is shown into a folder, which it makes.
func manuals(model *kong.Application, folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	var write func(n *kong.Node) error
	write = func(n *kong.Node) error {
		if err := os.WriteFile(filepath.Join(folder, titled(n)+".1"), []byte(manual(n)), 0o644); err != nil {
			return err
		}
		for _, sub := range n.Children {
			if !sub.Hidden {
				if err := write(sub); err != nil {
					return err
				}
			}
		}
		return nil
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
func manual(n *kong.Node) string {
	var b strings.Builder
	words := strings.ReplaceAll(titled(n), "-", " ")
	help, detail := n.Help, n.Detail
	if n.Parent == nil { // the description of the program has its summary in the first line
		help, detail, _ = strings.Cut(n.Help, "\n")
	}
	fmt.Fprintf(&b, ".TH %s 1 \"\" \"%s\" \"Stillpoint\"\n", strings.ToUpper(titled(n)), roff(software()))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(titled(n)), roff(strings.TrimSuffix(help, ".")))
	synopsis := words
	for _, p := range n.Positional {
		synopsis += " " + p.Summary()
	}
	if len(n.Children) > 0 {
		synopsis += " <command>"
	}
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n[flags]\n", roff(synopsis))
	if detail = strings.Trim(detail, "\n"); detail != "" {
		fmt.Fprintf(&b, ".SH DESCRIPTION\n.nf\n%s\n.fi\n", roff(detail))
	}
	if len(n.Positional) > 0 {
		b.WriteString(".SH ARGUMENTS\n")
		for _, p := range n.Positional {
			fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(p.Summary()), roff(p.Help))
		}
	}
	if len(n.Children) > 0 {
		b.WriteString(".SH COMMANDS\n")
		for _, sub := range n.Children {
			if !sub.Hidden {
				fmt.Fprintf(&b, ".TP\n.BR %s (1)\n%s\n", roff(titled(sub)), roff(sub.Help))
			}
		}
	}
	b.WriteString(".SH FLAGS\n")
	for _, group := range n.AllFlags(true) {
		for _, f := range group {
			name := "--" + f.Name
			if f.Short != 0 {
				name = "-" + string(f.Short) + ", " + name
			}
			if !f.IsBool() && !f.IsCounter() {
				name += "=" + cmp.Or(f.FormatPlaceHolder(), strings.ToUpper(f.Name))
			}
			fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(name), roff(f.Help))
		}
	}
	return b.String()
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
