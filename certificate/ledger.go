package certificate

import (
	"context"
	"fmt"

	"github.com/stillpoint-dp/stillpoint/account"
)

// Ledger verifies the certificate and returns an ended ledger that holds the certificate's events. A store
// of budgets reads the run's final charge from this ledger. If the certificate does not verify, Ledger
// returns the error of Verify.
func (c *Certificate) Ledger(ctx context.Context) (account.View, error) {
	if _, err := c.Verify(ctx); err != nil {
		return account.View{}, err
	}
	claim := c.doc.Claim
	budget, err := account.NewBudget(claim.Epsilon, claim.Delta, claim.Relation)
	if err != nil {
		return account.View{}, fmt.Errorf("certificate: claim: %w: %w", ErrUnsound, err)
	}
	j := account.Journal{Budget: budget, Records: c.records(), Events: c.doc.Events}
	if c.doc.Basis == BasisSchedule {
		if j.Schedule, err = account.NewSchedule(ctx, budget, claim.Mu, c.doc.Schedule...); err != nil {
			return account.View{}, fmt.Errorf("certificate: schedule: %w", err)
		}
	}
	v, err := account.Replay(j)
	if err != nil {
		return account.View{}, fmt.Errorf("certificate: events: %w: %w", ErrUnsound, err)
	}
	return v, nil
}

// records returns the certificate's statements about the records: their number, unit and filter, and
// whether the random bits were simulated.
func (c *Certificate) records() account.Records {
	return account.Records{
		Count: c.doc.Records, Unit: c.Unit(), Filter: c.Filter(),
		Simulated: c.doc.Coins == Simulated,
	}
}
