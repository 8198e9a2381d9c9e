package session

import (
	"context"
	"errors"
	"sync"

	"github.com/stillpoint-dp/stillpoint/account"
)

// permit asks, before the first charge, for the reservation of the session's budget in a store that
// outlives the session.
type permit struct {
	ask func(context.Context, account.View) error

	mu sync.Mutex
	// asked is true if the session's budget may have been reserved. From then on the budget must not
	// change, even if ask returned an error. given is true once ask returned nil, or from the start if
	// there is no ask.
	asked, given bool
}

// get returns nil once the session's budget is reserved. If asking for the reservation fails, get
// returns that error. Concurrent callers wait.
func (p *permit) get(ctx context.Context, v account.View) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.given {
		return nil
	}
	p.asked = true
	if err := p.ask(ctx, v); err != nil {
		return err
	}
	p.given = true
	return nil
}

// unasked calls change, which changes the budget that is to be reserved. After the first call of the
// method get, it returns an error instead.
func (p *permit) unasked(change func() error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asked {
		return errors.New("curator: follow: must come before the first question: what the session may cost is reserved")
	}
	return change()
}
