package budget

import "context"

// Store keeps chains of rows, one for each dataset, and never changes or removes a row. It knows
// neither the meaning of rows nor the rules by which they follow each other: see [Book].
//
// The packages sqlite and postgres below this package implement it and pass the suite in
// budgettest.
type Store interface {
	// Update runs one serializable transaction on a dataset's chain: no other transaction appends
	// to the chain in between. It calls next with the rows after number from. next returns the row
	// to append, or nil for none, or an error. An error of next ends the transaction without a row,
	// and Update returns it. If Update returns nil, the row is on stable storage. If it returns an
	// error of the store, the row may or may not be stored.
	Update(ctx context.Context, dataset string, from int, next func(Tail) (*Row, error)) error
	// View returns the rows after number from, in one consistent snapshot.
	View(ctx context.Context, dataset string, from int) (Tail, error)
	// Datasets returns the names of all chains, sorted.
	Datasets(ctx context.Context) ([]string, error)
	// Draw returns 32 random hexadecimal digits that nobody can guess and that were never returned
	// before.
	Draw(ctx context.Context) (string, error)
	// Key returns 64 random hexadecimal digits, the same on every call. They were drawn with the
	// store and never leave it.
	Key(ctx context.Context) (string, error)
	// Mark stores a dataset's keyed fingerprint. It returns the other datasets with the same
	// fingerprint.
	Mark(ctx context.Context, dataset, fingerprint string) (others []string, err error)
	Close() error
}

// Row is a row of a chain.
type Row struct {
	// Text is the encoding of an [Entry].
	Text string
	// Hash is the hash of Text and of the hash of the row before.
	Hash string
}

// Tail is the end of a chain.
type Tail struct {
	// Rows are the requested rows, in order.
	Rows []Row
	// Length is the number of all rows, zero if there is no chain. The store keeps Length and Head
	// apart from the rows, so that a chain that lost its end does not match them.
	Length int
	// Head is the hash of the last row, empty if there is no chain.
	Head string
	// Before is the hash of row number from, the row before Rows. It is empty for 0, and if the
	// chain has no such row.
	Before string
	// Now is the store's clock. Nothing depends on it.
	Now string
}
