package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/stillpoint-dp/stillpoint/internal/safetext"
	"github.com/stillpoint-dp/stillpoint/internal/train"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
)

type algorithmsCommand struct {
	Name string `arg:"" optional:"" help:"Only this algorithm, or selected, the output rule."`
}

func (a *algorithmsCommand) Run(ctx context.Context, c *console) error {
	names := append(train.Algorithms(), "selected")
	if a.Name != "" {
		if !slices.Contains(names, a.Name) {
			return fmt.Errorf("algorithm = %q: must be one of %v", a.Name, names)
		}
		names = []string{a.Name}
	}
	taken := make([]func() (string, error), len(names))
	for i, name := range names {
		done := make(chan struct{})
		var text string
		var err error
		go func() {
			defer close(done)
			text, err = lossesOf(ctx, name)
		}()
		taken[i] = func() (string, error) { <-done; return text, err }
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
		text, err := taken[i]()
		if err != nil {
			return err
		}
		if text != "" {
			fmt.Fprint(c.out, safetext.Lines("takes "+text, "  ", 84))
		}
		for _, s := range train.HelpOf(name) {
			fmt.Fprintf(c.out, "  %s: %s\n", s.Key, s.Type)
			fmt.Fprint(c.out, safetext.Lines(s.Doc, "      ", 80))
		}
	}
	return nil
}

// lossesOf says in words which losses an algorithm takes, and "" for the output rule.
func lossesOf(ctx context.Context, name string) (string, error) {
	takes, refuses, err := train.LossesOf(ctx, name)
	switch {
	case err != nil || len(takes)+len(refuses) == 0:
		return "", err
	case len(refuses) == 0:
		return "every loss", nil
	case len(refuses) <= len(takes):
		return "every loss except these: " + strings.Join(refuses, ", "), nil
	}
	return strings.Join(takes, ", "), nil
}

type lossesCommand struct{}

func (lossesCommand) Run(c *console) error {
	yes := map[bool]string{true: "yes", false: "no"}
	_, err := fmt.Fprint(c.out, safetext.Table([]string{"loss", "target", "convex", "corners", "for"},
		vector.Map(train.Losses(), func(l train.LossHelp) []string {
			return []string{l.Text, l.Target, yes[l.Convex], yes[l.Corners], l.Use}
		})))
	return err
}
