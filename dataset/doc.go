// Package dataset describes a table in public terms and maps its cells to the
// rows that a model is trained on.
//
// A [Schema] names every column of a table and gives what is publicly known
// about it: the bounds of a number, the values of a category, the target.
// Nothing in it, and nothing about scaling, is ever read from records; bounds
// taken from the table itself would be a release that nobody accounted for.
// A schema is written as a section of a YAML file:
//
//	schema:
//	  columns:                        # their order is the order of the features
//	    age:          {number: [17, 90]}
//	    capital_gain: {number: [0, 99999], transform: log1p}
//	    height:       {number: [120, 220], missing: indicator} # a missing one is a feature of its own
//	    admitted:     {date: [2019-01-01, 2024-12-31]}         # layout: "%d.%m.%Y" if not ISO 8601
//	    workclass:    {category: [Private, Federal-gov, State-gov]}
//	    town:         {hash: 256}     # any value, in one of 256 buckets
//	    fnlwgt:       ignore
//	    split:        {public: [train, test]}         # known of every row; not a feature
//	  target: {column: income, classes: ["0", "1"]}   # of two, the negative class first
//	  interactions: [[workclass, sex]]                # optional: pairs of categories
//	  where: split=train              # optional: only rows with this cell of a public column
//	  missing: ["", NA, "?"]          # optional: cells that mean missing
//	  norm: 10                        # optional: longer rows are cut to this norm
//	  unit: {column: person, rows: 8} # optional: all rows of a person are one record
//
// or, for regression, target: {column: delay, number: [-60, 240]}. A scalar is
// taken as it is written: classes: [0, 1] and classes: ["0", "1"] are the same.
// Every column of the table appears in columns or in target, where
//
//	target: {column: claims, number: [0, 20], exposure: {column: years, number: [0.1, 1]}}
//	target: {column: income, classes: ["0", "1"], weight: w}
//
// name the column of a count's exposure, clamped to its public bounds, and that of a
// record's weight, clamped to [0, 1]. Neither is a feature.
//
// A public column is one whose cell is known of every row to everybody, such as a
// division drawn beforehand; it is no feature, and the only kind of column that a
// row filter may be on. [Filter] says which rows pass, and what that means for
// neighbouring tables.
//
// # The row map
//
// [Schema.Bind] resolves the columns of a header; [Map.Encode] maps the cells
// of one row to a float32 row of [Schema.Dim] features and a target. It is a
// pure function of the schema and of that row's cells:
//
//  1. White space around a cell is dropped. A cell equal to one of the missing
//     markers is missing. (An empty cell is missing in effect even if it is
//     not listed: it is neither a number nor a category.)
//  2. A number is parsed as by [strconv.ParseFloat] and clamped to its public
//     bounds lo, hi; infinities and numbers too large for a float64 clamp as
//     well. With transform log1p, cell and bounds are replaced by their
//     log(1+x). The result t is mapped to u = 2 (t-lo)/(hi-lo) - 1 in [-1, 1].
//     A cell that is missing, NaN or no number gives u = 0, the midpoint. A person of
//     unknown age is not one of middle age, though: with missing: indicator a feature
//     after the number is 1 for such a cell and 0 for any other.
//     A date is the number of days since 1970-01-01 of the Gregorian calendar, bounds
//     as well, times of the day being fractions of one; then it is a number. A cell is
//     read as ISO 8601 (2024-02-29, 2024-02-29T18:30, with seconds and an offset
//     from UTC or Z if there are any; without one it is UTC; fractions of a second are dropped)
//     or, where the schema states a layout, as strptime reads %Y, %m, %d, %H, %M and %S
//     and nothing else: %Y has four digits, the others two or, unless another directive
//     stands beside them, one. A day that the calendar has not, such as 2023-02-29, is no
//     date. The zone of the machine has no part in it.
//  3. A category is one-hot: one feature for each listed value and a last one,
//     other, for a missing cell and for every value that is not listed. Exactly
//     one of them is 1.
//     A hash is for values that no public list has: one feature for each of its
//     buckets, into which a public function throws values by their bytes, and a last
//     one, other, for a missing cell. Values that share a bucket are one to the model.
//     An interaction of two categories is one-hot, too: one feature for each pair of
//     theirs, after the features of all columns.
//  4. The last feature is the constant 1, the intercept.
//  5. The row is divided by S = sqrt(#numbers + #dates + #categories + #hashes + #interactions + 1),
//     the largest norm it could have ([Schema.Scale]), then by max(1, ||x||), all in
//     float64, and each feature is rounded to float32. Where the schema says norm,
//     that is S: rows of a wide table are mostly far shorter than the longest that
//     could be, and noise is as large whatever their length. Longer rows keep their
//     direction. The norm must be public knowledge, and is no promise: a row that
//     is longer is cut like any other.
//
// A target of two classes is -1 or +1 (the negative class is listed first), one of
// more classes the class's place in the list, from 0; a number is clamped to its bounds and mapped to [-1, 1].
//
// A row with the wrong number of cells, or whose target, weight or exposure is missing
// or invalid,
// encodes as zeros and is reported as not ok. It is still a row: it counts, and
// contributes zero. No error of this package depends on a record.
//
// # Norms
//
// Each number or date and the intercept contribute at most 1 to the squared norm before
// step 5 (with an indicator u^2 + 0 where the cell is read and 0 + 1 where it is not) and each category, hash or interaction exactly 1, so ||x|| <= S whatever the cells hold
// unless the schema says norm, and the division by max(1, ||x||) changes nothing
// in exact arithmetic. In float64 the at most K = #numbers + #dates + #categories + #hashes + #interactions + 1
// quotients that are not zero carry a relative error of about 2^-53 each, and
// the division brings a sum of squares that rounding took past 1 back to it.
// With K <= 2^20 (a rule of [New]) the norm then is at most
// 1 + (K/2+3) 2^-53 < 1 + 2^-33. Rounding to float32 multiplies each feature by
// at most 1 + 2^-24 or, below the normal range, moves it by at most 2^-150. So
// the norm of every encoded row is below [NormBound] = 1 + 2^-23.
//
// # Agreement across machines
//
// Every step uses correctly rounded operations in a fixed order, with no
// product left open to fusing, and a log1p of our own (the one in package math
// is assembly on some machines and may be compiled with fused operations on
// others). The same cells give the same bits everywhere.
package dataset
