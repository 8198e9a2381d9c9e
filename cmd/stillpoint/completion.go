package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/template"

	"github.com/alecthomas/kong"

	"github.com/stillpoint-dp/stillpoint/export"
	"github.com/stillpoint-dp/stillpoint/internal/train"
)

type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"The shell: bash, zsh or fish." placeholder:"SHELL"`
}

// Help returns the text that the help of the command prints below its flags.
func (completionCommand) Help() string {
	return `Prints a script by which a shell completes commands, flags and their values. It is
made from the same declarations as --help, and runs nothing when a key is pressed.

  bash   stillpoint completion bash > ~/.local/share/bash-completion/completions/stillpoint
  zsh    stillpoint completion zsh > DIR/_stillpoint       (DIR is a folder of $fpath)
  fish   stillpoint completion fish > ~/.config/fish/completions/stillpoint.fish`
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
	"plain": func(text string) string { return strings.NewReplacer("'", "’", "\n", " ").Replace(text) },
	"words": func(list []word) string {
		var names []string
		for _, w := range list {
			names = append(names, w.Name)
		}
		return strings.Join(names, " ")
	},
	"options": func(list []option) string {
		var names []string
		for _, o := range list {
			names = append(names, "--"+o.Name)
		}
		return strings.Join(names, " ")
	},
	"last":   func(path string) string { return path[strings.LastIndex(path, " ")+1:] },
	"parent": func(path string) string { return path[:max(strings.LastIndex(path, " "), 0)] },
}).Parse(completionScripts))

// completionScripts are the templates of the scripts, by the names of the shells.
const completionScripts = `{{define "bash"}}# Completion of stillpoint for bash, written by: stillpoint completion bash
_stillpoint() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} at= i
  # Bash divides --flag=value at the sign.
  if [[ $before == "=" ]]; then before=${COMP_WORDS[COMP_CWORD-2]}; elif [[ $word == "=" ]]; then word=; fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$at/${COMP_WORDS[i]}" in
{{- range .}}{{if .Path}}
      "{{parent .Path}}/{{last .Path}}") at="{{.Path}}" ;;{{end}}{{end}}
    esac
  done
  local values= files=
  case "$at/$before" in
{{- range $l := .}}{{range .Flags}}{{if .Values}}
    "{{$l.Path}}/--{{.Name}}") values="{{join .Values}}" ;;{{else if .File}}
    "{{$l.Path}}/--{{.Name}}") files=1 ;;{{else if .Takes}}
    "{{$l.Path}}/--{{.Name}}") return ;;{{end}}{{end}}{{end}}
  esac
  if [[ -n $values ]]; then COMPREPLY=($(compgen -W "$values" -- "$word")); return; fi
  if [[ -z $files ]]; then
    case "$at" in
{{- range .}}
      "{{.Path}}") values="{{words .Subs}} {{join .Args}}"; [[ $word == -* ]] && values="{{options .Flags}}"{{if .File}} || files=1{{end}} ;;
{{- end}}
    esac
    COMPREPLY=($(compgen -W "$values" -- "$word"))
  fi
  if [[ -n $files ]]; then compopt -o filenames 2>/dev/null; COMPREPLY+=($(compgen -f -- "$word")); fi
}
complete -F _stillpoint stillpoint
{{end}}
{{- define "zsh"}}#compdef stillpoint
# Completion of stillpoint for zsh, written by: stillpoint completion zsh
_stillpoint() {
  local at= i
  for ((i = 2; i < CURRENT; i++)); do
    case "$at/$words[i]" in
{{- range .}}{{if .Path}}
      "{{parent .Path}}/{{last .Path}}") at="{{.Path}}" ;;{{end}}{{end}}
    esac
  done
  case "$at" in
{{- range .}}
    "{{.Path}}")
      _arguments -S{{range .Flags}} \
        '--{{.Name}}{{if .Takes}}={{end}}[{{single .Help}}]{{if .Values}}:value:({{join .Values}}){{else if .File}}:file:_files{{else if .Takes}}:value: {{end}}'
{{- end}}{{if .Subs}} \
        '*:command:(({{range .Subs}}{{.Name}}\:"{{single .Help}}" {{end}}))'{{else if .Args}} \
        '*:value:({{join .Args}})'{{else if .File}} \
        '*:file:_files'{{end}} ;;
{{- end}}
  esac
}
if [[ $funcstack[1] == _stillpoint ]]; then _stillpoint "$@"; else compdef _stillpoint stillpoint; fi
{{end}}
{{- define "fish"}}# Completion of stillpoint for fish, written by: stillpoint completion fish
complete -c stillpoint -f
{{- range $l := .}}{{$at := "__fish_use_subcommand"}}{{if .Path}}{{$at = printf "__fish_seen_subcommand_from %s" (last .Path)}}{{end}}
{{- range .Subs}}
complete -c stillpoint -n '{{$at}}{{if $l.Path}}; and not __fish_seen_subcommand_from {{words $l.Subs}}{{end}}' -a '{{.Name}}' -d '{{plain .Help}}'
{{- end}}{{if .Args}}
complete -c stillpoint -n '{{$at}}' -a '{{join .Args}}'{{end}}{{if .File}}
complete -c stillpoint -n '{{$at}}' -F{{end}}
{{- range .Flags}}
complete -c stillpoint -n '{{$at}}' -l {{.Name}}{{with .Short}} -s {{.}}{{end}}{{if .Values}} -x -a '{{join .Values}}'{{else if .File}} -r -F{{else if .Takes}} -x{{end}} -d '{{plain .Help}}'
{{- end}}{{end}}
{{end}}`

type manCommand struct {
	Out string `help:"Write a page for each command into this folder: DIR/stillpoint.1, DIR/stillpoint-fit.1, ..." placeholder:"DIR"`

	Name []string `arg:"" optional:"" help:"The command, such as fit or budget show; without it the page of stillpoint itself." placeholder:"COMMAND"`
}

// Help returns the text that the help of the command prints below its flags.
func (manCommand) Help() string {
	return `Prints the manual page of a command, in roff. Manual pages are made from the same
declarations as --help.

  stillpoint man fit | man -l -
  stillpoint man --out ~/.local/share/man/man1`
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
	_, err := fmt.Fprint(c.out, manual(k.Model, n))
	return err
}
