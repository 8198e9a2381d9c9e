// Package export writes a model as a program for another system: a graph for ONNX runtimes, or a
// query for a database.
//
// The output contains the model's weights and the public facts of its schema. The model file contains the
// same facts, so exporting costs no privacy. The program computes what [model.Model.Predict] computes, in
// the same steps: reading cells, clamping, transforming and scaling numbers, one-hot encoding categories,
// dividing by the norm, rounding to float32, computing margins, and applying the link function.
//
// # Differences from text cells
//
// Predict reads text. The inputs of a graph and the columns of a database have types. This has the following
// consequences:
//
//   - A number column has numbers. NULL and NaN are missing. A missing marker that
//     is a number stands for its value: the marker "-9" also makes -9.0 missing.
//   - A date in a graph is the number of days since 1970-01-01, 00:00 UTC, with
//     fractions, as Predict computes it from a cell of any layout.
//   - A date in a query is a date or time of the database, or a text in ISO 8601. A text
//     that only looks like a date, such as 2023-02-30, ends a PostgreSQL query with an
//     error. A model with another date layout cannot be exported as a query.
//   - A category in a graph is a string without surrounding white space. A string that
//     is not listed, such as "", is missing. Queries trim white space themselves.
//   - There are no malformed rows: every row has all cells, and the target is not read.
//   - A model with hash columns can be exported only as a query: ONNX has no operator that
//     gives the characters of a string. Databases store only UTF-8 text, and most databases
//     store no text with a zero byte.
//
// # Agreement
//
// The results differ slightly from those of Predict. The order of summation in margins is not fixed, and
// the other system computes logarithms and exponentials. In float64 these two causes give errors of a few
// units in the last place of the largest product of a weight and a feature. Before the rounding to float32,
// an error of one unit in the last place can move the feature of a number to the neighbouring float32, a
// relative change of 6e-8. For one cell this has a probability below 2^-26. If a margin is 0 up to rounding
// errors, the predicted class may differ. For a model with features of effects two roundings to float32 are left
// out, so that each product of a weight and a feature may differ by a relative 1.2e-7.
package export
