package budget

import "context"

// Store keeps chains of rows, one of each dataset, and never changes or removes a
// row. What rows mean, and which may follow, is not its business: see [Book].
//
// Implementations are in packages sqlite and postgres below this one, and pass the
// suite in budgettest.
type Store interface {
	// Update runs one serializable transaction on a dataset's chain: no other appends
	// to the chain between what next is shown and what it appends. next sees the rows
	// after number from and returns the row to append, or nil for none, or an error,
	// with which the transaction ends and which Update returns. When Update returns nil
	// the row is on stable storage; when it returns an error of the store's own, it
	// may be or not.
	Update(ctx context.Context, dataset string, from int, next func(Tail) (*Row, error)) error
	// View returns the rows after number from, all as they are at one time.
	View(ctx context.Context, dataset string, from int) (Tail, error)
	// Datasets returns the names of all chains, in order.
	Datasets(ctx context.Context) ([]string, error)
	// Draw returns 32 hexadecimal digits that nobody can guess and that it never
	// returned before.
	Draw(ctx context.Context) (string, error)
	// Key returns 64 hexadecimal digits that were drawn with the store and never
	// leave it.
	Key(ctx context.Context) (string, error)
	// Mark keeps a dataset's keyed fingerprint, and returns the datasets that had the
	// same one before.
	Mark(ctx context.Context, dataset, fingerprint string) (others []string, err error)
	Close() error
}

// Row is a row of a chain.
type Row struct {
	// Text is an [Entry], exactly as it was written.
	Text string
	// Hash is that of the row before it, and of Text.
	Hash string
}

// Tail is the end of a chain.
type Tail struct {
	// Rows are those asked for, in order.
	Rows []Row
	// Length and Head are the number of all rows and the hash of the last, as the
	// store keeps them apart from the rows: a chain whose end is lost differs. Both
	// are zero where there is no chain.
	Length int
	Head   string
	// Before is the hash of row number from, which the rows follow; empty for 0, and
	// where the chain has no such row.
	Before string
	// Now is the store's clock, for people.
	Now string
}
