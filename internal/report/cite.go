package report

import (
	"fmt"
	"strings"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/certificate"
	"github.com/stillpoint-dp/stillpoint/internal/runrecord"
)

// methods makes the section of the page with text for a paper: the guarantee in sentences, and a BibTeX entry.
func (f *Fit) methods() Section {
	return Section{Title: "For the methods section of a paper", Parts: []Part{
		Code{Name: "To be copied", Text: f.paragraph()},
		Code{Name: "BibTeX", Text: f.bibtex()},
	}}
}

// recheck makes the section of the page that says how readers recheck the guarantee: the command, and the digests of the
// files.
func (f *Fit) recheck() Section {
	command := "stillpoint verify " + runrecord.CertificateFile
	if f.Model != nil {
		command += " --model " + runrecord.ModelFile
	}
	return Section{Title: "How to recheck the guarantee", Parts: []Part{
		Code{Name: "Anybody can recheck the certificate, without the data", Text: command},
		Code{Name: "SHA-256, in the form of sha256sum", Text: f.digests()},
		Facts{
			{Name: "Random bits", Value: string(f.Certificate.Coins()), Note: "the source of the noise"},
			{Name: "Software", Value: f.Certificate.Software()},
		},
		Text(passage("verified certificate")),
	}}
}

// digests lists the SHA-256 of the certificate and of the model, if there is one, in the format of sha256sum.
func (f *Fit) digests() string {
	text := f.digest + "  " + runrecord.CertificateFile
	if d := f.Certificate.ModelSHA256(); d != "" {
		text += "\n" + d + "  " + runrecord.ModelFile
	}
	return text
}

// paragraph states the guarantee, its privacy unit, its basis and its assumptions, in sentences
// that a paper may quote.
func (f *Fit) paragraph() string {
	c := f.Certificate.Claim()
	what := "The run"
	if f.Model != nil {
		what = fmt.Sprintf("The model of %s", f.Model.Schema().Target().Column)
	}
	neighbours, with := "tables that differ in one replaced row (the number of rows, %s, is public)", ""
	if c.Relation == account.AddOrRemove {
		neighbours = "tables that differ by one added or removed row (declared number of rows: %s)"
	}
	unit := f.Certificate.Unit()
	if unit != (account.Unit{}) {
		neighbours = "tables that differ in " + unit.Record() + ", replaced by those of another (their number, %s, is public)"
		if c.Relation == account.AddOrRemove {
			neighbours = "tables that differ by " + unit.Record() + ", added or removed (declared number: %s)"
		}
		with = fmt.Sprintf(" Of each %d rows were used at most.", unit.Rows)
	}
	if filter := f.Certificate.Filter(); filter != (account.Filter{}) {
		with += fmt.Sprintf(" Rows are those with %v, which is public for every row; a malformed row counts as one of them.",
			filter)
	}
	basis := fmt.Sprintf("All its releases together satisfy %s-Gaussian differential privacy, enforced by a fully "+
		"adaptive filter fixed before the first release; (epsilon, delta) follows exactly.", Above(c.Mu, 5))
	kind := "Gaussian"
	if f.Certificate.Basis() == certificate.BasisSchedule {
		kind = "subsampled Gaussian"
		basis = "Its releases follow a schedule of Poisson samples fixed before the first one, composed by privacy-loss " +
			"distributions."
	}
	if trusted := f.verified.Trusted; len(trusted) > 0 {
		basis += " The program does not enforce, and this guarantee trusts, that " + strings.Join(trusted, "; that ") + "."
	}
	algorithm := f.Certificate.Algorithm().Name
	if f.plan.Citation != "" {
		algorithm += " (" + f.plan.Citation + ")"
	}
	return fmt.Sprintf("%s was trained with (epsilon = %v, delta = %v)-differential privacy for %s (%v).%s %s It was "+
		"trained by %s in %s %s, with noise from secret random bits, by %s. The privacy unit is %s. The certificate (SHA-256 "+
		"%s) can be rechecked without the data.%s", what, c.Epsilon, c.Delta,
		fmt.Sprintf(neighbours, Number(float64(f.Certificate.Records()))), c.Relation, with, basis, algorithm,
		Number(float64(f.verified.Events)), kind+" releases", f.Certificate.Software(), unit.Record(), f.digest, f.found())
}

// found is the sentence about the released quality of the model, for a paper; "" if none was released.
func (f *Fit) found() string {
	if c := f.plan.Compared; f.Model != nil && c != nil && !c.Unresolved {
		return " Beside the best constant, compared by numbers released within the budget, the model is judged as follows: " +
			c.Sentence() + "."
	}
	return ""
}

func (f *Fit) bibtex() string {
	year := ""
	if own, ok := f.own(); ok && !own.Time.IsZero() {
		year = fmt.Sprintf("  year  = {%d},\n", own.Time.UTC().Year())
	}
	c := f.Certificate.Claim()
	trusting := ""
	if trusted := f.verified.Trusted; len(trusted) > 0 {
		trusting = ", trusting that " + bibText(strings.Join(trusted, "; that "))
	}
	return fmt.Sprintf("@misc{stillpoint-%s,\n  title = {%s},\n%s  note  = {(%v, %v)-differentially private under "+
		"%v%s; certificate SHA-256 %s; %s}\n}", f.digest[:8], bibText(f.title()), year, c.Epsilon, c.Delta, c.Relation,
		trusting, f.digest, bibText(f.Certificate.Software()))
}

// bibText escapes or replaces the characters that BibTeX and TeX would read as commands.
func bibText(s string) string {
	return strings.NewReplacer(`\`, " ", "{", "(", "}", ")", "%", `\%`, "&", `\&`, "$", `\$`, "#", `\#`, "_", `\_`, "~",
		" ", "^", " ", "\n", " ").Replace(s)
}
