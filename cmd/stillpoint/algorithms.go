package main

import (
	"fmt"
	"slices"

	"github.com/stillpoint-dp/stillpoint/internal/safetext"
	"github.com/stillpoint-dp/stillpoint/internal/train"
)

type algorithmsCommand struct {
	Name string `arg:"" optional:"" help:"Only this algorithm, or selected, the output rule."`
}

// Help returns the text that the help of the command prints below its flags.
func (algorithmsCommand) Help() string {
	return `Lists the values of train.algorithm and, for each, its settings, which stand beside it
under train: in a configuration, with meaning and rule. A setting that is left out
follows its rule. Steps are counted, shares lie in (0, 1], and norms are after scaling,
where rows have norm at most 1. L0 bounds the norm of a record's gradient, L1 its
smoothness, F0 the initial gap; N is the effective number of records.`
}

func (a *algorithmsCommand) Run(c *console) error {
	names := append(train.Algorithms(), "selected")
	if a.Name != "" {
		if !slices.Contains(names, a.Name) {
			return fmt.Errorf("algorithm = %q: must be one of %v", a.Name, names)
		}
		names = []string{a.Name}
	}
	for i, name := range names {
		if i > 0 {
			fmt.Fprintln(c.out)
		}
		title := name
		if name == "selected" {
			title = "selected (output: selected, beside any algorithm but auto)"
		}
		fmt.Fprintln(c.out, title)
		for _, s := range train.HelpOf(name) {
			fmt.Fprintf(c.out, "  %s: %s\n", s.Key, s.Type)
			fmt.Fprint(c.out, safetext.Lines(s.Doc, "      ", 80))
		}
	}
	return nil
}
