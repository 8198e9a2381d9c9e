//go:build mutants

// Mutants seeds defects into the source, one at a time, runs the tests that should catch each
// defect, and records which test did.
//
//	go run -tags mutants ./lab/mutants [-run REGEXP] [-resume] [-check] [-status]
//	go run -tags mutants ./lab/mutants -sample N [-minutes M] [-seed S]
//
// It is run in the module's root. mutants.txt lists the defects, which were written by hand for the code that guards
// people, and explains how to add one. Package lab/draw draws defects of other code. caught.tsv keeps the latest verdict
// on each defect, and -status counts the verdicts that hold for the source as it is. The source itself is never changed:
// the go command gets the changed file as an overlay.
//
// A mutant is the source with one of the defects. A test catches a defect if it fails with the defect,
// fails again when run alone, and passes without the defect. A defect is not caught if no test fails, if a
// test fails once and then passes (flaky), or if the only failure is that a test exceeds the time limit. It
// is an error if a defect does not compile, if the text that it replaces does not occur exactly once in its
// file, or if its tests fail without the defect.
//
// The test that caught a defect the last time is run first. If this test passes, all tests that mutants.txt
// names for the defect are run.
//
// With -sample a random sample of defects is run and no file is written. Continuous integration runs such a
// sample with each change. The sample is drawn from all defects, including those that were not caught or
// never run. The seed of the sample is printed. The run fails if a defect of the sample is not caught.
//
// The exit status is 1 if a mutant is not caught or there was an error.
package main
