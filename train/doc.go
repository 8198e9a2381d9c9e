// Package train turns a configuration into a released model: it opens the table
// behind the curator's wall, settles a plan, reserves the budget in a file,
// runs the plan and writes the model with its certificate.
package train
