package main

import (
	"embed"
	"strings"

	"github.com/alecthomas/kong"
)

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
