package ledgerfile

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"time"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/account/mechanism"
	"github.com/stillpoint-dp/stillpoint/internal/strictjson"
)

// Entry is a line of a ledger file.
type Entry struct {
	Time time.Time `json:"time"`
	// Entry is Reserved, Settled or Interrupted. If a fit has a reservation and no later entry, the fit is still
	// running or its process was killed. The budget of every reservation counts in full, whatever entry follows.
	Entry string `json:"entry"`
	// Fit numbers the fits of a folder from 1.
	Fit int `json:"fit"`
	// Data is the table's absolute path.
	Data string `json:"data"`

	Algorithm string `json:"algorithm"`
	// Guarantee is the guarantee of the fit. Its mu is the whole budget, reserved before the first
	// release.
	account.Guarantee
	// Schedule lists the releases of a fit that samples records. If Schedule is not empty, an accountant
	// composes its sampled mechanisms instead of a single Gaussian mechanism with parameter Mu.
	Schedule []account.SampledSteps `json:"schedule,omitempty"`
	// Store, Dataset and Run identify the reservation of the budget in a budget store. They are empty if
	// the configuration names no store.
	Store   string `json:"store,omitempty"`
	Dataset string `json:"dataset,omitempty"`
	Run     string `json:"run,omitempty"`
	// Charged is the budget spent at the end of the fit, in units of mu^2.
	Charged float64 `json:"charged,omitzero"`
	// Certificate is the SHA-256 of the fit's certificate, in hexadecimal. It is empty in a reservation, in the
	// end of a fit without a certificate, and in lines of earlier versions.
	Certificate string `json:"certificate,omitempty"`
}

// hash is the form of a SHA-256 in hexadecimal.
var hash = regexp.MustCompile("^[0-9a-f]{64}$")

// The values of the field Entry of an Entry: what a line of the ledger reports.
const (
	Reserved    = "reserved"
	Settled     = "settled"
	Interrupted = "interrupted"
)

// Composed returns the mechanisms that an accountant composes for the budget of a reservation.
func (e Entry) Composed() ([]mechanism.Composed, error) {
	if len(e.Schedule) == 0 {
		m, err := mechanism.NewGaussian(1 / e.Mu)
		return []mechanism.Composed{{Mechanism: m, Count: 1}}, err
	}
	var all []mechanism.Composed
	for _, s := range e.Schedule {
		m, err := mechanism.NewSampledGaussian(s.NoiseMultiplier, s.Sampling, e.Relation)
		if err != nil {
			return nil, err
		}
		all = append(all, mechanism.Composed{Mechanism: m, Count: s.Count})
	}
	return all, nil
}

// Together returns an upper bound, at the given delta, on the epsilon of all the reservations together. The
// reservations must have the same relation. Gaussian budgets and schedules of Poisson samples are composed by
// their privacy-loss distributions.
func Together(ctx context.Context, entries []Entry, delta float64) (epsilon float64, err error) {
	var all []mechanism.Composed
	for _, e := range entries {
		parts, err := e.Composed()
		if err != nil {
			return 0, err
		}
		all = append(all, parts...)
	}
	c, err := mechanism.Compose(ctx, all, 1e-3)
	if err != nil {
		return 0, err
	}
	b, err := c.Epsilon(ctx, delta)
	return b.Upper, err
}

// rule returns the error for a field whose value breaks a rule. The text must completes the sentence "must
// be ...".
func rule(field string, value any, must string) error {
	return fmt.Errorf("%s = %v: must be %s", field, value, must)
}

// mostSteps is the largest number of releases of a schedule. It is far above the number in any plan.
const mostSteps = 1 << 40

// muWidth is the largest allowed relative difference between an entry's mu and the mu computed from its epsilon and
// delta. It is far larger than rounding differences between versions, and too small to matter for privacy.
const muWidth = 1e-6

// check returns an error for the first rule that the entry breaks by itself, without regard to
// other entries.
func (e *Entry) check() error {
	switch {
	case e.Entry != Reserved && e.Entry != Settled && e.Entry != Interrupted:
		return rule("entry", fmt.Sprintf("%q", e.Entry), "reserved, settled or interrupted")
	case e.Time.IsZero():
		return rule("time", e.Time, "given")
	case e.Fit < 1:
		return rule("fit", e.Fit, ">= 1")
	case e.Data == "":
		return rule("data", `""`, "the path of the table")
	case e.Algorithm == "":
		return rule("algorithm", `""`, "a name")
	case !(e.Mu > 0) || math.IsInf(e.Mu, 0):
		return rule("mu", e.Mu, "finite and > 0")
	case !(e.Charged >= 0) || math.IsInf(e.Charged, 0):
		return rule("charged", e.Charged, "finite and >= 0")
	case e.Entry == Reserved && e.Charged != 0:
		return rule("charged", e.Charged, "absent from a reservation")
	case e.Certificate != "" && (e.Entry == Reserved || !hash.MatchString(e.Certificate)):
		return rule("certificate", fmt.Sprintf("%q", e.Certificate), "64 hexadecimal digits in an end, or absent")
	}
	if stored := e.Run != ""; stored != (e.Store != "") || stored != (e.Dataset != "") {
		return rule("store, dataset, run", fmt.Sprintf("%q, %q, %q", e.Store, e.Dataset, e.Run),
			"given together or not at all")
	}
	if err := cmp.Or(e.Guarantee.Check(), e.checkMu()); err != nil {
		return err
	}
	return e.checkSchedule()
}

// checkMu returns an error unless the entry's mu agrees with its epsilon and delta, up to the relative
// difference muWidth, and the entry's spent budget is at most mu^2 (1 + muWidth). The test is needed because
// accountants add up mu^2 over entries.
func (e *Entry) checkMu() error {
	low, err := mechanism.GaussianDelta(e.Mu*(1-muWidth), e.Epsilon)
	if err != nil {
		return err
	}
	high, err := mechanism.GaussianDelta(e.Mu*(1+muWidth), e.Epsilon)
	if err != nil {
		return err
	}
	if !(low <= e.Delta && e.Delta <= high) {
		return rule("mu", e.Mu, fmt.Sprintf("that of epsilon = %v and delta = %v", e.Epsilon, e.Delta))
	}
	if square := e.Mu * e.Mu; e.Charged > square*(1+muWidth) {
		return rule("charged", e.Charged, fmt.Sprintf("at most mu^2 = %v", square))
	}
	return nil
}

func (e *Entry) checkSchedule() error {
	if e.Schedule != nil && len(e.Schedule) == 0 {
		return rule("schedule", "[]", "absent or have steps")
	}
	total := 0
	for i, s := range e.Schedule {
		field := fmt.Sprintf("schedule[%d].", i)
		switch {
		case !(s.NoiseMultiplier > 0) || math.IsInf(s.NoiseMultiplier, 0):
			return rule(field+"noise_multiplier", s.NoiseMultiplier, "finite and > 0")
		case !(s.Sampling > 0 && s.Sampling <= 1):
			return rule(field+"sampling", s.Sampling, "> 0 and <= 1")
		case s.Count < 1 || s.Count > mostSteps-total:
			return rule(field+"count", s.Count, fmt.Sprintf(">= 1, and all of them at most %d", mostSteps))
		}
		total += s.Count
	}
	return nil
}

// ends returns an error unless entry e may end the fit of reservation r. The two entries must state the same
// table, algorithm, guarantee, schedule, store, dataset and run.
func (e *Entry) ends(r Entry) error {
	same := e.Data == r.Data && e.Algorithm == r.Algorithm && e.Guarantee == r.Guarantee &&
		slices.Equal(e.Schedule, r.Schedule) &&
		e.Store == r.Store && e.Dataset == r.Dataset && e.Run == r.Run
	if !same {
		return fmt.Errorf("entry = %q: must state the table, algorithm and budget that fit %d reserved", e.Entry, e.Fit)
	}
	return nil
}

// Parse parses the text of a ledger. Fits must be numbered from 1 without gaps, in the order of their
// reservations. A fit may have one more entry, its end, after its reservation. A last line without a newline
// that is not valid JSON was cut short by a crash. It is ignored: if it was a reservation, nothing was
// released under it. Any other line that is not an entry is an error.
func Parse(text []byte) ([]Entry, error) {
	var entries []Entry
	var reserved []Entry // the reservation of each fit, in order
	var ended []bool
	for n := 1; len(text) > 0; n++ {
		line, rest, whole := bytes.Cut(text, []byte{'\n'})
		text = rest
		if !whole && !json.Valid(line) {
			break
		}
		e, err := parseLine(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: not an entry: %w", n, err)
		}
		switch fits := len(reserved); {
		case e.Entry == Reserved && e.Fit != fits+1:
			err = rule("fit", e.Fit, fmt.Sprintf("%d, the next", fits+1))
		case e.Entry == Reserved:
			reserved, ended = append(reserved, e), append(ended, false)
		case e.Fit > fits:
			err = rule("fit", e.Fit, "one that was reserved before")
		case ended[e.Fit-1]:
			err = rule("fit", e.Fit, "one that has not ended before")
		default:
			ended[e.Fit-1] = true
			err = e.ends(reserved[e.Fit-1])
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: not an entry: %w", n, err)
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// Torn finds a last line that a crash cut short. at is the offset in bytes of this line, or the text's length
// if the last line is complete. unended reports whether the last line is complete except for its newline.
func Torn(text []byte) (at int, unended bool) {
	at = bytes.LastIndexByte(text, '\n') + 1
	switch tail := text[at:]; {
	case len(tail) == 0:
		return at, false
	case json.Valid(tail):
		return len(text), true
	}
	return at, false
}

func parseLine(line []byte) (e Entry, err error) {
	if f := (strictjson.Checker{}).Check(line); f != nil {
		return e, f
	}
	if strictjson.NewObject("", line, &err).Into(&e); err != nil {
		return e, err
	}
	return e, e.check()
}
