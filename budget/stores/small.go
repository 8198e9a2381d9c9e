//go:build small

package stores

import (
	"context"
	"errors"

	"github.com/stillpoint-dp/stillpoint/budget"
)

// connect returns an error: this build has no driver of a database.
func connect(context.Context, budget.Address, bool) (budget.Store, error) {
	return nil, errors.New("budget: store: must be opened by a program that was built without -tags small: " +
		"this one has no stores of budgets")
}
