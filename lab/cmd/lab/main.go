// Command lab runs the experiments, audits and simulated plans of the laboratory. It protects no records: what it runs on is generated.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/alecthomas/kong"

	"github.com/stillpoint-dp/stillpoint/internal/safetext"
)

// Exit codes, as of the command stillpoint.
const (
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130
)

type commands struct {
	Audit      auditCommand      `cmd:"" help:"Try to break the guarantee of a configuration, on generated tables."`
	Experiment experimentCommand `cmd:"" help:"Compare algorithms on generated problems."`
	Simulate   simulateCommand   `cmd:"" help:"Try the plans of a configuration on generated rows, never on its table."`
}

// console has the outputs of a command: out for results, err for messages. Both escape control characters,
// which text from files may contain.
type console struct{ out, err io.Writer }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	out, failures := safetext.NewWriter(os.Stdout), safetext.NewWriter(os.Stderr)
	code := run(ctx, os.Args[1:], &console{out: out, err: failures})
	out.Flush()
	failures.Flush()
	stop()
	os.Exit(code)
}

// run runs the command line args and returns the exit code.
func run(ctx context.Context, args []string, c *console) int {
	exit := -1
	parser, err := kong.New(new(commands),
		kong.Name("lab"), kong.Description("Measure optimizers and attack guarantees where the answer is known. No record is protected here."),
		kong.Writers(c.out, c.err), kong.Exit(func(code int) { exit = code }),
		kong.BindTo(ctx, (*context.Context)(nil)), kong.Bind(c),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}),
	)
	if err != nil {
		fmt.Fprintln(c.err, "lab:", err)
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
		fmt.Fprintf(c.err, "lab: %v\nlab --help shows how it is used.\n", err)
		return exitUsage
	}
	if err := k.Run(); err != nil {
		fmt.Fprintln(c.err, "lab:", err)
		if errors.Is(err, context.Canceled) {
			return exitInterrupted
		}
		return exitFailed
	}
	return 0
}

func printJSON(w io.Writer, v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(safetext.JSON(b.Bytes()))
	return err
}
