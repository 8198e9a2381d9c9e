package model

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stillpoint-dp/stillpoint/internal/safetext"
)

// Metrics holds the results of an evaluation. They are not private. A measure that does not apply to the
// model or the table is nil and absent from JSON.
type Metrics struct {
	// Private is always false: the numbers come directly from the table.
	Private bool `json:"private"`
	// N is the number of rows that were scored: rows that the filter keeps, that are well-formed and that
	// have a valid target.
	N int64 `json:"n"`
	// Skipped is the number of rows that the filter keeps but that were not scored. A row with the wrong
	// number of cells is kept by every filter.
	Skipped int64 `json:"skipped"`
	// Accuracy is the fraction of rows whose class is predicted correctly. It is set if the target has
	// classes.
	Accuracy *float64 `json:"accuracy,omitempty"`
	// AUC is the area under the receiver operating characteristic, with ties counted half. It is set for two
	// classes if rows of both occur.
	AUC *float64 `json:"auc,omitempty"`
	// LogLoss is the mean of -log(predicted probability of the true class), base e. It is set for the
	// logistic loss and for losses of more than two classes.
	LogLoss *float64 `json:"log_loss,omitempty"`
	// MacroF1 is the mean of F1 over the classes that occur in rows or in predictions. F1 is the harmonic
	// mean of a class's precision and recall. MacroF1 is set for more than two classes.
	MacroF1 *float64 `json:"macro_f1,omitempty"`
	// ClassError is the mean of the number of classes by which the predicted class is off. It is set for ordered
	// classes.
	ClassError *float64 `json:"class_error,omitempty"`
	// RankCorrelation is Spearman's rank correlation of predictions and targets, with mean ranks for ties. It is set for
	// counts and for positive numbers (gamma) that are not all equal.
	RankCorrelation *float64 `json:"rank_correlation,omitempty"`
	// RMSE and MAE are the root mean square error and the mean absolute error in the target's units. They are
	// set for numbers and counts. The true value is the number in the cell, not clamped to the public bounds;
	// only an infinite number counts as the bound on its side.
	RMSE *float64 `json:"rmse,omitempty"`
	MAE  *float64 `json:"mae,omitempty"`
	// ShareBelow is the fraction of rows whose target is below the prediction. It is set for the pinball
	// loss. For a good fit of pinball(tau) it is near tau.
	ShareBelow *float64 `json:"share_below,omitempty"`
	// Deviance is the mean of 2 (k log(k/rate) - (k - rate)) over counts k, which are clamped to the public bounds, and
	// for a gamma loss the mean of 2 (k/rate - 1 - log(k/rate)). rate is the predicted count or number. Deviance is set
	// for losses of counts and for gamma. It is 0 if every count is predicted exactly. It is about 1 if the counts have
	// a Poisson distribution with the predicted rates as means, and these are not too small.
	Deviance *float64 `json:"deviance,omitempty"`
	// Concordance is Harrell's index for the time to an event: of the pairs of rows of which one has the event while the
	// other is still observed without it, the share in which the first has the larger predicted risk. A tie counts half.
	Concordance *float64 `json:"concordance,omitempty"`
	// UnoConcordance is Concordance with a weight of each pair, the inverse square of the probability of being observed
	// until the event (Uno et al. 2011). It does not depend on how long rows were observed. It, Brier and IntegratedBrier
	// are set for the time to an event if every row was observed from time 0.
	UnoConcordance *float64 `json:"concordance_uno,omitempty"`
	// Horizon is the time up to which events count in the measures of the time to an event.
	Horizon *float64 `json:"horizon,omitempty"`
	// Brier is the mean squared error of the predicted probability of no event by the horizon, with weights that make up
	// for rows that were observed for a shorter time (Graf et al. 1999). It is not set if no row was observed until then.
	Brier *float64 `json:"brier,omitempty"`
	// IntegratedBrier is the mean of such scores over times up to the horizon, or up to the last time of a row.
	IntegratedBrier *float64 `json:"integrated_brier,omitempty"`
	// Predicted and Observed are calibration in the large: the mean of what was predicted of rows and of what was observed.
	// For two classes this is the second one's share, for numbers the number, for the time to an event the number of events
	// while a row was observed. Slope is the calibration slope (Cox 1958): that of a regression of what was observed on the
	// score, with the link of the model. It is below 1 if predictions are too extreme, and is not set if all are equal. The
	// three are set for two classes with a probability, numbers and the time to an event.
	Predicted *float64 `json:"predicted,omitempty"`
	Observed  *float64 `json:"observed,omitempty"`
	Slope     *float64 `json:"calibration_slope,omitempty"`
	// Groups are the means by the values of a column; nil without one.
	Groups []group `json:"groups,omitempty"`
	// Objective is the mean loss over the rows scored plus the regularizer. GradientNorm is the Euclidean norm of the
	// objective's gradient at the weights. Both are computed on encoded rows and targets, as in training.
	Objective    *float64 `json:"objective,omitempty"`
	GradientNorm *float64 `json:"gradient_norm,omitempty"`
	// LeastEigenvalue is the least eigenvalue of the objective's Hessian at the weights, by Lanczos's method.
	// EigenvalueResidual is an upper bound on the distance from LeastEigenvalue to an eigenvalue of the
	// Hessian. Only EvaluateStationarity sets both. If the least eigenvalue is well below zero, the weights
	// are not at a minimum, even if the gradient is small.
	LeastEigenvalue    *float64 `json:"least_eigenvalue,omitempty"`
	EigenvalueResidual *float64 `json:"eigenvalue_residual,omitempty"`
	// NoEigenvalue is the reason why EvaluateStationarity has not computed a least eigenvalue: the loss has
	// no Hessian. Otherwise it is empty.
	NoEigenvalue string `json:"no_eigenvalue,omitempty"`
	// Confusion is set for more than two classes, and nil otherwise.
	Confusion *Confusion `json:"confusion,omitempty"`
	// Calibration is nil if the model predicts no probability.
	Calibration *Calibration `json:"calibration,omitempty"`
}

const notPrivate = "NOT private: computed directly from the table; do not publish without accounting."

// String returns the measures as lines of text: one line for each number that is set, then the confusion
// matrix and the reliability table if they are set. The first line says that the measures are not private.
func (m Metrics) String() string {
	var b strings.Builder
	b.WriteString(notPrivate + "\n")
	width := len("gradient_norm")
	for _, row := range m.measures() {
		width = max(width, len(row.name))
	}
	fmt.Fprintf(&b, "%-*s  %d\n%-*s  %d\n", width, "n", m.N, width, "skipped", m.Skipped)
	for _, row := range m.measures() {
		fmt.Fprintf(&b, "%-*s  %.6g\n", width, row.name, *row.value)
	}
	if m.NoEigenvalue != "" {
		fmt.Fprintf(&b, "least_eigenvalue  none: %s\n", m.NoEigenvalue)
	}
	if m.Confusion != nil {
		b.WriteString(m.Confusion.String())
	}
	if m.Calibration != nil {
		b.WriteString(m.Calibration.String())
	}
	if m.Groups != nil {
		b.WriteString(groupText(m.Groups))
	}
	return b.String()
}

type measure struct {
	name  string // name in the table: the JSON member, or the object for a member of an object
	value *float64
}

// measures returns the measures that are set.
func (m Metrics) measures() []measure {
	var calibration *float64
	if m.Calibration != nil {
		calibration = &m.Calibration.Error
	}
	all := []measure{
		{"accuracy", m.Accuracy},
		{"auc", m.AUC},
		{"log_loss", m.LogLoss},
		{"macro_f1", m.MacroF1},
		{"class_error", m.ClassError},
		{"calibration", calibration},
		{"rmse", m.RMSE},
		{"mae", m.MAE},
		{"share_below", m.ShareBelow},
		{"rank_correlation", m.RankCorrelation},
		{"deviance", m.Deviance},
		{"predicted", m.Predicted},
		{"observed", m.Observed},
		{"calibration_slope", m.Slope},
		{"horizon", m.Horizon},
		{"concordance", m.Concordance},
		{"concordance_uno", m.UnoConcordance},
		{"brier", m.Brier},
		{"integrated_brier", m.IntegratedBrier},
		{"objective", m.Objective},
		{"gradient_norm", m.GradientNorm},
		{"least_eigenvalue", m.LeastEigenvalue},
		{"eigenvalue_residual", m.EigenvalueResidual},
	}
	return slices.DeleteFunc(all, func(m measure) bool { return m.value == nil })
}

// scored holds a row's margin z and whether the row's true class is the second class (positive).
type scored struct {
	z        float64
	positive bool
}

// auc returns the area under the receiver operating characteristic: the fraction of pairs of a positive and a
// negative row in which the positive row has the larger margin; a pair with equal margins counts half (Mann &
// Whitney 1947). auc counts half pairs in a uint64, which is exact for up to 2^32 rows. It sorts the slice
// rows. ok is false if one of the two classes has no row.
func auc(rows []scored) (area float64, ok bool) {
	slices.SortFunc(rows, func(a, b scored) int { return cmp.Compare(a.z, b.z) })
	var twice, below, positives uint64 // below is the number of negative rows with a smaller margin
	for i := 0; i < len(rows); {
		var here [2]uint64 // numbers of negative and of positive rows with this margin
		z := rows[i].z
		for ; i < len(rows) && rows[i].z == z; i++ {
			if rows[i].positive {
				here[1]++
			} else {
				here[0]++
			}
		}
		twice += here[1] * (2*below + here[0])
		below += here[0]
		positives += here[1]
	}
	if positives == 0 || below == 0 {
		return 0, false
	}
	return float64(twice) / 2 / float64(positives) / float64(below), true
}

// Confusion counts the rows for each pair of a true class and a predicted class.
type Confusion struct {
	// Classes are the schema's classes.
	Classes []string `json:"classes"`
	// Rows[i][j] is the number of rows of class i for which class j is predicted.
	Rows [][]int64 `json:"rows"`
}

// accuracy returns the number of rows whose true class is predicted (the diagonal of confusion) divided by n,
// the number of all rows.
func accuracy(confusion [][]int64, n float64) float64 {
	var correct int64
	for k := range confusion {
		correct += confusion[k][k]
	}
	return float64(correct) / n
}

// macroF1 returns the mean of F1 = 2 tp/(2 tp + fp + fn) over the classes that occur as a true class or as a predicted
// class. tp, fp and fn are the numbers of true positives, false positives and false negatives of the class.
func macroF1(confusion [][]int64) float64 {
	var sum, present float64
	for k := range confusion {
		var of, as int64
		for j := range confusion {
			of += confusion[k][j]
			as += confusion[j][k]
		}
		if of+as > 0 {
			sum += 2 * float64(confusion[k][k]) / float64(of+as)
			present++
		}
	}
	return sum / present
}

// mostShown is the largest number of classes for which String returns a table.
const mostShown = 20

// String returns a table with one line for each true class and one column for each predicted class, in the
// same order. For more than mostShown classes it returns a note instead.
func (c *Confusion) String() string {
	if len(c.Classes) > mostShown {
		return fmt.Sprintf("confusion      of %d classes: as JSON only\n", len(c.Classes))
	}
	width, name := 1, len("class")
	for k, row := range c.Rows {
		name = max(name, len([]rune(safetext.Text(c.Classes[k]))))
		for _, n := range row {
			width = max(width, len(fmt.Sprint(n)))
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "confusion      rows of a class (line) by the class predicted (column, in the same order)\n")
	for k, row := range c.Rows {
		fmt.Fprintf(&b, "  %-*s", name, safetext.Text(c.Classes[k]))
		for _, n := range row {
			fmt.Fprintf(&b, "  %*d", width, n)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// Calibration compares predicted probabilities with observed frequencies. With two classes the probability is
// that of the second class. With more classes it is the probability of the predicted class (Guo et al. 2017,
// section 2). With the time to an event it is that of an event by the horizon. The bins are then tenths of the rows, by
// their probability, and From and To are the least and the greatest of a tenth. Observed is the Kaplan-Meier estimate.
type Calibration struct {
	// Error is the expected calibration error with ten bins of equal width: the mean, over rows, of
	// |Predicted - Observed| in the row's bin.
	Error float64 `json:"error"`
	// Bins are the bins that contain rows, in ascending order.
	Bins []Bin `json:"bins"`
}

// Bin summarises the rows whose predicted probability is at least From and below To. The last bin includes
// To.
type Bin struct {
	From float64 `json:"from"`
	To   float64 `json:"to"`
	N    int64   `json:"n"`
	// Predicted is the mean predicted probability of the bin's rows. Observed is the fraction of these rows
	// whose true class is the class of the probability.
	Predicted float64 `json:"predicted"`
	Observed  float64 `json:"observed"`
}

const calibrationBins = 10

// calibrating holds sums over the rows of each bin: n is their number, came the number of rows whose true
// class is the class of the probability, and sum the sum of their probabilities.
type calibrating [calibrationBins]struct {
	n, came int64
	sum     float64
}

func (c *calibrating) add(p float64, came bool) {
	i := 0 // the bin of a NaN is 0 too
	if p > 0 {
		i = min(int(p*calibrationBins), calibrationBins-1)
	}
	c[i].n++
	c[i].sum += p
	if came {
		c[i].came++
	}
}

func (c *calibrating) result(rows float64) *Calibration {
	r := new(Calibration)
	for i, bin := range c {
		if bin.n == 0 {
			continue
		}
		n := float64(bin.n)
		b := Bin{From: float64(i) / calibrationBins, To: float64(i+1) / calibrationBins, N: bin.n, Predicted: bin.sum / n,
			Observed: float64(bin.came) / n}
		r.Error += n / rows * math.Abs(b.Predicted-b.Observed)
		r.Bins = append(r.Bins, b)
	}
	return r
}

// String returns the calibration as a table with one bin on each line.
func (c *Calibration) String() string {
	var b strings.Builder
	b.WriteString("reliability    probabilities, and how often they came true\n")
	for _, bin := range c.Bins {
		digits := 3 // of a tenth of the rows
		if t := bin.From * calibrationBins; math.Round(t) == t {
			digits = 1
		}
		fmt.Fprintf(&b, "  %.*f to %.*f   predicted %.3f  observed %.3f  rows %d\n", digits, bin.From, digits, bin.To,
			bin.Predicted, bin.Observed, bin.N)
	}
	return b.String()
}
