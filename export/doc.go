// Package export writes a model as a program for another system: a graph for ONNX runtimes, or a
// query for a database.
//
// The output contains the model's weights and the public facts of its schema. The model file contains them
// as well, so exporting costs no privacy. The program computes what [model.Model.Predict] computes, in the
// same steps: reading cells, clamping, transforming and scaling numbers, one-hot encoding categories,
// dividing by the norm, rounding to float32, margins, and the link function.
//
// # Differences from text cells
//
// Predict reads text. The inputs of a graph and the columns of a database have types. Therefore
//
//   - a number is a number: NULL and NaN are missing. A missing marker that
//     is a number stands for its value: the marker "-9" also makes -9.0 missing;
//   - a date is, in a graph, the number of days since 1970-01-01, 00:00 UTC, with
//     fractions, as Predict computes it from a cell of any layout. A query reads a
//     date or time of the database, or a text in ISO 8601; a text that only looks like
//     a date, such as 2023-02-30, ends a PostgreSQL query with an error. A model with another
//     date layout cannot be exported as a query;
//   - a category of a graph is a string without surrounding white space; a missing
//     one is any string that is not listed, such as "". Queries trim white space themselves;
//   - there are no malformed rows;
//   - hash columns are for queries only: ONNX has no operator that gives the characters of a
//     string. Databases store only UTF-8 text, and most store none with a zero byte.
//
// # Agreement
//
// The order of summation in margins is not fixed, and logarithms and exponentials are the other
// system's. In float64 both cause errors of a few units in the last place of the largest product of
// a weight and a feature. Before the rounding to float32 an error of one unit in the last place can
// move the feature of a number to the neighbouring float32, a relative change of 6e-8, with
// probability below 2^-26 for a cell. A margin that is 0 up to rounding may give the other class.
package export
