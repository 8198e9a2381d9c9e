package stillpoint

import "github.com/stillpoint-dp/stillpoint/internal/train"

// Train chooses the algorithm of a fit and the settings that override its defaults.
type Train struct {
	// Algorithm is the name of an algorithm (stillpoint algorithms); empty means the choice among all.
	Algorithm string
	// Measure is the share of the budget, at least 0 and below 1, reserved for releasing the loss and the
	// gradient norm at the result. Zero means no measurement.
	Measure float64
	// Compare is the share of the budget reserved for comparing the result with the best constant. Zero means the
	// default share, or no comparison if that share is too small to show a difference above the noise. Off means no
	// comparison. The comparison also decides which model is published: a fit with a larger loss than the constant is
	// replaced by the constant. For a rare class and for counts half of the share is spent again, to calibrate the fit's mean.
	Compare float64
	// Base is the share of the budget reserved for the base rate: the best constant, at which the fit begins and with
	// which it is compared. Zero means the default share. Off means that the fit begins at 0.
	Base float64
	// Ranks is the share of the budget reserved for releasing ranks, by which curves with curve: auto get their knots.
	// Zero means the default share where the records and the budget suffice, and otherwise none. Off means equally
	// spaced knots.
	Ranks float64
	// Settings are the settings of the algorithm and of its output rule, by name (stillpoint algorithms NAME). A
	// setting that the algorithm does not have is an error. A setting that is left out follows the algorithm's rule, and
	// 0 is an error where it would mean the rule.
	Settings map[string]any
}

// Off, as a share of the budget in Train, turns the release off that the share would pay for.
const Off = train.Off

// Inference requests confidence intervals of the coefficients. Train.Settings may have beside it {"rows": "unweighted"}, for
// the coefficients of the best fit to rows that all weigh alike.
type Inference struct {
	// Level is the nominal coverage of an interval, at least .5 and at most .999; zero means .95.
	Level float64
}

// Memory limits how much of the encoded table is kept in memory. The limit affects the speed of a fit and has no
// effect on its releases.
type Memory struct {
	// Gigabytes is the memory for the encoded table, in units of 10^9 bytes; zero means the whole table. The limit
	// includes 4 bytes for every row. Rows that do not fit are written to a private file, which each pass over the
	// table reads.
	Gigabytes float64
	// Folder is the folder of the file with the rows that do not fit; empty means the system's folder for temporary
	// files. The file is not encrypted, so its disk must be one on which records may be stored.
	Folder string
}

// KL states how fast the objective F rises from its minimum:
//
//	F(w) - min F <= (Gamma ||grad F(w)||)^Kappa   at every point that a run visits.
//
// It must be public knowledge that does not come from the table. Kappa 2 is the Polyak-Lojasiewicz condition; strong
// convexity with modulus m implies it with Gamma = 1/sqrt(2m). Kappa 1 means a sharp minimum. The zero KL means that
// nothing is known. A wrong condition costs accuracy, not privacy.
type KL struct {
	// Kappa is at least 1 and at most 10, and Gamma above 0. Both are given, or neither.
	Kappa, Gamma float64
}

// Start is a constant at which a fit begins, in place of a released base rate. It must be public knowledge that does
// not come from the table. At most one field may be given.
type Start struct {
	// Share is the share of the second of two classes.
	Share *float64
	// Shares are the shares of three or more classes, in the order of the schema.
	Shares []float64
	// Rate is the mean count, or the count per unit of exposure.
	Rate *float64
	// Value is the number that a constant predicts best, in the unit of the target.
	Value *float64
}

// Folder is the output folder of a fit.
type Folder struct {
	// Path is the folder. Empty means a new folder in the current folder: NAME-fit, where NAME is the
	// configuration's name, or the first of NAME-fit-2, NAME-fit-3 and so on that does not exist.
	Path string
	// Overwrite lets a fit replace the model of an earlier fit in Path. The ledger keeps both charges.
	Overwrite bool
}
