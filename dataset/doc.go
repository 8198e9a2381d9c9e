// Package dataset describes a table in public terms and maps its cells to the rows that a model is
// trained on.
//
// A [Schema] names every column of a table and states public knowledge about it: the bounds of a number, the values of
// a category, the target. Nothing in a schema, and nothing about scaling, is ever read from records. Bounds taken from
// the table itself would be a release without accounting. A schema is written as a section of a YAML file:
//
//	schema:
//	  columns:                        # their order is the order of the features
//	    age:          {number: [17, 90]}
//	    capital_gain: {number: [0, 99999], transform: log1p}
//	    height:       {number: [120, 220], missing: indicator} # a missing one is a feature of its own
//	    admitted:     {date: [2019-01-01, 2024-12-31]}         # layout: "%d.%m.%Y" if not ISO 8601
//	    hours:        {number: [1, 99], curve: auto}           # a curve beside the line; curve: 6 has six knots
//	    fare:         {number: [0, 500], curve: [0, 10, 20, 50, 500]} # knots that are public knowledge, too
//	    bmi:          {number: [10, 60], curve: auto, monotone: up}   # predictions never fall as it grows
//	    workclass:    {category: [Private, Federal-gov, State-gov]}
//	    town:         {hash: 256}     # any value, in one of 256 buckets
//	    income:       {number: auto}  # nobody knows bounds: a description releases them (stillpoint describe)
//	    fnlwgt:       ignore
//	    split:        {public: [train, test]}         # known of every row; not a feature
//	  target: {column: income, classes: ["0", "1"]}   # of two, the negative class first
//	  interactions: [[workclass, sex], [age, hours]]  # optional: pairs of categories, numbers and dates
//	  curves: auto                    # optional: curve: auto for every number and date; curve: none exempts one
//	  where: split=train              # optional: only rows with this cell of a public column
//	  missing: ["", NA, "?"]          # optional: cells that mean missing
//	  norm: 10                        # optional: longer rows are cut to this norm
//	  unit: {column: person, rows: 8} # optional: all rows of a person are one record
//
// or, for regression, target: {column: delay, number: [-60, 240]}. A scalar is read as it is written: classes: [0, 1]
// and classes: ["0", "1"] are the same. Every column of the table appears in columns or in target. In
//
//	target: {column: claims, number: [0, 20], exposure: {column: years, number: [0.1, 1]}}
//	target: {column: income, classes: ["0", "1"], weight: w}
//
// the target also names the column of a count's exposure, clamped to its public bounds, or the
// column of a record's weight, clamped to [0, 1]. Neither is a feature.
//
// Bounds that nobody knows are written as number: auto and date: auto. A fit refuses them, unless its configuration
// names a description of the table, which has released bounds. A description reads such a number between -2^40 and
// 2^40, to within 2^-13, and such a date from 1850 to 2149.
//
// The cells of a public column are known to everybody for every row, such as a division into parts
// drawn beforehand. A public column is not a feature. Only a public column may have a row filter.
// [Filter] says which rows pass, and the consequence for neighbouring tables.
//
// # The row map
//
// [Schema.Bind] finds the columns of a schema in a header. [Map.Encode] maps the cells of one row to a float32 row of
// [Schema.Dim] features and a target. It is a pure function of the schema and of the cells of that row:
//
//  1. White space around a cell is dropped. A cell equal to one of the missing
//     markers is missing. (An empty cell is missing in effect even if it is
//     not listed: it is neither a number nor a category.)
//  2. A number is parsed as by [strconv.ParseFloat], which reads hexadecimal numbers and
//     underscores besides; such a cell is no number. It is clamped to its public
//     bounds lo, hi. Infinities and numbers too large for a float64 are clamped as
//     well. With transform log1p, the number x and both bounds are replaced by
//     log(1+x). The result t is mapped to u = 2 (t-lo)/(hi-lo) - 1 in [-1, 1].
//     A cell that is missing, NaN or not a number gives u = 0, the midpoint. Since a
//     person of unknown age is not a person of middle age, missing: indicator adds a
//     feature after the number, the indicator, which is 1 for such a cell and 0 for any other.
//     A date is the number of days since 1970-01-01 in the Gregorian calendar, with the
//     time of day as a fraction. Its bounds are days too. It is then mapped as a number. A
//     cell is read as ISO 8601: 2024-02-29 or 2024-02-29T18:30, optionally with seconds and
//     with Z or an offset from UTC. Without an offset the time is UTC. Fractions of a second are
//     dropped. If the schema states a layout, a cell is read as strptime reads it. The only
//     directives allowed are %Y, %m, %d, %H, %M and %S. %Y has four digits. Any other directive has
//     one or two digits, or exactly two if another directive is directly beside it. A day that is
//     not in the calendar, such as 2023-02-29, is not a date. The machine's time zone has no effect.
//  3. A category is one-hot: one feature for each listed value and a last feature,
//     other, for a missing cell and for every value that is not listed. Exactly
//     one of them is 1.
//     A hash is for columns without a public list of values. It has one feature for each
//     bucket and a last feature, other, for a missing cell. A public function assigns
//     each value to a bucket ([Hashing]). A model cannot distinguish values in the same bucket.
//     An interaction of two categories is one-hot, too: one feature for each pair of
//     their features, after the features of all columns.
//     A curve of K knots adds K features, called hats, after a number or date and its
//     indicator. (A number with a curve always has an indicator.) Hat i is a piecewise linear
//     function of u: 1 if u is knot i, 0 at all other knots. The knots are equally spaced
//     from -1 to 1. If the schema lists knots, they are mapped to [-1, 1] as cells are. At
//     most two neighbouring hats, 1-f and f, are not zero. Hats are multiplied by sqrt 2. If
//     the number is missing, all hats are zero. Hats are computed from the row's float32
//     features: u is the number's feature divided by the intercept's, and each hat is
//     rounded to float32.
//     An interaction of a category and a number or date has one feature for each pair of a
//     feature of the category and a hat of the number. An interaction of two numbers or dates has
//     one feature for each pair of hats. Each feature is the product of the pair. In interactions a
//     number has five knots, which are equally spaced or, if the schema lists knots, equally spaced
//     in the index of the listed knots.
//  4. The last feature is the constant 1, the intercept.
//  5. The row is divided by S, the largest norm that a row could have ([Schema.Scale]; see Norms).
//     The result x is divided by max(1, ||x||). Both divisions are in float64. Each feature is then
//     rounded to float32. If the schema states norm, S is this norm: most rows of a wide table are
//     far shorter than the largest possible norm, while the noise does not depend on their length.
//     A row longer than norm is scaled down to norm and keeps its direction. The norm must be public
//     knowledge, and rows may be longer.
//
// A target of two classes is -1 or +1. The negative class is listed first. A target of more classes is the index of the
// class in the list, from 0. A target that is a number is clamped to its bounds and mapped to [-1, 1].
//
// A row is malformed if it has the wrong number of cells, or if its target, weight or exposure is
// missing or invalid. A malformed row is encoded as zeros, and Encode returns false for it. It is still a
// record: it counts in the number of records and contributes zero. (With a privacy unit, [Unit] says which
// malformed rows belong to a record.) No error of this package depends on a record.
//
// # Norms
//
// The squared norm of a row before step 5 is a sum over its columns and interactions. Each number or date and the
// intercept contribute at most 1. (With an indicator, a number contributes u^2 + 0 if the cell is read and 0 + 1 if it
// is not.) Each category, hash or interaction of categories contributes exactly 1. A curve contributes at most 2,
// because the squares of 1-f and f add up to at most 1. An interaction with one number contributes at most 2, an
// interaction of two numbers at most 4. S^2 is the sum of these bounds. It does not depend on the number of knots. For
// hats, step 5 uses the bound and not the value, so that a row's divisor does not depend on where the knots are.
//
// Hats are computed from rounded features and rounded again. The factor of hats is therefore not sqrt 2 but sqrt 2 (1 -
// 2^-20). The difference is more than the rounding to float32 of the number, of the intercept and of the hat can add.
//
// Therefore ||x|| <= S for all cells unless the schema states norm, and the division by max(1, ||x||) changes nothing
// in exact arithmetic. In float64, the sum of squares has at most K = S^2 terms (without a stated norm), with a
// relative error of about 2^-53 each. If rounding makes the sum exceed 1, the division by max(1, ||x||) brings it back
// to 1. With K <= 2^20 (a rule of [New]) the norm then is at most 1 + (K/2+3) 2^-53 < 1 + 2^-33. Rounding to float32
// multiplies each feature by at most 1 + 2^-24 or, below the normal range, changes it by at most 2^-150. The norm of
// every encoded row is therefore below [NormBound] = 1 + 2^-23.
//
// # Agreement across machines
//
// Every step uses correctly rounded operations in a fixed order, with no product and sum that a compiler may fuse, and
// the log1p of internal/repromath. (The log1p of package math is assembly on some machines and may be compiled with
// fused operations on others.) The same cells give the same bits on every machine.
package dataset
