package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/stillpoint-dp/stillpoint/internal/durable"
	"github.com/stillpoint-dp/stillpoint/lab/experiment"
)

type experimentCommand struct {
	Run    experimentRunCommand    `cmd:"" help:"Run what a specification lacks and print the tables."`
	Report experimentReportCommand `cmd:"" help:"Write DIR/report.html of the runs there are and print the tables."`
}

// Help returns the text that the help of the command prints below its flags.
func (experimentCommand) Help() string {
	return `Compares algorithms on generated problems: families, dimensions, sizes, budgets
and algorithms with their settings stand in a YAML file. Coins are seeded and the
records made up: nothing here is private, and no certificate comes of it.`
}

type experimentFlags struct {
	Spec string `arg:"" help:"Specification (YAML): families, sizes, budgets, algorithms, seeds." placeholder:"SPEC"`
	Out  string `help:"Folder of the runs. NAME-runs in the current folder if not given." placeholder:"DIR"`
}

// read reads the experiment's specification that the flags name. It also returns the folder for the runs.
func (f experimentFlags) read() (*experiment.Spec, string, error) {
	s, err := experiment.ReadSpec(f.Spec)
	if err != nil {
		return nil, "", err
	}
	if f.Out == "" {
		name := filepath.Base(f.Spec)
		f.Out = strings.TrimSuffix(name, filepath.Ext(name)) + "-runs"
	}
	return s, f.Out, nil
}

type experimentRunCommand struct {
	experimentFlags
	Workers int  `help:"Runs at a time. The specification's, or one a core, if not given." placeholder:"N"`
	JSON    bool `help:"Print JSON." name:"json"`
}

// Help returns the text that the help of the command prints below its flags.
func (experimentRunCommand) Help() string {
	return `Appends a line to DIR/runs.jsonl for each finished run. Ctrl-C, a crash or kill
loses the runs under way and nothing else: the same command goes on from there.
Each line holds the run's whole configuration and repeats from it.`
}

func (e *experimentRunCommand) Run(ctx context.Context, c *console) error {
	s, out, err := e.read()
	if err != nil {
		return err
	}
	if e.Workers < 0 {
		return fmt.Errorf("--workers = %d: must be >= 1", e.Workers)
	}
	p := &runProgress{w: c.err}
	summary, err := s.Run(ctx, out, experiment.Options{Workers: e.Workers, Progress: p.show})
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("interrupted: finished runs are in %s, and the same command goes on from there: %w",
			filepath.Join(out, experiment.RunsFile), err)
	}
	if err != nil {
		return err
	}
	return printSummary(c.out, summary, e.JSON)
}

type experimentReportCommand struct {
	experimentFlags
	JSON bool `help:"Print JSON." name:"json"`
}

func (e *experimentReportCommand) Run(c *console) error {
	s, out, err := e.read()
	if err != nil {
		return err
	}
	runs, err := experiment.ReadFinished(out)
	if err != nil {
		return err
	}
	if len(runs) == 0 {
		return fmt.Errorf("%s: has no finished runs (lab experiment run %s makes them)",
			filepath.Join(out, experiment.RunsFile), e.Spec)
	}
	summary, err := s.Summarize(runs)
	if err != nil {
		return err
	}
	page, err := summary.Study(s.Question, "lab experiment run "+e.Spec+" --out "+out).Page()
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := page.Render(&b); err != nil {
		return err
	}
	if err := durable.WriteFile(filepath.Join(out, "report.html"), b.Bytes()); err != nil {
		return err
	}
	return printSummary(c.out, summary, e.JSON)
}

func printSummary(w io.Writer, s experiment.Summary, asJSON bool) error {
	if !asJSON {
		return s.WriteMarkdown(w)
	}
	return printJSON(w, s)
}

// between is the least time between two printed lines of progress.
const between = 2 * time.Second

// runProgress prints how many runs of an experiment are done, a line every two seconds at most.
type runProgress struct {
	w    io.Writer
	last time.Time
}

func (p *runProgress) show(x experiment.Progress) {
	now := time.Now()
	if x.Done != x.Of && now.Sub(p.last) < between {
		return
	}
	p.last = now
	left := ""
	if x.Left > 0 {
		left = fmt.Sprintf(", about %v left", x.Left.Round(time.Second))
	}
	fmt.Fprintf(p.w, "%d of %d runs%s\n", x.Done, x.Of, left)
}
