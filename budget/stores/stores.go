// Package stores opens stores of budgets by their addresses. It is apart from package
// budget so that only programs which open them carry the databases' drivers.
package stores

import (
	"context"

	"github.com/stillpoint-dp/stillpoint/budget"
	"github.com/stillpoint-dp/stillpoint/budget/postgres"
	"github.com/stillpoint-dp/stillpoint/budget/sqlite"
)

// Open opens a store by its address; see budget.ParseAddress. One that is not there is
// an error.
func Open(ctx context.Context, address string) (*budget.Book, error) {
	return open(ctx, address, false)
}

// Make opens a store, and makes it first if it is not there.
func Make(ctx context.Context, address string) (*budget.Book, error) {
	return open(ctx, address, true)
}

func open(ctx context.Context, address string, create bool) (*budget.Book, error) {
	a, err := budget.ParseAddress(address)
	if err != nil {
		return nil, err
	}
	var s budget.Store
	if a.File != "" {
		s, err = sqlite.Open(ctx, a.File, create)
	} else {
		s, err = postgres.Open(ctx, a.Server, create)
	}
	if err != nil {
		return nil, err
	}
	return budget.NewBook(s), nil
}
