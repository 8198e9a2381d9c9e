package report

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/account/mechanism"
	"github.com/stillpoint-dp/stillpoint/internal/ledgerfile"
)

// Reservation is the entry of a fit in a folder's ledger: the budget that was reserved before the first
// release, and the outcome of the fit.
type Reservation struct {
	Time      time.Time
	Fit       int
	Data      string // the table's identity: a path or a name
	Algorithm string
	account.Guarantee
	Schedule []account.SampledSteps
	// Outcome is "settled", "interrupted", or "" for a run that has not ended or was killed. The whole
	// reservation counts in every case.
	Outcome string
	Charged float64
}

// ParseLedger reads the lines of a ledger file. It ignores an incomplete last line, since nothing was
// released under it. It returns an error for any other invalid line.
func ParseLedger(text []byte) ([]Reservation, error) {
	entries, err := ledgerfile.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("report: ledger: %w", err)
	}
	var list []Reservation // entry i is the fit with the number i+1
	for _, e := range entries {
		if e.Entry != ledgerfile.Reserved {
			list[e.Fit-1].Outcome, list[e.Fit-1].Charged = e.Entry, e.Charged
			continue
		}
		list = append(list, Reservation{
			Time: e.Time, Fit: e.Fit, Data: e.Data, Algorithm: e.Algorithm, Guarantee: e.Guarantee,
			Schedule: e.Schedule,
		})
	}
	return list, nil
}

// composed returns the mechanisms for which the budget was reserved, as input for the function Compose of
// package mechanism: the schedule's mechanisms, or one Gaussian mechanism if there is no schedule.
func (r Reservation) composed() ([]mechanism.Composed, error) {
	if len(r.Schedule) == 0 {
		m, err := mechanism.NewGaussian(1 / r.Mu)
		return []mechanism.Composed{{Mechanism: m, Count: 1}}, err
	}
	// mu is 0, because the schedule covers the whole budget.
	return composeSchedule(r.Schedule, 0, r.Relation)
}

// composeSchedule returns the mechanisms of a schedule. If mu > 0, a Gaussian mechanism with this
// mu stands for all releases that are not in the schedule.
func composeSchedule(schedule []account.SampledSteps, mu float64, r account.Relation) ([]mechanism.Composed, error) {
	var all []mechanism.Composed
	for _, s := range schedule {
		m, err := mechanism.NewSampledGaussian(s.NoiseMultiplier, s.Sampling, r)
		if err != nil {
			return nil, err
		}
		all = append(all, mechanism.Composed{Mechanism: m, Count: s.Count})
	}
	if mu > 0 {
		m, err := mechanism.NewGaussian(1 / mu)
		if err != nil {
			return nil, err
		}
		all = append(all, mechanism.Composed{Mechanism: m, Count: 1})
	}
	return all, nil
}

// together returns an upper bound on the epsilon of the composition of all reservations in list, at the
// given delta. ok is false if the reservations do not compose, for example because their relations or
// privacy units differ.
func together(ctx context.Context, list []Reservation, delta float64) (epsilon float64, ok bool) {
	var all []mechanism.Composed
	for _, r := range list {
		parts, err := r.composed()
		if err != nil || !r.Adds(list[0].Guarantee) {
			return 0, false
		}
		all = append(all, parts...)
	}
	c, err := mechanism.Compose(ctx, all, 1e-3)
	if err != nil {
		return 0, false
	}
	b, err := c.Epsilon(ctx, delta)
	return b.Upper, err == nil
}

// baseName returns the last part of a path with / or \ as separator.
func baseName(path string) string {
	return path[strings.LastIndexAny(path, `/\`)+1:]
}
