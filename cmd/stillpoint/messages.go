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
	"time"

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

// progress shows how many steps of a fit are done. On a terminal it draws a bar,
// elsewhere it prints a line every two seconds at most. It shows released and public numbers only. It shows
// no text from files, because a bar is drawn with control characters.
type progress struct {
	c        *console
	w        io.Writer
	terminal bool
	verbose  bool // also show gradient norms
	last     time.Time
	drawn    bool // a bar is on the terminal
}

// between is the least time between two printed lines of progress.
const between = 2 * time.Second

func newProgress(c *console, verbose bool) *progress {
	w, is := terminal(c.err)
	return &progress{c: c, w: w, terminal: is, verbose: verbose, last: time.Now()}
}

func (p *progress) planned(planned train.Planned) {
	if p.c.json {
		printLine(p.c.err, planEvent{"plan", planJSON(planned)})
		return
	}
	text := opening(planned)
	if p.verbose {
		text = outline(planned, true)
	}
	fmt.Fprint(p.c.err, text)
}

func (p *progress) step(s train.Step) {
	if p.c.json {
		printLine(p.c.err, stepEvent{"step", s.Number, s.Of, s.GradientNorm, s.Noise, s.Charged})
		return
	}
	if p.terminal {
		text := ""
		if p.verbose {
			text = fmt.Sprintf("noisy gradient norm %.2g ", s.GradientNorm)
		}
		p.draw(text, s.Number, s.Of)
		return
	}
	if now := time.Now(); s.Number == s.Of || now.Sub(p.last) >= between {
		p.last = now
		if !p.verbose {
			fmt.Fprintf(p.w, "step %d of %d\n", s.Number, s.Of)
			return
		}
		fmt.Fprintf(p.w, "step %d of %d: noisy gradient norm %.2g (noise alone %.2g), charged %.4g\n", s.Number, s.Of,
			s.GradientNorm, s.Noise, s.Charged)
	}
}

// draw draws a bar of the steps done, 20 times a second at most.
func (p *progress) draw(text string, done, of int) {
	const width = 30
	if now := time.Now(); done == of || now.Sub(p.last) >= time.Second/20 {
		p.last, p.drawn = now, true
		fmt.Fprintf(p.w, "\r\x1b[K%s[%-*s] %d/%d", text, width, strings.Repeat("=", width*done/max(of, 1)), done, of)
	}
}

func (p *progress) finish() {
	if p.drawn {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
