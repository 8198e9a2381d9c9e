//go:build mutants

// Mutants seeds defects into the source, one at a time, runs the tests that
// should catch each and writes down which did.
//
//	go run -tags mutants ./audit/mutants [-run REGEXP] [-resume] [-check]
//
// is run in the module's root. mutants.txt lists the defects and says how one is
// added. caught.tsv keeps what the latest run of each found, and docs/mutants.md
// is written from the two. The source itself is never touched: the go command
// is given the changed file as an overlay.
//
// It exits with status 1 if a mutant survives, does not compile or no longer
// fits the source, or if the tests fail without it.
package main
