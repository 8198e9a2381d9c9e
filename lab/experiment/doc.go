// Package experiment measures optimizers on generated problems whose constants are all known.
//
// A [Spec] is a grid, read from a YAML file: families of rows, dimensions, sizes, budgets, and algorithms
// with the names and settings of package train. Settings may be chosen by tuning, on seeds that the
// measurement does not use. [Spec.Run] carries out the runs in simulated sessions. It appends each finished
// run to the folder's runs.jsonl as a [Finished]: the [Trial], which determines the run, and its [Outcome].
// After an interruption Spec.Run carries out the missing runs.
//
// [Summary] holds the results as plain tables, Markdown, and a page of package report: medians and
// quartiles, exponents of gradient norms as powers of the effective size, and ratios between algorithms at
// equal budget, with bootstrap intervals.
//
// The package protects no records. Rows are generated, random bits are seeded, and gradients are measured
// on the rows directly.
package experiment
