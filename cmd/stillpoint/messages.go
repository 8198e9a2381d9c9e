package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"strings"
	"syscall"

	"github.com/stillpoint-dp/stillpoint/internal/printable"
	"github.com/stillpoint-dp/stillpoint/train"
)

// With --progress=json, standard error has one JSON object on each line. The member "event" names the kind of
// the object. Like everything printed, the objects contain public and released values only.

// printLine prints one line of JSON.
func printLine(w io.Writer, v any) {
	text, err := json.Marshal(v)
	if err != nil { // only an infinite number has no JSON form, and no message contains one
		return
	}
	_, _ = fmt.Fprintf(w, "%s\n", bytes.TrimSpace(printable.JSON(text)))
}

type noteEvent struct {
	Event string `json:"event"` // reading, stopping
	Text  string `json:"text"`
}

type planEvent struct {
	Event string `json:"event"` // plan
	Plan  any    `json:"plan"`  // as plan --json prints it
}

type stepEvent struct {
	Event        string  `json:"event"` // step
	Step         int     `json:"step"`
	Of           int     `json:"of"`
	GradientNorm float64 `json:"gradient_norm"` // of the noisy gradient that was released
	Noise        float64 `json:"noise"`         // expected norm of the noise alone
	Charged      float64 `json:"charged"`       // in units of mu^2
}

type errorEvent struct {
	Event string `json:"event"` // error
	Code  string `json:"code"`
	Exit  int    `json:"exit"`
	// Field and Rule are the name of a wrong field and the rule that its value breaks, if the message has
	// them.
	Field   string `json:"field,omitempty"`
	Rule    string `json:"rule,omitempty"`
	Message string `json:"message"`
	// Charged is true if a budget was reserved. The reservation stays.
	Charged bool `json:"charged"`
}

// codes are the names of the exit codes of errors, for messages in JSON.
var codes = map[int]string{
	exitFailed: "configuration", exitUsage: "usage", exitOverBudget: "budget", exitRefused: "refused",
	exitSystem: "system", exitInterrupted: "interrupted",
}

// note prints a message that is neither progress nor an error.
func (c *console) note(event, text string) {
	if c.json {
		printLine(c.err, noteEvent{event, text})
		return
	}
	fmt.Fprintln(c.err, printable.Text(text))
}

// complain prints an error in one line. A name that contains a line end must not begin a line of its own.
func (c *console) complain(err error, exit int) {
	if !c.json {
		fmt.Fprintln(c.err, "stillpoint:", printable.Text(err.Error()))
		return
	}
	event := errorEvent{Event: "error", Code: codes[exit], Exit: exit, Message: err.Error()}
	event.Field, event.Rule = broken(event.Message)
	_, event.Charged = errors.AsType[*train.ChargedError](err)
	_, saved := errors.AsType[*savedError](err)
	event.Charged = event.Charged || saved
	printLine(c.err, event)
}

// savedError is an error of a fit that was interrupted after its budget was charged, and whose
// model is saved.
type savedError struct{ error }

func (e *savedError) Unwrap() error { return e.error }

// convention matches error messages that name a field, its value and the rule that the value breaks.
var convention = regexp.MustCompile(`(?s)(?:^|: )([A-Za-z_][\w.\[\]-]*)(?: = .*?)?: ((?:must|is|needs) .*)$`)

// broken returns the field and the rule in an error's message, empty if the message has none.
func broken(message string) (field, rule string) {
	if m := convention.FindStringSubmatch(message); m != nil {
		return m[1], strings.TrimSpace(m[2])
	}
	return "", ""
}

// nameless are the system's errors for a wrong file name, which is a mistake in the input.
var nameless = []error{fs.ErrNotExist, fs.ErrExist, syscall.ENOTDIR, syscall.EISDIR, syscall.ENAMETOOLONG,
	syscall.ELOOP, syscall.EINVAL}

// fromSystem reports whether an error has its cause in the machine and not in the input: for
// example a full disk or a missing permission.
func fromSystem(err error) bool {
	if _, is := errors.AsType[syscall.Errno](err); !is {
		return false
	}
	for _, n := range nameless {
		if errors.Is(err, n) {
			return false
		}
	}
	return true
}
