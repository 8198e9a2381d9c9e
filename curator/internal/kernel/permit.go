package kernel

import (
	"context"
	"errors"
	"sync"

	"github.com/stillpoint-dp/stillpoint/account"
)

// permit is what a budget that outlasts the session says to its first charge.
type permit struct {
	ask func(context.Context, account.View) error

	mu sync.Mutex
	// asked says that the session's budget may have been reserved: it must stay what it
	// is, whatever the answer was.
	asked, given bool
}

// get returns nil once the session's budget is reserved. All who ask before wait.
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

// unasked runs what changes the budget that would be reserved.
func (p *permit) unasked(change func() error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asked {
		return errors.New("curator: follow: must come before the first question: what the session may cost is reserved")
	}
	return change()
}
