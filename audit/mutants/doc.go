//go:build mutants

// Mutants seeds defects into the source, one at a time, runs the tests that
// should catch each and writes down which did.
//
//	go run -tags mutants ./audit/mutants [-run REGEXP] [-resume] [-check]
//	go run -tags mutants ./audit/mutants -sample N [-minutes M] [-seed S]
//
// is run in the module's root. mutants.txt lists the defects and says how one is
// added. caught.tsv keeps what the latest run of each found, and docs/mutants.md
// is written from the two. The source itself is never touched: the go command
// is given the changed file as an overlay.
//
// A defect is caught by a test that fails with it, fails with it again when run
// alone, and passes without it. Not caught is what no test notices, what a test
// notices once and not twice (flaky), and what only runs out of time. A defect
// that does not compile or no longer fits the source is an error, as are tests
// that fail without it.
//
// A defect in the Python package is tested by pytest, in the environment that
// python/test.sh makes. Where that cannot be made, the defect needs Python: it is
// listed so, and is neither caught nor a failure of the run.
//
// The test that caught a defect the last time is run first. That decides the
// order only: if it passes, all the tests that the table names are run.
//
// A sample puts what caught.tsv claims to the test: it is drawn, by a seed that is
// printed, from the mutants that were caught when they were last run, and writes no
// files. It is for continuous integration. Those not caught, or not run since they
// were changed, are on the page.
//
// It exits with status 1 if a mutant is not caught or there was an error.
package main
