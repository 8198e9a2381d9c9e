// Package describe describes a table by private releases: shares of the values of categories and of missing cells,
// quantiles, means and standard deviations of numbers and dates, and all of them by the values of one category.
//
// A description is made of three mean rows (query.RowMean), each of the whole table. The rows have hats (values of
// basis functions of curves) for each number, at knots that a stage chooses from the answers before it:
//
//  1. The first mean row has a coarse histogram of each number, over its public bounds. For a number without public
//     bounds its knots are 1, 2 and 5 times powers of ten, of both signs. It says where the numbers are.
//  2. The second has a fine histogram there, for quantiles and the standard deviation.
//  3. The third has few knots, for means with little noise.
//
// Shares are in all three, whose weighted mean is shown. Everything after a release is a function of released and
// public numbers alone. Intervals are of the table's own values and cover the privacy noise; they say nothing about a
// population from which the table was drawn.
package describe
