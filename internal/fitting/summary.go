package fitting

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/stillpoint-dp/stillpoint/internal/runfolder"
	"github.com/stillpoint-dp/stillpoint/internal/safetext"
	"github.com/stillpoint-dp/stillpoint/internal/train"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

// Summary returns the text that stillpoint.Result.Summary documents.
func (r *Result) Summary() string { return r.summary(false) }

// Details returns the text of Summary with further numbers of the optimizer.
func (r *Result) Details() string { return r.summary(true) }

// facts builds a text with one fact on each line. The line begins with the fact's name.
type facts struct{ strings.Builder }

func (f *facts) add(name, format string, args ...any) {
	fmt.Fprintf(f, "%-13s%s\n", name, fmt.Sprintf(format, args...))
}

func (r *Result) summary(details bool) string {
	f := r.Run
	var b facts
	for _, w := range f.Warnings {
		b.add("WARNING", "%s", w.Text)
	}
	if !f.Result.Complete {
		b.add("incomplete", "interrupted after %d of %d steps", f.Result.Steps, f.Summary.Steps)
	}
	b.add("protects", "%s", f.Unit.Protects(f.Filter, f.Budget.Relation()))
	for _, t := range f.Trusted {
		b.add("TRUSTED", "%s", safetext.Text(t))
	}
	b.add("budget", "epsilon %v, delta %v, %v: %s", f.Budget.Epsilon(), f.Budget.Delta(), f.Budget.Relation(),
		spent(f, details))
	if r.Kept != nil {
		for _, s := range r.Kept.Reclaimed {
			b.add("settled", "an earlier fit in the folder: %v", s)
		}
	}
	if why := f.Family.Simpler; why != "" {
		b.add("family", "%s: %s", f.Family.Name, safetext.Text(why))
	}
	b.outcome(f, details)
	if at := f.Reserved; at != nil {
		b.add("dataset", "%s: charged in its store before the first release, row %d", safetext.Text(at.Dataset), at.Row)
	}
	if r.Kept != nil {
		b.files(r.Kept)
	}
	if r.Kept != nil && len(r.Kept.Earlier) > 0 {
		b.add("together", "%s", r.Kept.Together(context.Background()))
	} else {
		b.add("note", "fitting %s again costs a second budget", safetext.Text(r.table))
	}
	if text := r.Coefficients(); text != "" {
		b.WriteString("\n" + text)
	}
	return b.String()
}

// spent says in words how much of its budget a fit has spent: as a percentage or, if details is true, in
// units of mu^2.
func spent(f *train.Fitted, details bool) string {
	switch {
	case f.Charged == 0:
		return fmt.Sprintf("spent on a schedule of Poisson samples, for %d noisy answers (releases)", f.Releases)
	case details:
		return fmt.Sprintf("%.6g of %.6g spent (units of mu^2), on %d noisy answers (releases)", f.Charged, f.Budget.Charge(),
			f.Releases)
	}
	return fmt.Sprintf("%.4g%% spent, on %d noisy answers (releases)", 100*f.Charged/f.Budget.Charge(), f.Releases)
}

// outcome adds the released facts about the model's quality. If details is true, it adds further numbers of
// the optimizer.
func (b *facts) outcome(f *train.Fitted, details bool) {
	of := ""
	switch c := f.Compared; {
	case c != nil:
		b.add("quality", "%s", besideConstant(c, details))
		if c.Shrunk > 0 {
			of = "of the fit, which is not the published model: "
		}
		if text := c.Calibration(); text != "" {
			b.add("calibrated", "%s", text)
		}
	case f.Constant == nil && f.NotCompared != "":
		b.add("quality", "the model was not compared with the best constant: %s", f.NotCompared)
	}
	arrival := f.Result.Late.Arrival(f.Summary.Steps, f.Summary.Effective, f.Compared.IsBetter())
	late := f.Result.Late.Text(f.Summary.Steps, f.Summary.Effective, f.Compared.IsBetter())
	if late != "" && (details || arrival == optimize.NotArrived || arrival == optimize.NoiseOnly) {
		b.add("steps", "%s%s", of, late)
	}
	if e := f.Result.Foreseen; e > 0 && details {
		before := ""
		if f.Summary.Predicted > 0 {
			before = fmt.Sprintf(" (forecast before the fit: %.3g)", f.Summary.Predicted)
		}
		b.add("expected", "%sgradient norm %.3g%s", of, e, before)
	}
	if v := f.Result.Curvature; v != nil {
		b.add("curvature",
			"%sat least %.3g (noise %.2g) along %d public directions of the run, as released: an eigenvalue may be lower "+
				"along others",
			of, v.Curvature, v.Sigma, v.Directions)
	}
	if l := f.Result.SelectedNorm; l != nil {
		smoothed := ""
		if l.Radius > 0 {
			smoothed = fmt.Sprintf(" smoothed over radius %.3g", l.Radius)
		}
		b.add("looked", "%sgradient norm %.3g (noise %.2g) of the loss%s, chosen by it among %d averages", of,
			l.GradientNorm, l.Sigma, smoothed, l.Among)
	}
	if m := f.Measured; m != nil {
		b.add("measured", "mean loss %.4g (noise %.2g; a record's loss is clipped at %.3g), gradient norm %.3g (noise %.2g)",
			m.Loss, m.LossSigma, m.LossClip, m.GradientNorm, m.GradientSigma)
	}
	if f.Constant != nil && f.Compared == nil {
		b.add("quality", "%s", compared(f))
	}
}

// files adds the paths of the fit's files, and the commands that read them.
func (b *facts) files(f *runfolder.Fitted) {
	model := "none: the fit ended before there was one"
	if f.ModelPath != "" {
		model = safetext.Text(f.ModelPath)
	}
	b.add("model", "%s", model)
	b.add("certificate", "%s (recheck it: stillpoint verify)", safetext.Text(f.CertificatePath))
	b.add("report", "stillpoint report %s writes %s", safetext.Text(f.Folder),
		safetext.Text(filepath.Join(f.Folder, "report.html")))
}

// besideConstant describes in words the released comparison of the fit with the best constant. If details is
// true, it also states how much of the records' differences of losses was counted.
func besideConstant(c *train.Compared, details bool) string {
	if details && !c.Unresolved {
		return c.Sentence() + "; " + c.Counted()
	}
	return c.Sentence()
}

// compared states in words the public loss of the model that gives every record the score 0. It adds a remark
// if the fit's measured loss is worse, suspiciously small, or not better by more than noise.
func compared(f *train.Fitted) string {
	m, k := f.Measured, f.Constant
	const constant = "the model that gives every record the score 0"
	text := fmt.Sprintf("mean loss %.4g of "+constant+", which is public; a model that knows the shares of the classes "+
		"may have less", k.Least)
	if k.Least < k.Most {
		text = fmt.Sprintf("mean loss between %.4g and %.4g of "+constant+", depending on the targets, which are not "+
			"released", k.Least, k.Most)
	}
	if k.Regularizer > 0 {
		text += fmt.Sprintf(" (the measured loss includes the regularizer's %.2g)", k.Regularizer)
	}
	switch own := m.Loss - k.Regularizer; {
	case own-2*m.LossSigma > k.Most:
		text += ": the model is WORSE"
	case own+2*m.LossSigma < k.Least/10:
		text += ": so small a loss may mean that rows contribute nothing, so check how their targets are read (stillpoint check)"
	case own+2*m.LossSigma >= k.Least && k.Least == k.Most:
		text += ": the model is not better by more than noise"
	}
	return text
}
