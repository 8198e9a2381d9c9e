// Package inspect reads tables that the user may look at. It reports how a schema reads the cells
// of a table, and drafts a schema from a public table.
//
// The results of this package are not private. They are computed from rows, without noise and without
// accounting, and they quote cells. They are for people who may see the rows, and must not be published.
// The private packages (train and curator) do not import this package. This package imports no package that
// spends budget, trains or writes (docs/explanation/decisions/0031).
package inspect
