// Package train turns a configuration into a trained model whose parameters are differentially private. A fit
// opens the table with package curator, which is the only package that reads records. It makes a plan,
// reserves the privacy budget in a ledger file, runs the plan, and writes the model and the certificate.
//
// The words of this package: a release is a noisy answer computed from records. A charge is the part of the budget mu^2
// that a release spends. The effective size is n mu/sqrt(d) for n records and d weights ([optimize.Problem]). A curve
// is a piecewise linear function of a numeric column, and its knots are the points where the slope may change. The best
// constant is the model that predicts the same for every row and has the smallest loss.
package train
