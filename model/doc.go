// Package model is the published result of a run: the file that holds a model,
// and what is done with it.
//
// # The file
//
// A JSON object, indented by two spaces, its members always in the same order,
// one newline at the end: format, version, software, complete, privacy, loss,
// regularizer, schema, features, weights. The schema is all that is needed to
// map a table's cells to features (see package dataset); the features' names
// repeat what follows from it, for the reader, and are checked. Weights keep
// every bit. Every one of these members is required, none may appear twice. Three more
// may be there: warnings after complete, what a reader has to know first; csv at the end,
// which says how the table was written; and clamped, which is true where predictions are
// clamped to the target's public bounds. No others are allowed.
//
// The privacy member is copied for the reader. What it says is proved, if
// anywhere, by the certificate whose file it names, which holds the SHA-256 of
// the model file; see package certificate.
//
// # What is done with it
//
// [Model.Predict] reads a table and writes predictions. Applying a published
// model to other records is post-processing and costs no privacy of the records
// it was trained on; the predictions are as sensitive as the records they are
// for.
//
// [Model.Evaluate] measures a model against a table's targets. IT IS NOT
// PRIVATE: the numbers are computed directly from the table, exactly and without
// noise, and every one of them is a fact about its records.
package model
