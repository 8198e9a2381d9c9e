package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/stillpoint-dp/stillpoint/internal/safetext"
	"github.com/stillpoint-dp/stillpoint/internal/train"
)

// With --progress=json, each line of standard error is a JSON object. Its member "event" names its kind. The
// objects contain only public and released values.

// printLine prints v as one line of JSON.
func printLine(w io.Writer, v any) {
	text, err := json.Marshal(v)
	if err != nil { // only a number that is not finite has no JSON form, and no message contains one
		return
	}
	_, _ = fmt.Fprintf(w, "%s\n", bytes.TrimSpace(safetext.JSON(text)))
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
	// Field is the name of a field with an invalid value, and Rule the rule that the value breaks. Both are
	// empty if the message names none.
	Field   string `json:"field,omitempty"`
	Rule    string `json:"rule,omitempty"`
	Message string `json:"message"`
	// Charged is true if a budget was reserved. The reservation stays.
	Charged bool `json:"charged"`
}

// codes maps the exit codes of errors to the names that messages in JSON have for them.
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
	fmt.Fprintln(c.err, safetext.Text(text))
}

// complain prints an error on one line, as text or as JSON. Line ends in the error's text, for example in a
// file's name, are escaped.
func (c *console) complain(err error, exit int) {
	if !c.json {
		fmt.Fprintln(c.err, "stillpoint:", safetext.Text(err.Error()))
		return
	}
	event := errorEvent{Event: "error", Code: codes[exit], Exit: exit, Message: err.Error()}
	event.Field, event.Rule = broken(event.Message)
	_, event.Charged = errors.AsType[*train.ChargedError](err)
	_, saved := errors.AsType[*savedError](err)
	event.Charged = event.Charged || saved
	printLine(c.err, event)
}

// savedError is the error of a fit that ended early, after its budget was charged, and whose model is saved.
type savedError struct{ error }

func (e *savedError) Unwrap() error { return e.error }

// convention matches error messages that name a field, its value and the rule that the value breaks.
var convention = regexp.MustCompile(`(?s)(?:^|: )([A-Za-z_][\w.\[\]-]*)(?: = .*?)?: ((?:must|is|needs) .*)$`)

// broken returns the field and the rule that an error's message names; both are empty if it names none (see
// convention).
func broken(message string) (field, rule string) {
	if m := convention.FindStringSubmatch(message); m != nil {
		return m[1], strings.TrimSpace(m[2])
	}
	return "", ""
}

// nameless are the errors of the operating system that a wrong file name causes. They count as mistakes in
// the input.
var nameless = []error{fs.ErrNotExist, fs.ErrExist, syscall.ENOTDIR, syscall.EISDIR, syscall.ENAMETOOLONG,
	syscall.ELOOP, syscall.EINVAL}

// fromSystem reports whether the cause of an error is the machine, for example a full disk or a missing
// permission. It returns false for errors of wrong input.
func fromSystem(err error) bool {
	if _, is := errors.AsType[syscall.Errno](err); !is {
		return false
	}
	return !slices.ContainsFunc(nameless, func(n error) bool { return errors.Is(err, n) })
}
