// Package train turns a configuration into a released model. It opens the table with the curator, the
// only package that reads records, makes a plan, reserves the budget in a ledger file, runs the plan
// and writes the model with its certificate.
package train
