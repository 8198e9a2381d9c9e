package report

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/certificate"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/describe"
	"github.com/stillpoint-dp/stillpoint/internal/regularfile"
	"github.com/stillpoint-dp/stillpoint/internal/runrecord"
	"github.com/stillpoint-dp/stillpoint/model"
)

// Fit holds the released results of a fit. All of them may be published.
type Fit struct {
	Certificate *certificate.Certificate
	// Model is the certified model. It is nil if the run wrote no model.
	Model *model.Model
	// Reservations are the reservations in the folder's ledger. They are nil if there is no ledger.
	Reservations []Reservation
	// GradientNorms are the norms of the noisy gradient estimates, one for each step. They are nil if the
	// certificate does not hold them.
	GradientNorms []float64
	// Public, if not nil, is the quality of the model on a table that is public or that the reader may see.
	// The page marks these numbers as not private. All other numbers on the page were released.
	Public *model.Metrics

	files    []string
	verified *certificate.Report
	digest   string // SHA-256 of the certificate's file, in hexadecimal
	schedule []account.SampledSteps
	plan     runrecord.Run
}

// ReadFit reads certificate, model and ledger from a fit's folder. A missing ledger is no error. ReadFit
// returns an error of package certificate if the certificate does not verify. It returns an error if the
// model is not the model that the certificate describes.
func ReadFit(ctx context.Context, dir string) (*Fit, error) {
	text, err := regularfile.Read(filepath.Join(dir, runrecord.CertificateFile), 8*regularfile.Document)
	if err != nil {
		return nil, err
	}
	f := new(Fit)
	for _, name := range []string{runrecord.CertificateFile, runrecord.ModelFile, runrecord.LedgerFile} {
		f.files = append(f.files, filepath.Join(dir, name))
	}
	if err := f.certify(ctx, text); err != nil {
		return nil, err
	}
	if f.Certificate.Algorithm().Name == describe.Name {
		return nil, fmt.Errorf("report: %s: has a description of a table, and no fit: its page is describe.html", dir)
	}
	if f.Certificate.ModelSHA256() != "" {
		path := filepath.Join(dir, runrecord.ModelFile)
		text, err := regularfile.Read(path, regularfile.Document)
		if err != nil {
			return nil, err
		}
		if err := f.certified(text, path); err != nil {
			// The bytes that are shown are the bytes that were verified, since the file is read once.
			// VerifyModel reads the file again only for the error's text.
			if errors.Is(err, certificate.ErrModel) {
				err = fmt.Errorf("report: %s: must be the certified model: %w", path,
					cmp.Or(certificate.VerifyModel(f.Certificate, path), certificate.ErrModel))
			}
			return nil, err
		}
	}
	text, err = regularfile.Read(filepath.Join(dir, runrecord.LedgerFile), regularfile.Document)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if f.Reservations, err = ParseLedger(text); err != nil {
		return nil, err
	}
	return f, nil
}

// NewFit makes a Fit from the texts of a certificate and a model, without a folder and a ledger. model must
// be nil if the run wrote no model. NewFit returns an error in the same cases as ReadFit.
func NewFit(ctx context.Context, certificate, model []byte) (*Fit, error) {
	f := new(Fit)
	if err := f.certify(ctx, certificate); err != nil {
		return nil, err
	}
	if f.Certificate.ModelSHA256() == "" && model == nil {
		return f, nil
	}
	return f, f.certified(model, runrecord.ModelFile)
}

// certified parses the text of a model. It returns an error unless the certificate states the
// SHA-256 of this text and the same row filter and privacy unit.
func (f *Fit) certified(text []byte, path string) (err error) {
	if fmt.Sprintf("%x", sha256.Sum256(text)) != f.Certificate.ModelSHA256() {
		return fmt.Errorf("report: %s: %w", path, certificate.ErrModel)
	}
	if f.Model, err = model.Parse(text); err != nil {
		return err
	}
	if m, c := f.Model.Schema().Filter(), f.Certificate.Filter(); m != dataset.Filter(c) {
		return fmt.Errorf("report: %s: schema.where = %q: must be %q, the certificate's filter", path, m, c)
	}
	if m, c := f.Model.Schema().Unit(), f.Certificate.Unit(); m != (dataset.Unit{Column: c.Column, Rows: c.Rows}) {
		return fmt.Errorf("report: %s: schema.unit = %q of %d rows: must be %q of %d, the certificate's", path, m.Column,
			m.Rows, c.Column, c.Rows)
	}
	return nil
}

// certify parses and verifies the text of a certificate, and reads its schedule and plan.
func (f *Fit) certify(ctx context.Context, text []byte) (err error) {
	if f.Certificate, err = certificate.Parse(text); err != nil {
		return err
	}
	if f.verified, err = f.Certificate.Verify(ctx); err != nil {
		return err
	}
	f.digest = fmt.Sprintf("%x", sha256.Sum256(text))
	var more struct{ Schedule []account.SampledSteps }
	if err := json.Unmarshal(text, &more); err != nil {
		return fmt.Errorf("report: certificate: %w", err)
	}
	f.schedule = more.Schedule
	// The plan in a certificate may have any members. A plan that does not have the expected types is
	// treated as empty.
	if err := json.NewDecoder(bytes.NewReader(f.Certificate.Algorithm().Plan)).Decode(&f.plan); err != nil {
		f.plan = runrecord.Run{}
	}
	if f.GradientNorms == nil {
		f.GradientNorms = f.plan.GradientNorms
	}
	return nil
}

// Files returns the paths of the files that were read. A program should not overwrite them.
func (f *Fit) Files() []string { return slices.Clone(f.files) }

// Page makes the report on a fit. It returns an error if f was not made by ReadFit or NewFit.
func (f *Fit) Page(ctx context.Context) (Page, error) {
	if f.verified == nil {
		return Page{}, errors.New("report: fit: must come from ReadFit")
	}
	attack, err := f.attack(ctx)
	if err != nil {
		return Page{}, fmt.Errorf("report: %w", err)
	}
	n := f.noise()
	claim := f.Certificate.Claim()
	page := Page{
		Title: f.title(),
		Lead: fmt.Sprintf("%sTrained on %s rows with (ε = %s, δ = %s)-differential privacy. %s", f.lead(),
			Number(float64(f.Certificate.Records())), exact(claim.Epsilon), exact(claim.Delta), attack.guess()),
		Foot: fmt.Sprintf("Written by %s from the certificate, the model and the ledger of a fit. Nothing on this page "+
			"was computed from the table: making or reading it costs no privacy.",
			f.Certificate.Software()),
	}
	if f.Model != nil { // the results come first
		coefficients, ok := f.intervals()
		if !ok {
			coefficients = f.coefficients(n)
		}
		page.Sections = append(page.Sections, coefficients)
		add := func(s Section, ok bool) {
			if ok {
				page.Sections = append(page.Sections, s)
			}
		}
		add(f.curves(n))
		add(f.interactions())
		add(f.survival())
		add(f.quality())
	}
	if f.Public != nil {
		page.Sections = append(page.Sections, f.public())
		page.Foot = fmt.Sprintf("Written by %s from the certificate, the model and the ledger of a fit, and from a table "+
			"for the section “%s” alone.", f.Certificate.Software(), publicTitle)
	}
	page.Sections = append(page.Sections, f.cost(ctx, attack), f.asked(), f.signal(n), f.methods(), f.recheck())
	return page, nil
}

func (f *Fit) title() string {
	if f.Model == nil {
		return "A private run without a model"
	}
	return "A private model of " + f.Model.Schema().Target().Column
}

// own returns the reservation of this fit: the last reservation in the ledger with the certificate's
// epsilon, delta and relation. ok is false if the ledger holds no such reservation.
func (f *Fit) own() (r Reservation, ok bool) {
	c := f.Certificate.Claim()
	for _, o := range f.Reservations {
		if o.Epsilon == c.Epsilon && o.Delta == c.Delta && o.Relation == c.Relation {
			r, ok = o, true
		}
	}
	return r, ok
}

// asked makes the section of the page that describes the model that was trained and its table.
func (f *Fit) asked() Section {
	s := Section{Title: "What was asked"}
	if f.Model == nil {
		s.Parts = append(s.Parts, Note("The run was interrupted before there was a model. Its releases stay charged."))
		return s
	}
	schema := f.Model.Schema()
	target := schema.Target()
	predicted := fmt.Sprintf("number from %s to %s", exact(target.Low), exact(target.High))
	switch n := len(target.Classes); {
	case n == 2:
		predicted = fmt.Sprintf("“%s” against “%s”", target.Classes[1], target.Classes[0])
	case n > 2:
		predicted = fmt.Sprintf("one of %d classes: %s", n, listed(target.Classes, 160))
	}
	switch e := target.Exposure; {
	case e.Column != "":
		is := "exposure"
		if target.Offset {
			is = "offset"
		}
		predicted += fmt.Sprintf("; %s: %s, from %s to %s", is, e.Column, exact(e.Low), exact(e.High))
	case target.Weight != "":
		predicted += "; each record counts by its " + target.Weight + ", at most 1"
	}
	facts := Facts{
		{Name: "To be predicted", Value: target.Column, Note: predicted},
		{Name: "Loss", Value: f.Model.Loss().Name(), Note: "regularizer: " + f.Model.Regularizer().Name()},
		{Name: "Algorithm", Value: f.Certificate.Algorithm().Name, Note: f.plan.Citation},
	}
	if own, ok := f.own(); ok && own.Data != "" {
		facts = append(facts, Fact{Name: "Table", Value: baseName(own.Data), Note: filterNote(f.Certificate.Filter())})
	} else if filter := f.Certificate.Filter(); filter != (account.Filter{}) {
		facts = append(facts, Fact{Name: "Rows", Value: filterNote(filter)})
	}
	facts = append(facts, Fact{Name: "Features", Value: Number(float64(schema.Dim())),
		Note: "after categories are spread out; the intercept included"})
	if n := len(f.Model.Weights()); n != schema.Dim() {
		facts = append(facts, Fact{Name: "Weights", Value: Number(float64(n)),
			Note: "of all classes, margins or layers together"})
	}
	if f.plan.Steps > 0 {
		note := ""
		if f.plan.StepSize > 0 {
			note = fmt.Sprintf("of size %s; result: %s", Number(f.plan.StepSize), f.plan.Output)
		}
		facts = append(facts, Fact{Name: "Steps planned", Value: Number(float64(f.plan.Steps)), Note: note})
	}
	s.Parts = append(s.Parts, facts)
	if !f.Certificate.Complete() {
		s.Parts = append(s.Parts,
			Note("The run was interrupted, and this is the model of its steps so far. The guarantee covers its releases."))
	}
	s.Parts = append(s.Parts, f.columns(schema))
	return s
}

// filterNote says in words which rows a filter selects.
func filterNote(f account.Filter) string {
	if f == (account.Filter{}) {
		return "all rows"
	}
	return "rows with " + f.String()
}

// mostRows is the largest number of rows of a table on the page.
const mostRows = 400

// columns lists the public facts about the table's columns.
func (f *Fit) columns(schema *dataset.Schema) Table {
	t := Table{
		Title:   "Public facts about each column",
		Columns: []Column{{Name: "Column"}, {Name: "Read as"}, {Name: "Bounds or values"}},
		Caption: passage("public facts"),
	}
	ignored := 0
	for _, c := range schema.Columns() {
		row := Row{}
		switch c.Kind {
		case dataset.Number:
			kind := "number"
			if c.Transform == dataset.Log1p {
				kind = "number, as log(1 + x)"
			}
			row.Cells = []string{c.Name, kind + features(c), exact(c.Low) + " to " + exact(c.High)}
		case dataset.Date:
			kind := "date"
			if c.Layout != "" {
				kind = "date, written " + c.Layout
			}
			row.Cells = []string{c.Name, kind + features(c),
				dataset.ShowDay(c.Low) + " to " + dataset.ShowDay(c.High)}
		case dataset.Category:
			row.Cells = []string{c.Name, "category", count(len(c.Categories), "value", "values") + ": " + listed(c.Categories, 160)}
		case dataset.Hash:
			row.Cells = []string{c.Name, "hashed", fmt.Sprintf("any value, in one of %d buckets", c.Buckets)}
		case dataset.Public:
			row.Cells = []string{c.Name, "public for every row, no feature",
				count(len(c.Values), "value", "values") + ": " + listed(c.Values, 160)}
		default:
			ignored++
			continue
		}
		t.Rows = append(t.Rows, row)
	}
	for _, pair := range schema.Interactions() {
		t.Rows = append(t.Rows, Row{Cells: []string{pair[0] + " & " + pair[1], "interaction", "every pair of their values"}})
	}
	if e, ok := schema.Effects(); ok {
		t.Rows = append(t.Rows, Row{Cells: []string{"all columns", "interactions found from effects",
			fmt.Sprintf("%d cosines and sines of random combinations of the columns' effects on the score", e.Features)}})
	}
	if k := f.plan.Family; k != nil {
		t.Caption += fmt.Sprintf(" The model is of the family %s (%s).", k.Name, k.Why)
	}
	if len(t.Rows) > mostRows {
		t.Caption += fmt.Sprintf(" The first %d of %s are shown; all are in %s.", mostRows, Number(float64(len(t.Rows))),
			runrecord.ModelFile)
		t.Rows = t.Rows[:mostRows]
	}
	if ignored > 0 {
		t.Caption += " " + count(ignored, "column was", "columns were") + " left out."
	}
	return t
}

// features describes a column's curve by its number of knots, and its indicator of missing values, as far as it has them.
func features(c dataset.Column) (text string) {
	if c.Curve > 0 {
		text = fmt.Sprintf("; a curve of %d knots", c.Curve)
	}
	if c.Indicator {
		text += "; a missing cell is a feature of its own"
	}
	return text
}

// listed joins names with commas. It stops before the text exceeds most characters, and adds the number of names that
// it leaves out. The first name is always written. Each name is cut to a width of 40 times the font size.
func listed(names []string, most int) string {
	text := ""
	for i, n := range names {
		next := n
		if i > 0 {
			next = ", " + n
		}
		if len([]rune(text+next)) > most && i > 0 {
			return fmt.Sprintf("%s and %d more", text, len(names)-i)
		}
		text += shorten(next, 40)
	}
	return text
}
