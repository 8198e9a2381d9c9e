// Package train turns a configuration into a trained model whose parameters are differentially private. A
// fit opens the table with package curator, the only package that reads records, makes a plan, reserves the
// privacy budget in a ledger file, runs the plan, and writes the model and the certificate.
//
// The words of this package: a release is a noisy answer computed from records. A charge is the part of the
// budget mu^2 that a release spends. The effective size is n mu/sqrt(d) for n records and d weights
// ([optimize.Problem]). Knots are the points between which a curve of a numeric column is linear. The best
// constant is the model that predicts the same for every row and has the smallest loss.
package train
