package stillpoint

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/stillpoint-dp/stillpoint/internal/printable"
	"github.com/stillpoint-dp/stillpoint/train"
)

// Summary returns a text with the released results and the privacy cost, one fact on each line.
func (r *Result) Summary() string { return r.summary(false) }

// Details is Summary with two of the optimizer's numbers: the charge in units of mu^2, and the expected
// gradient norm.
func (r *Result) Details() string { return r.summary(true) }

func (r *Result) summary(details bool) string {
	f := r.Run
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-13s%s\n", name, fmt.Sprintf(format, args...))
	}
	for _, w := range f.Warnings {
		line("WARNING", "%s", w.Text)
	}
	if !f.Result.Complete {
		line("incomplete", "interrupted after %d of %d steps", f.Result.Steps, f.Summary.Steps)
	}
	if r.Kept != nil {
		line("model", "%s", printable.Text(r.Kept.ModelPath))
		line("certificate", "%s", printable.Text(r.Kept.CertificatePath))
	}
	line("guarantee", "(%v, %v)-differentially private, %v, %s", f.Budget.Epsilon(), f.Budget.Delta(), f.Budget.Relation(),
		f.Unit.Protected())
	line("neighbour", "%s", f.Unit.Neighbour(f.Filter, f.Budget.Relation()))
	for _, t := range f.Trusted {
		line("TRUSTED", "%s", printable.Text(t))
	}
	switch {
	case f.Charged > 0 && details:
		line("charged", "%.6g of %.6g (units of mu^2), %d releases", f.Charged, f.Budget.Charge(), f.Releases)
	case f.Charged > 0:
		line("charged", "%.4g%% of the budget, for %d releases (noisy answers)", 100*f.Charged/f.Budget.Charge(), f.Releases)
	default:
		line("charged", "%d releases on Poisson samples of a schedule within the budget", f.Releases)
	}
	if r.Kept != nil {
		for _, s := range r.Kept.Reclaimed {
			line("settled", "an earlier fit in the folder: %v", s)
		}
	}
	if c := f.Compared; c != nil {
		line("compare", "%s", besideConstant(c))
	}
	of := ""
	if c := f.Compared; c != nil && c.Shrunk > 0 {
		of = "of the fit, which is not the published model: "
	}
	if late := f.Result.Late.Text(f.Summary.Steps, f.Summary.Effective); late != "" {
		line("arrived", "%s%s", of, late)
	}
	if e := f.Result.Foreseen; e > 0 && details {
		before := ""
		if f.Summary.Predicted > 0 {
			before = fmt.Sprintf("; %.3g before", f.Summary.Predicted)
		}
		line("expected", "%sgradient norm %.3g, after what was released of the rows and their gradients%s", of, e, before)
	}
	if v := f.Result.Curvature; v != nil {
		line("curvature",
			"%sat least %.3g (noise %.2g) along %d public directions of the run, as released: an eigenvalue may be lower along others", of, v.Curvature, v.Sigma, v.Directions)
	}
	if l := f.Result.Looked; l != nil {
		smoothed := ""
		if l.Radius > 0 {
			smoothed = fmt.Sprintf(" smoothed over radius %.3g", l.Radius)
		}
		line("looked", "%sgradient norm %.3g (noise %.2g) of the loss%s, chosen by it among %d averages", of, l.GradientNorm,
			l.Sigma, smoothed, l.Among)
	}
	if m := f.Measured; m != nil {
		line("measured", "mean loss %.4g (noise %.2g; a record's loss is clipped at %.3g), gradient norm %.3g (noise %.2g)",
			m.Loss, m.LossSigma, m.LossClip, m.GradientNorm, m.GradientSigma)
	}
	if f.Constant != nil && f.Compared == nil {
		line("compare", "%s", compared(f))
	}
	if at := f.Reserved; at != nil {
		line("dataset", "%s: charged in its store before the first release, row %d", printable.Text(at.Dataset), at.Row)
	}
	if r.Kept != nil {
		line("recheck", "stillpoint verify %s", printable.Text(r.Kept.CertificatePath))
	}
	if r.Kept != nil && len(r.Kept.Earlier) > 0 {
		line("together", "%s", r.Kept.Together(context.Background()))
	} else {
		line("note", "fitting %s again costs a second budget", printable.Text(r.table))
	}
	if text := r.Coefficients(); text != "" {
		b.WriteString("\n" + text)
	}
	return b.String()
}

// besideConstant describes in words the released comparison of the model with the best constant.
func besideConstant(c *train.Compared) string {
	where := "below"
	if c.Difference > 0 {
		where = "above"
	}
	text := fmt.Sprintf("%v: its mean loss is %.3g %s the constant's, with noise of %.2g (a record's difference is clipped at %.3g)",
		c.Verdict(), math.Abs(c.Difference), where, c.Sigma, c.Clip)
	switch {
	case c.Shrunk >= 1:
		text = "the fit is " + text + "; the model is the constant"
	case c.Shrunk > 0:
		text = fmt.Sprintf("the fit is %s; the model goes %.0f%% of the way from the constant to it", text, 100*(1-c.Shrunk))
	}
	if share, sigma, ok := c.Explained(); ok && c.Verdict().Code() == "better" {
		text += fmt.Sprintf("; it saves %.0f%% (noise %.2g%%) of the constant's loss, %.3g", 100*share, 100*sigma, c.Constant)
	}
	return text
}

// compared describes in words the measured loss of the fit beside the loss of the model that scores
// every record 0.
func compared(f *train.Fitted) string {
	m, k := f.Measured, f.Constant
	const constant = "the model that gives every record the score 0"
	text := fmt.Sprintf("mean loss %.4g of "+constant+", which is public; one that knows how frequent the classes are may have less", k.Least)
	if k.Least < k.Most {
		text = fmt.Sprintf("mean loss between %.4g and %.4g of "+constant+", by the targets there may be: which, nothing that was released says", k.Least, k.Most)
	}
	if k.Regularizer > 0 {
		text += fmt.Sprintf(" (%.2g of the measured is the regularizer)", k.Regularizer)
	}
	switch own := m.Loss - k.Regularizer; {
	case own-2*m.LossSigma > k.Most:
		text += ": the model is WORSE"
	case own+2*m.LossSigma < k.Least/10:
		text += ": so little a loss is that of rows which contribute nothing, too; are the targets read? (stillpoint check)"
	case own+2*m.LossSigma >= k.Least && k.Least == k.Most:
		text += ": the model is not better by more than noise"
	}
	return text
}
