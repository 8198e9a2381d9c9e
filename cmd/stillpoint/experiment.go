package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/stillpoint-dp/stillpoint/experiment"
)

type experimentCommand struct {
	Run    experimentRunCommand    `cmd:"" help:"Do the runs of a specification that are missing, and print the tables."`
	Report experimentReportCommand `cmd:"" help:"Write DIR/report.html of the runs there are and print the tables."`
}

// Help returns the text that the help of the command prints below its flags.
func (experimentCommand) Help() string {
	return `Compares algorithms on generated problems: families, dimensions, sizes, budgets
and algorithms with their settings stand in a YAML file. Random bits come from seeds
and the records are made up: nothing here is private, and no certificate is written.`
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
	p := newRunProgress(c.err)
	summary, err := s.Run(ctx, out, experiment.Options{Workers: e.Workers, Progress: p.show})
	p.finish()
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
		return fmt.Errorf("%s: has no finished runs (stillpoint experiment run %s makes them)",
			filepath.Join(out, experiment.RunsFile), e.Spec)
	}
	summary, err := s.Summarize(runs)
	if err != nil {
		return err
	}
	page, err := summary.Study(s.Question, "stillpoint experiment run "+e.Spec+" --out "+out).Page()
	if err != nil {
		return err
	}
	if err := writeFile(filepath.Join(out, "report.html"), []string{e.Spec, filepath.Join(out, experiment.RunsFile)},
		page.Render); err != nil {
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

// runProgress shows how many runs of an experiment are done. On a terminal it draws a bar, elsewhere it
// prints a line every two seconds at most.
type runProgress struct {
	w        io.Writer
	terminal bool
	bar      *progressbar.ProgressBar
	last     time.Time
}

func newRunProgress(w io.Writer) *runProgress {
	w, is := terminal(w)
	return &runProgress{w: w, terminal: is}
}

func (p *runProgress) show(x experiment.Progress) {
	left := ""
	if x.Left > 0 {
		left = fmt.Sprintf("about %v left", x.Left.Round(time.Second))
	}
	if p.terminal {
		if p.bar == nil {
			p.bar = progressbar.NewOptions(x.Of, progressbar.OptionSetWriter(p.w), progressbar.OptionSetWidth(30),
				progressbar.OptionShowCount(), progressbar.OptionSetPredictTime(false), progressbar.OptionClearOnFinish(),
				progressbar.OptionThrottle(50*time.Millisecond))
		}
		p.bar.Describe(left)
		_ = p.bar.Set(x.Done)
		return
	}
	if now := time.Now(); x.Done == x.Of || now.Sub(p.last) >= between {
		p.last = now
		if left != "" {
			left = ", " + left
		}
		fmt.Fprintf(p.w, "%d of %d runs%s\n", x.Done, x.Of, left)
	}
}

func (p *runProgress) finish() {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}
