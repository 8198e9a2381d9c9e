package main

import (
	"fmt"
	"io"
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
	bar      stepBar
	last     time.Time
}

// stepBar is a bar on a terminal. A program that was built with -tags small has none and prints lines.
type stepBar interface {
	Describe(text string)
	ChangeMax(steps int)
	Set(step int) error
	Add(steps int) error
	Clear() error
}

// between is the least time between two printed lines of progress.
const between = 2 * time.Second

func newProgress(c *console, verbose bool) *progress {
	w, is := terminal(c.err)
	return &progress{c: c, w: w, terminal: is && newBar != nil, verbose: verbose, last: time.Now()}
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
		if p.bar == nil {
			p.bar = newBar(p.w, s.Of)
		}
		if p.verbose {
			p.bar.Describe(fmt.Sprintf("noisy gradient norm %.2g", s.GradientNorm))
		}
		_ = p.bar.Add(1)
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

func (p *progress) finish() {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}
