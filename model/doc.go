// Package model reads, writes, applies and evaluates the published result of a run: the model file.
//
// # The file
//
// The file is a JSON object, indented by two spaces, with one newline at the end. Its members always have the same
// order. The required members are format, version, software, complete, privacy, loss, regularizer, schema, features and
// weights. The schema suffices to map a table's cells to features (see package dataset). The names of the features
// follow from the schema; the file repeats them for the reader, and [Read] checks them. Weights are written so that
// they are read back without rounding. No member may appear twice. The only other members allowed are optional:
//
//   - warnings, after complete: facts that a reader has to know first;
//   - csv, after weights: the dialect of the table;
//   - clamped: true if predictions are clamped to the target's public bounds;
//   - inference: the released numbers from which confidence intervals are computed.
//
// The privacy member is a copy for the reader. It names the file of the certificate, which proves its
// statements and contains the SHA-256 of the model file; see package certificate.
//
// # Uses
//
// [Model.Predict] reads a table and writes predictions. Applying a published model to other records is post-processing
// and costs no privacy of the records it was trained on. The predictions are as sensitive as the records they are for.
//
// [Model.Evaluate] measures a model against a table's targets. IT IS NOT PRIVATE: the numbers are computed
// from the table's records exactly, without noise.
package model
