// Package experiment measures optimizers on generated problems whose every
// constant is known.
//
// A [Spec] is a grid in a YAML file: families of rows, dimensions, sizes,
// budgets, and algorithms by the names and settings of package train, some of
// them to be chosen on seeds that the measurement does not use. [Spec.Run]
// carries out the runs by simulated sessions and appends each, when it is
// finished, to a folder's runs.jsonl as a [Finished]: the [Trial] that settles it
// and its [Outcome]. It goes on from there however it was ended. A run repeats
// from its trial alone.
//
// [Summary] is what the runs show: medians and quartiles, exponents in the
// effective size and ratios at equal budget with bootstrap intervals, as plain
// tables, Markdown and a page of package report.
//
// Nothing here is private. Rows are made up, coins are seeded, and gradients are
// measured on the rows directly.
package experiment
