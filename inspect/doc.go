// Package inspect reads tables that one may look at: it says how a schema reads the
// cells of a table, and drafts a schema from a public one.
//
// Nothing in it is private. What it returns is computed from rows, without noise and
// without a charge, and quotes their cells: it is for those who may look at the rows, and
// not to be published. The private path (packages train and curator) does not import it,
// and it imports nothing that charges, trains or writes (docs/adr/0031).
package inspect
