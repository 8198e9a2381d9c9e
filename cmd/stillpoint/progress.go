package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/stillpoint-dp/stillpoint/internal/train"
)

// progress shows how many steps of a fit or runs of an audit are done. On a terminal it draws a bar,
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
		printLine(p.c.err, planEvent{"plan", planJSON(planned, nil)})
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
		fmt.Fprintf(p.w, "\r\x1b[K%s[%-*s] %d/%d", text, width, strings.Repeat("=", width*min(done, of)/max(of, 1)), done, of)
	}
}

func (p *progress) finish() {
	if p.drawn {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
