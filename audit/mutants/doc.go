//go:build mutants

// Mutants seeds defects into the source, one at a time, runs the tests that should catch each
// defect, and records which test did.
//
//	go run -tags mutants ./audit/mutants [-run REGEXP] [-resume] [-check] [-page]
//	go run -tags mutants ./audit/mutants -sample N [-minutes M] [-seed S]
//
// It is run in the module's root. mutants.txt lists the defects and explains how to add one.
// caught.tsv keeps the latest verdict on each defect, and docs/mutants.md is written from the two
// files. The source itself is never changed: the go command gets the changed file as an overlay.
//
// A mutant is the source with one of the defects. A test catches a defect if it fails with the
// defect, fails again when run alone, and passes without the defect. A defect is not caught if no
// test fails, if a test fails once and then passes (flaky), or if the tests only run out of time. A
// defect that does not compile or no longer fits the source is an error, and so are tests that fail
// without it.
//
// A defect in the Python package is tested by pytest, in the environment that python/test.sh makes.
// If the environment cannot be made, the defect is listed as needing Python. It then counts neither
// as caught nor as a failure of the run.
//
// The test that caught a defect the last time is run first. If it passes, all tests that the table
// names are run.
//
// With -sample a random sample of defects is run and no file is written: continuous integration
// does so with each change. The sample is drawn from all defects, by a seed that is printed: those
// that were not caught or never run may be drawn, too, and fail the run if nothing catches them. A
// defect of the Python package is skipped with a word if the environment cannot be made.
//
// The exit status is 1 if a mutant is not caught or there was an error.
package main
