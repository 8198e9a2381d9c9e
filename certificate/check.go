package certificate

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/account/mechanism"
	"github.com/stillpoint-dp/stillpoint/internal/strictjson"
)

// check returns an error unless all members have valid values and the claim follows from the recorded
// events. It does not test whether the random bits were secret. It returns the epsilon recomputed from mu
// and delta or, with a schedule, from the schedule.
func (d *document) check(ctx context.Context) (epsilon float64, err error) {
	switch d.Basis {
	case BasisGaussianFilter:
		if d.Schedule != nil {
			return 0, unsound("schedule", len(d.Schedule), "must be absent for basis %q", d.Basis)
		}
		// A sampled event states no charge. Only a schedule accounts for its privacy loss.
		for i, e := range d.Events {
			if e.Kind == account.SampledGaussian {
				return 0, unsound(strictjson.Item("events", i)+".kind", strconv.Quote(string(e.Kind)),
					"must be counted by a schedule, which basis %q has not", d.Basis)
			}
		}
		epsilon, err = d.Claim.check()
		if err == nil {
			err = d.Claim.checkGreatest()
		}
	case BasisSchedule:
		epsilon, err = d.checkSchedule(ctx)
	default:
		return 0, unsound("basis", strconv.Quote(d.Basis), "must be %q or %q", BasisGaussianFilter, BasisSchedule)
	}
	if err != nil {
		return 0, err
	}
	if d.Records < 1 || d.Records > account.MaxRecords {
		return 0, unsound("records", d.Records, "must be between 1 and 2^53")
	}
	if err := cmp.Or(checkReservation(d.Budget), checkFilter(d.Filter), checkUnit(d.Unit), d.checkTexts(),
		d.checkEvents()); err != nil {
		return 0, err
	}
	return epsilon, d.checkStability()
}

// check recomputes epsilon from mu and delta, and returns an error if the recomputed epsilon is above the claimed
// epsilon or if a number of the claim is out of range. No tolerance is needed: a budget has the largest mu for which
// the recomputed epsilon is at most the budget's epsilon, and every machine computes the same bits.
func (c claim) check() (epsilon float64, err error) {
	switch {
	case !(c.Epsilon > 0) || math.IsInf(c.Epsilon, 0):
		return 0, unsound("claim.epsilon", c.Epsilon, "must be finite and > 0")
	case !(c.Delta > 0 && c.Delta < 1):
		return 0, unsound("claim.delta", c.Delta, "must be > 0 and < 1")
	case !(c.Mu > 0) || math.IsInf(c.Mu, 0):
		return 0, unsound("claim.mu", c.Mu, "must be finite and > 0")
	case !c.Relation.Valid():
		return 0, unsound("claim.relation", c.Relation, "must be replace-one or add-or-remove")
	}
	epsilon, err = mechanism.GaussianEpsilon(c.Mu, c.Delta)
	if err != nil {
		return 0, fmt.Errorf("certificate: claim: %w: %w", ErrUnsound, err)
	}
	if !(epsilon <= c.Epsilon) {
		return 0, unsound("claim.epsilon", c.Epsilon, "must be at least %v, which mu = %v gives at delta = %v", epsilon, c.Mu,
			c.Delta)
	}
	return epsilon, nil
}

// checkGreatest returns an error if mu is smaller than the largest mu that gives (epsilon, delta)-DP. A
// privacy filter always has this largest mu. The square of a smaller mu may be above the run's total
// charge, but no filter limited the run to this mu.
func (c claim) checkGreatest() error {
	mu, err := mechanism.GaussianMu(c.Epsilon, c.Delta)
	if err != nil {
		return fmt.Errorf("certificate: claim: %w: %w", ErrUnsound, err)
	}
	// A relative difference of 2^-40 is accepted, since a later version may round differently.
	if least := mu * (1 - 0x1p-40); !(c.Mu >= least) {
		return unsound("claim.mu", c.Mu,
			"must be at least %v: the greatest that epsilon = %v gives at delta = %v was the filter's", least, c.Epsilon,
			c.Delta)
	}
	return nil
}

// checkSchedule recomputes epsilon from the schedule and returns it. It also admits the events one by one
// to a new ledger that follows the schedule. It returns an error if the schedule exceeds the claim or if
// the ledger refuses an event.
func (d *document) checkSchedule(ctx context.Context) (epsilon float64, err error) {
	c := d.Claim
	budget, err := account.NewBudget(c.Epsilon, c.Delta, c.Relation)
	if err != nil {
		return 0, fmt.Errorf("certificate: claim: %w: %w", ErrUnsound, err)
	}
	schedule, err := account.NewSchedule(ctx, budget, c.Mu, d.Schedule...)
	if err != nil && ctx.Err() != nil {
		return 0, ctx.Err() // cancelled: the certificate was neither verified nor found unsound
	}
	if err != nil {
		return 0, fmt.Errorf("certificate: schedule: %w: %w", ErrUnsound, err)
	}
	ledger := account.NewLedger(budget)
	if err := ledger.Follow(schedule); err != nil {
		return 0, fmt.Errorf("certificate: schedule: %w: %w", ErrUnsound, err)
	}
	for i, e := range d.Events {
		if err := ledger.Reserve(e); err != nil {
			return 0, fmt.Errorf("certificate: %s: %w: %w", strictjson.Item("events", i), ErrUnsound, err)
		}
	}
	return schedule.Epsilon(), nil
}

func (d *document) checkTexts() error {
	switch {
	case d.Software == "":
		return unsound("software", `""`, "must name the program and its version")
	case d.PrivacyUnit != privacyUnit(d.Unit):
		return unsound("privacy_unit", strconv.Quote(d.PrivacyUnit), "must be %q or, exactly with a unit, %q", unitOfRow,
			unitOfRows)
	case d.Algorithm.Name == "":
		return unsound("algorithm.name", `""`, "must not be empty")
	case d.Coins != Secret && d.Coins != Simulated:
		return unsound("coins", strconv.Quote(string(d.Coins)), "must be %q or %q", Secret, Simulated)
	}
	for i, assumption := range d.Trusted {
		if assumption == "" {
			return unsound(strictjson.Item("trusted", i), `""`, "must not be empty")
		}
	}
	if d.ModelSHA256 == "" {
		if d.Complete {
			return unsound("model_sha256", `""`, "must be given for a complete run")
		}
		return nil
	}
	return checkDigest("model_sha256", d.ModelSHA256)
}

// checkReservation returns an error if a field of r has a value that no reservation in a dataset's chain
// can have. The first row of a chain is no reservation, so Row must be at least 2. A nil r is valid.
func checkReservation(r *account.Reservation) error {
	switch {
	case r == nil:
		return nil
	case r.Dataset == "" || r.Dataset != strings.TrimSpace(r.Dataset) || !utf8.ValidString(r.Dataset):
		return unsound("budget.dataset", strconv.Quote(r.Dataset), "must be a name without white space around it")
	case r.Run == "":
		return unsound("budget.run", `""`, "must not be empty")
	case r.Row < 2:
		return unsound("budget.row", r.Row, "must be >= 2")
	}
	return checkDigest("budget.head", r.Head)
}

// checkDigest returns an error unless digest consists of 64 digits of lower-case hexadecimal.
func checkDigest(field, digest string) error {
	sum, err := hex.DecodeString(digest)
	if err != nil || len(sum) != 32 || hex.EncodeToString(sum) != digest {
		return unsound(field, strconv.Quote(digest), "must be 64 digits of lower-case hexadecimal")
	}
	return nil
}

// checkEvents recomputes the charge of each event and the largest total charge to any record. It returns an error if an
// event states less than its charge, or if the largest total differs from the stated total or exceeds mu^2.
func (d *document) checkEvents() error {
	for i, e := range d.Events {
		if err := d.checkEvent(strictjson.Item("events", i), e); err != nil {
			return err
		}
	}
	total, err := account.Total(d.Events)
	if err != nil {
		return fmt.Errorf("certificate: events: %w: %w", ErrUnsound, err)
	}
	if d.Charged != total {
		return unsound("charged", d.Charged, "must be %v, the largest total the events charge to a record", total)
	}
	if square := exactSquare(d.Claim.Mu); big.NewFloat(total).Cmp(square) > 0 {
		return unsound("charged", total, "must be at most mu^2 = %v", square.Text('g', 17))
	}
	return nil
}

// checkEvent returns an error if an event's source of random bits or relation differs from the certificate's, if its
// cohort has a number above the number of records, or if it has no question. Cohorts (disjoint random subsets of the
// records) are numbered in the order in which they are drawn. There are at most as many cohorts as records.
func (d *document) checkEvent(field string, e account.Event) error {
	switch {
	case e.Simulated != (d.Coins == Simulated):
		return unsound(field+".simulated", e.Simulated, "coins are %q", d.Coins)
	case e.Relation != d.Claim.Relation:
		return unsound(field+".relation", e.Relation, "must be the claim's %v, under which its law is counted",
			d.Claim.Relation)
	case e.Cohort > uint64(d.Records):
		return unsound(field+".cohort", e.Cohort, "must be at most the number of records, %d: cohorts are disjoint",
			d.Records)
	case e.Question == "":
		return unsound(field+".question", `""`, "must name what was asked")
	}
	return nil
}

// cohorts returns the number of different cohorts (random subsets of the records) in the events.
func (d *document) cohorts() int {
	seen := make(map[uint64]bool)
	for _, e := range d.Events {
		if e.Cohort != account.Everyone {
			seen[e.Cohort] = true
		}
	}
	return len(seen)
}

// exactSquare returns x^2 without rounding. The square of a float64 needs at most 106 bits.
func exactSquare(x float64) *big.Float {
	b := new(big.Float).SetPrec(106).SetFloat64(x)
	return b.Mul(b, b)
}

// stabilityAssumption returns, in words, the assumption about the named loss on which releases with the
// basis account.Stability depend. A certificate with such a release must list this text as trusted.
func stabilityAssumption(loss string) string {
	return fmt.Sprintf("the loss %s is convex and as smooth as it declares (basis %q)", loss, account.Stability)
}

// stable counts the events with the basis "stability" (gradient steps that do not move two points
// further apart).
func (d *document) stable() int {
	n := 0
	for _, e := range d.Events {
		if e.Basis == account.Stability {
			n++
		}
	}
	return n
}

// untold returns the assumptions about losses that events with the basis "stability" need and that the list
// Trusted does not contain.
func (d *document) untold() []string {
	var list []string
	for _, e := range d.Events {
		if e.Basis != account.Stability {
			continue
		}
		if a := stabilityAssumption(e.Loss); !slices.Contains(d.Trusted, a) && !slices.Contains(list, a) {
			list = append(list, a)
		}
	}
	return list
}

// checkStability tests releases whose basis is stability (gradient steps that do not move two points further apart). It
// returns an error if the assumption about a loss is not listed as trusted, or if the claim's relation is not
// replace-one. Under add-or-remove, an added record would shift the order of the other records.
func (d *document) checkStability() error {
	if n := d.stable(); n > 0 && d.Claim.Relation != account.ReplaceOne {
		return unsound("claim.relation", d.Claim.Relation, "must be replace-one for releases with basis %q",
			account.Stability)
	}
	if list := d.untold(); len(list) > 0 {
		return unsound("trusted", len(d.Trusted), "must contain %s", strconv.Quote(list[0]))
	}
	return nil
}
