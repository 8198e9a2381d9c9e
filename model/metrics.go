package model

import (
	"fmt"
	"strings"
)

// Metrics is what an evaluation measured. It is not private. Measures that do
// not apply are nil and left out of JSON.
type Metrics struct {
	// Private is always false: the numbers come directly from the table.
	Private bool `json:"private"`
	// N counts the rows scored: kept by the filter, well-formed, with a target.
	N int64 `json:"n"`
	// Skipped counts the rows that the filter kept and that were not scored. A
	// row with the wrong number of cells is kept by every filter.
	Skipped int64 `json:"skipped"`
	// Accuracy is the share of rows whose class is predicted (classes).
	Accuracy *float64 `json:"accuracy,omitempty"`
	// AUC is the area under the receiver operating characteristic, ties counting
	// half (two classes, both present).
	AUC *float64 `json:"auc,omitempty"`
	// LogLoss is the mean of -log(probability of the true class), base e
	// (logistic and softmax loss).
	LogLoss *float64 `json:"log_loss,omitempty"`
	// MacroF1 is the mean over classes of the harmonic mean of precision and recall,
	// over those that rows have or are predicted for (more than two classes).
	MacroF1 *float64 `json:"macro_f1,omitempty"`
	// RMSE and MAE are the root mean square and the mean absolute error in the
	// target's units (regression). The error is against the cell as it is, not
	// clamped to the public bounds; only an infinite cell counts as its bound.
	RMSE *float64 `json:"rmse,omitempty"`
	MAE  *float64 `json:"mae,omitempty"`
	// ShareBelow is the share of rows whose target is below the prediction, which a fit
	// of pinball(tau) brings near tau (pinball loss).
	ShareBelow *float64 `json:"share_below,omitempty"`
	// Deviance is the mean of 2 (k log(k/rate) - (k - rate)) over counts k, clamped to the
	// public bounds (poisson loss): 0 where every count is predicted, and about 1 where
	// counts scatter as Poisson's law says, if they are not too small.
	Deviance *float64 `json:"deviance,omitempty"`
	// Objective is the mean loss over the rows scored plus the regularizer, and
	// GradientNorm the Euclidean norm of its gradient at the weights, both on
	// encoded rows and targets, which is what training minimises.
	Objective    *float64 `json:"objective,omitempty"`
	GradientNorm *float64 `json:"gradient_norm,omitempty"`
	// LeastEigenvalue is that of the objective's Hessian at the weights, as Lanczos's
	// method found it, and EigenvalueResidual how far from an eigenvalue it may be
	// (EvaluateStationarity). Where it is well below zero the weights are a saddle or
	// worse, however small the gradient.
	LeastEigenvalue    *float64 `json:"least_eigenvalue,omitempty"`
	EigenvalueResidual *float64 `json:"eigenvalue_residual,omitempty"`
	// Confusion is nil but for more than two classes.
	Confusion *Confusion `json:"confusion,omitempty"`
	// Calibration is nil where no probability is predicted.
	Calibration *Calibration `json:"calibration,omitempty"`
}

const notPrivate = "NOT private: computed directly from the table; do not publish without accounting."

// String is a table, one measure a line, under a line that says it is not
// private.
func (m Metrics) String() string {
	var b strings.Builder
	b.WriteString(notPrivate + "\n")
	width := len("gradient_norm")
	for _, row := range m.measures() {
		if row.value != nil {
			width = max(width, len(row.name))
		}
	}
	fmt.Fprintf(&b, "%-*s  %d\n%-*s  %d\n", width, "n", m.N, width, "skipped", m.Skipped)
	for _, row := range m.measures() {
		if row.value != nil {
			fmt.Fprintf(&b, "%-*s  %.6g\n", width, row.name, *row.value)
		}
	}
	if m.Confusion != nil {
		b.WriteString(m.Confusion.String())
	}
	if m.Calibration != nil {
		b.WriteString(m.Calibration.String())
	}
	return b.String()
}

type measure struct {
	name  string // as in JSON, where it stands alone
	value *float64
}

func (m Metrics) measures() []measure {
	var calibration *float64
	if m.Calibration != nil {
		calibration = &m.Calibration.Error
	}
	return []measure{
		{"accuracy", m.Accuracy},
		{"auc", m.AUC},
		{"log_loss", m.LogLoss},
		{"macro_f1", m.MacroF1},
		{"calibration", calibration},
		{"rmse", m.RMSE},
		{"mae", m.MAE},
		{"share_below", m.ShareBelow},
		{"deviance", m.Deviance},
		{"objective", m.Objective},
		{"gradient_norm", m.GradientNorm},
		{"least_eigenvalue", m.LeastEigenvalue},
		{"eigenvalue_residual", m.EigenvalueResidual},
	}
}
