// Package export writes a model as a program of another system: a graph for
// ONNX runtimes, or a query for a database.
//
// What is written holds the model's weights and its schema's public facts, which
// the model file holds as well, and costs no privacy. It computes what
// [model.Model.Predict] does, by the row map of package dataset: cells, clamp,
// transform, unit, one-hot, norm, the rounding to float32, margins, link.
//
// # What differs from cells of text
//
// Predict reads text. A graph and a table in a database have types, and so
//
//   - a number is a number: none (NULL), and NaN, are missing. A missing marker that
//     reads as a number is the number: "-9" also takes away a -9.0;
//   - a date is, in a graph, the number of days since 1970-01-01, 00:00 UTC, with
//     fractions: what predict reads of a cell, whatever its layout. A query reads a
//     date or time of the database, or a text, as ISO 8601; a text that only looks like
//     a date, such as 2023-02-30, ends PostgreSQL's. Models of other layouts are no queries;
//   - a category of a graph is a text without white space around it, and a missing
//     one is any text that is not listed, such as "". Queries trim it themselves;
//   - there are no malformed rows;
//   - hashed columns are for queries: ONNX has no operator that tells a text's
//     characters. Databases keep no texts that are not UTF-8, nor, most, with a zero byte.
//
// # Agreement
//
// Sums of margins are not ordered, and logarithms and exponentials are the other
// system's. In float64 both come to a few units in the last place of the largest
// product of a weight and a feature. Before the rounding to float32 an error of one
// unit can move a feature of a number to the neighbouring float32, 6e-8 of it away,
// with probability below 2^-26 a cell; a margin that is 0 but for rounding may have
// the other class.
package export
