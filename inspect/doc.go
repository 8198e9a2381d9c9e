// Package inspect reads tables that the user may look at: it reports how a schema reads the cells
// of a table, and drafts a schema from a public table.
//
// Nothing in it is private. Its results are computed from rows, without noise and without
// accounting, and quote cells: they are for people who may see the rows, and must not be published.
// The private path (packages train and curator) does not import it, and it imports nothing that
// charges, trains or writes (docs/adr/0031).
package inspect
