package report

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/internal/ledgerfile"
)

// Reservation is a fit in a folder's ledger: the budget that was reserved before the first release, and how
// the fit ended.
type Reservation struct {
	Time      time.Time
	Fit       int
	Data      string // the table, a path
	Algorithm string
	account.Guarantee
	Schedule []account.SampledSteps
	// Outcome is "settled", "interrupted", or "" for a run that was killed. The whole reservation counts in
	// every case.
	Outcome string
	Charged float64
}

// ParseLedger reads the lines of a ledger file. If the last line was cut short, it is an unfinished entry,
// under which nothing was released, and is ignored. Any other line that is no entry is an error.
func ParseLedger(text []byte) ([]Reservation, error) {
	entries, err := ledgerfile.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("report: ledger: %w", err)
	}
	var list []Reservation // by fit, which are numbered from 1
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

// composed returns the reservation as mechanisms for an accountant.
func (r Reservation) composed() ([]account.Composed, error) {
	if len(r.Schedule) == 0 {
		m, err := account.NewGaussian(1 / r.Mu)
		return []account.Composed{{Mechanism: m, Count: 1}}, err
	}
	// The schedule covers the whole budget, and no mu is left beside it.
	return composeSchedule(r.Schedule, 0, r.Relation)
}

// composeSchedule returns the mechanisms of a schedule and of the Gaussian
// releases within mu beside it.
func composeSchedule(schedule []account.SampledSteps, mu float64, r account.Relation) ([]account.Composed, error) {
	var all []account.Composed
	for _, s := range schedule {
		m, err := account.NewSampledGaussian(s.NoiseMultiplier, s.Sampling, r)
		if err != nil {
			return nil, err
		}
		all = append(all, account.Composed{Mechanism: m, Count: s.Count})
	}
	if mu > 0 {
		m, err := account.NewGaussian(1 / mu)
		if err != nil {
			return nil, err
		}
		all = append(all, account.Composed{Mechanism: m, Count: 1})
	}
	return all, nil
}

// together returns an epsilon of all reservations at a delta. ok is false if they do not compose, for example
// under different relations or for different units.
func together(ctx context.Context, list []Reservation, delta float64) (epsilon float64, ok bool) {
	var all []account.Composed
	for _, r := range list {
		parts, err := r.composed()
		if err != nil || !r.Adds(list[0].Guarantee) {
			return 0, false
		}
		all = append(all, parts...)
	}
	c, err := account.Compose(ctx, all, 1e-3)
	if err != nil {
		return 0, false
	}
	b, err := c.Epsilon(ctx, delta)
	return b.Upper, err == nil
}

// baseName returns the last part of a path, of any operating system.
func baseName(path string) string {
	return path[strings.LastIndexAny(path, `/\`)+1:]
}
