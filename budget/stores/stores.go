// Package stores opens stores of budgets by their addresses. It is separate from package budget, so
// that only programs that open stores link the databases' drivers. The build tag small leaves the drivers out,
// which takes a third off the time of a first build: opening a store is then an error.
package stores

import (
	"context"

	"github.com/stillpoint-dp/stillpoint/budget"
)

// Open opens an existing store by its address (see budget.ParseAddress). It returns an error if
// there is no store at the address.
func Open(ctx context.Context, address string) (*budget.Book, error) {
	return open(ctx, address, false)
}

// Make opens a store, and creates it first if it does not exist.
func Make(ctx context.Context, address string) (*budget.Book, error) { return open(ctx, address, true) }

func open(ctx context.Context, address string, create bool) (*budget.Book, error) {
	a, err := budget.ParseAddress(address)
	if err != nil {
		return nil, err
	}
	s, err := connect(ctx, a, create)
	if err != nil {
		return nil, err
	}
	return budget.NewBook(s), nil
}
