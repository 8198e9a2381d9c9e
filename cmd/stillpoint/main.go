// Command stillpoint trains models on sensitive tables under differential privacy, and verifies the
// certificates that it writes.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"slices"

	"github.com/alecthomas/kong"
	"golang.org/x/term"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/budget"
	"github.com/stillpoint-dp/stillpoint/certificate"
	"github.com/stillpoint-dp/stillpoint/internal/crashsafe"
	"github.com/stillpoint-dp/stillpoint/internal/safetext"
	"github.com/stillpoint-dp/stillpoint/internal/sshsig"
	"github.com/stillpoint-dp/stillpoint/internal/train"
)

//go:generate go test . -run ^Test(Reference|EditorSchema)IsFresh$ -rewrite

// Exit codes of the command. The help and docs/reference/exit-codes.md document them.
const (
	exitFailed      = 1   // a fault in the input, such as a configuration, a table or a file; the message names it
	exitUsage       = 2   // the command line is wrong
	exitOverBudget  = 3   // the budget does not cover what was asked
	exitRefused     = 4   // a certificate or model does not verify
	exitSystem      = 5   // a fault of the system, such as a full disk or a missing permission
	exitInterrupted = 130 // interrupted by Ctrl-C; the model reached so far is saved
	exitFault       = 134 // a fault in the program (128 + SIGABRT)
)

type commands struct {
	Progress string `help:"Form of progress and errors on standard error: text, or json with an object in each line." enum:"text,json" default:"text" placeholder:"text|json"`
	// About is --version, which prints the same line as the command version.
	About kong.VersionFlag `name:"version" help:"Print the version and end."`

	Describe     describeCommand     `cmd:"" help:"Describe a table by private counts, quantiles and means; bounds for a fit follow from them."`
	Fit          fitCommand          `cmd:"" help:"Train a model: writes model.json, certificate.json and ledger.jsonl."`
	Shard        shardCommand        `cmd:"" help:"Hold one partition of a table for a fit that runs elsewhere."`
	Recover      recoverCommand      `cmd:"" help:"Save model and certificate of a fit that was killed, from its journal."`
	Plan         planCommand         `cmd:"" help:"Show the algorithm, the time and the expected quality of a fit. It reads no row, but may count rows."`
	Predict      predictCommand      `cmd:"" help:"Score the rows of a table with a model."`
	Export       exportCommand       `cmd:"" help:"Write a model as an ONNX graph or a database query."`
	Evaluate     evaluateCommand     `cmd:"" help:"Measure a model on a table. NOT private: computed directly from the rows."`
	Report       reportCommand       `cmd:"" help:"Describe a fit in a page of HTML, from its released numbers."`
	Coefficients coefficientsCommand `cmd:"" help:"Print the coefficients of a linear model in the table's units, with the privacy noise in each."`
	Contrast     contrastCommand     `cmd:"" help:"Print a difference of coefficients with its confidence interval."`
	Means        meansCommand        `cmd:"" help:"Print adjusted means and average effects over a public population."`
	Ledger       ledgerCommand       `cmd:"" help:"Print the cost of all fits in output folders together."`
	Budget       budgetCommand       `cmd:"" help:"Keep caps on all releases of a dataset, in a store of budgets."`
	Verify       verifyCommand       `cmd:"" help:"Recompute a certificate's guarantee without the data."`
	Certificate  certificateCommand  `cmd:"" help:"Sign a certificate with an SSH key, or verify the signature of one."`
	Account      accountCommand      `cmd:"" help:"Compute the privacy cost of a sequence of releases, without data."`
	Audit        movedCommand        `cmd:"" hidden:"" passthrough:""`
	Experiment   movedCommand        `cmd:"" hidden:"" passthrough:""`
	Algorithms   algorithmsCommand   `cmd:"" help:"List the algorithms and their settings."`
	Losses       lossesCommand       `cmd:"" help:"List the losses by task."`
	Check        checkCommand        `cmd:"" help:"Count the cells of a table that a configuration cannot read. NOT private: computed directly from the rows."`
	Schema       schemaCommand       `cmd:"" help:"Draft a configuration from a table's header alone."`
	Completion   completionCommand   `cmd:"" help:"Print a script that completes commands and flags in a shell."`
	Man          manCommand          `cmd:"" help:"Print manual pages."`
	Version      versionCommand      `cmd:"" help:"Print the version."`
}

// console has the outputs of a command: out for results, err for messages. Text from files may contain
// control characters. run therefore wraps both outputs in a safetext.Writer, which escapes them.
type console struct {
	out, err io.Writer
	// A command calls saving if it saves its results when it is interrupted. After an interrupt it is then
	// not ended after the grace period (see govern).
	saving func()
	// json is true if messages are printed as JSON.
	json bool
}

// answer prints v as JSON if that was asked for, otherwise the texts.
func (c *console) answer(asJSON bool, v any, texts ...any) error {
	if asJSON {
		return printJSON(c.out, v)
	}
	_, err := fmt.Fprint(c.out, texts...)
	return err
}

// terminal returns the writer behind w, to which w passes its text if w is a safetext.Writer, and otherwise
// w. It also reports whether the returned writer is a terminal.
func terminal(w io.Writer) (io.Writer, bool) {
	if escaped, ok := w.(*safetext.Writer); ok {
		w = escaped.Unwrap()
	}
	f, ok := w.(*os.File)
	return w, ok && term.IsTerminal(int(f.Fd()))
}

func main() {
	stderr, err := crashsafe.Crashes()
	if err != nil {
		fmt.Fprintln(os.Stderr, "stillpoint:", err)
		os.Exit(exitFailed)
	}
	os.Exit(govern(stderr, func(ctx context.Context, saving func()) int {
		return run(ctx, os.Args[1:], &console{out: os.Stdout, err: stderr, saving: saving})
	}))
}

// escaping returns a console that writes to plain and escapes all characters that are not visible
// (safetext.Writer). flush writes the text that the console has buffered, and returns the first error of writing answers.
func escaping(plain *console) (c *console, flush func() error) {
	out, failures := safetext.NewWriter(plain.out), safetext.NewWriter(plain.err)
	c = &console{out: out, err: failures, saving: plain.saving}
	if c.saving == nil {
		c.saving = func() {}
	}
	return c, func() error {
		failures.Flush()
		return out.Flush()
	}
}

// run runs the command line args, writes its output to plain, and returns the exit code.
func run(ctx context.Context, args []string, plain *console) int {
	c, flush := escaping(plain)
	defer flush()
	c.json = slices.Contains(args, "--progress=json")
	var cmd commands
	exit := -1
	parser, err := parserOf(&cmd, kong.Writers(c.out, c.err), kong.Exit(func(code int) { exit = code }),
		kong.BindTo(ctx, (*context.Context)(nil)), kong.Bind(c),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}))
	if err != nil {
		fmt.Fprintln(c.err, "stillpoint:", err)
		return exitFailed
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	k, err := parser.Parse(args)
	if exit >= 0 { // --help
		return exit
	}
	if err != nil {
		c.complain(err, exitUsage)
		if !c.json {
			fmt.Fprintln(c.err, "stillpoint --help shows how it is used.")
		}
		return exitUsage
	}
	c.json = cmd.Progress == "json"
	if err = k.Run(); err == nil {
		err = flush()
	}
	if err != nil {
		code := exitCode(err)
		c.complain(err, code)
		return code
	}
	return 0
}

func exitCode(err error) int {
	over := (*account.BudgetError)(nil)
	switch {
	// These errors come first: a certificate may be refused because its events exceed its budget, which is
	// also a budget error.
	case errors.Is(err, certificate.ErrMalformed), errors.Is(err, certificate.ErrAltered),
		errors.Is(err, certificate.ErrUnsound), errors.Is(err, certificate.ErrModel), errors.Is(err, budget.ErrChain),
		errors.Is(err, sshsig.ErrRefused):
		return exitRefused
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.As(err, &over):
		return exitOverBudget
	case errors.Is(err, errMoved):
		return exitUsage
	case fromSystem(err), errors.Is(err, budget.ErrStore):
		return exitSystem
	}
	return exitFailed
}

type versionCommand struct{}

func (versionCommand) Run(c *console) error {
	_, err := fmt.Fprintln(c.out, versionLine())
	return err
}

// versionLine returns the version, the system and the version of Go.
func versionLine() string {
	return fmt.Sprintf("%s %s/%s %s", software(), runtime.GOOS, runtime.GOARCH, runtime.Version())
}

// stamp is the version that the build sets, or "": go build -ldflags "-X main.stamp=v1.2.0".
var stamp string

// software returns the program's name and version. The version is the stamp if it is set, else the module's
// version, else "devel" and the first 12 digits of the source revision.
func software() string {
	if stamp != "" {
		return "stillpoint " + stamp
	}
	version, revision := "devel", ""
	if info, ok := debug.ReadBuildInfo(); ok {
		if v := info.Main.Version; v != "" && v != "(devel)" {
			version = v
		}
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" && version == "devel" && len(s.Value) >= 12 {
				revision = " " + s.Value[:12]
			}
		}
	}
	return "stillpoint " + version + revision
}

// movedCommand answers a command that the laboratory has now.
type movedCommand struct {
	Arguments []string `arg:"" optional:"" help:"Ignored."`
}

// errMoved reports a command that is no command of this program any more.
var errMoved = errors.New("a command of the laboratory, which the source holds: " +
	"git clone https://github.com/stillpoint-dp/stillpoint")

func (*movedCommand) Run(k *kong.Context) error { return moved(k.Selected().Name, k.Selected().Name) }

// moved returns the error of what the laboratory has now: as the command as.
func moved(what, as string) error {
	return fmt.Errorf("%s is %w; in it go run ./lab/cmd/lab %s", what, errMoved, as)
}

// heapShare is the heap's limit without heapBase, as a percentage of the configured memory. Near the limit the garbage
// collector runs more often. Without a limit, garbage from reading the table could double the heap.
const heapShare = 110

// heapBase is a number of bytes that is added to the heap's limit.
const heapBase = 8 << 20

// collect sets the garbage collector's memory limit to heapLimit(m), unless the environment (GOMEMLIMIT) sets
// a lower limit.
func collect(m train.Memory) {
	if limit := heapLimit(m); limit < debug.SetMemoryLimit(-1) {
		debug.SetMemoryLimit(limit)
	}
}

// heapLimit returns the heap's limit in bytes. Without configured memory there is no limit.
func heapLimit(m train.Memory) int64 {
	if m.Gigabytes <= 0 {
		return math.MaxInt64
	}
	// A limit of 2^62 bytes or more counts as no limit, which also avoids an overflow of int64.
	limit := m.Gigabytes*1e9*heapShare/100 + heapBase
	if limit >= 1<<62 {
		return math.MaxInt64
	}
	return int64(limit)
}
