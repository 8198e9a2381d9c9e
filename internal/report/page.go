package report

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"io"

	"github.com/stillpoint-dp/stillpoint/certificate"
	"github.com/stillpoint-dp/stillpoint/internal/describe"
	"github.com/stillpoint-dp/stillpoint/internal/safetext"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
)

// Page is the content of a report: its title, main message and sections.
type Page struct {
	Title string
	// Lead is the page's main message in one or two sentences.
	Lead     string
	Facts    []Fact
	Sections []Section
	// Foot says from which files and by which program the page was made.
	Foot string
}

// Section is a heading with its parts.
type Section struct {
	Title string
	Parts []Part
}

// released adds a number that was released with noise, which may make it zero or negative, if it is finite and below
// 1e200.
func (f *Facts) released(name string, x float64, note string) {
	if drawable(x, false) {
		*f = append(*f, Fact{Name: name, Value: Number(x), Note: note})
	}
}

// positive adds a number as released does, if it is above 0.
func (f *Facts) positive(name string, x float64, note string) {
	if x > 1e-200 {
		f.released(name, x, note)
	}
}

// draw adds a chart, unless it cannot be drawn: a model may have numbers near the end of the range of float64.
func (s *Section) draw(chart Part) bool {
	ok := chart.check() == nil
	if ok {
		s.Parts = append(s.Parts, chart)
	}
	return ok
}

// Part is a [Text], [Note], [Facts], [Code], [Table], [Plot], [Bars] or [Heat].
type Part interface {
	// check returns an error if the part cannot be shown on a page.
	check() error
	// html returns the part as HTML. id is a prefix for the ids of its elements, unique in the page.
	html(id string) (template.HTML, error)
}

// Fact is a name and its value, for a list of facts.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	// Note explains the value. It may be empty.
	Note string `json:"note,omitempty"`
}

// Text is an ordinary paragraph. Note is a paragraph that stands out: a caveat or a warning. Facts is a
// list of names and values.
type (
	Text  string
	Note  string
	Facts []Fact
)

// Code is text that readers may copy, such as a command.
type Code struct {
	// Name is the title of the text.
	Name string `json:"name"`
	Text string `json:"text"`
}

var (
	//go:embed page.html
	pageText string
	//go:embed style.css
	styleText string

	templates = template.Must(template.New("page").Funcs(template.FuncMap{
		"line": oneLine, "text": clean, "style": func() template.CSS { return template.CSS(styleText) },
	}).Parse(pageText))
)

func execute(name string, data any) (template.HTML, error) {
	var b bytes.Buffer
	err := templates.ExecuteTemplate(&b, name, data)
	return template.HTML(b.String()), err
}

// figure returns a picture with its title and caption.
func figure(id, title, caption string, svg template.HTML) (template.HTML, error) {
	return execute("plot", struct {
		ID, Title, Caption string
		SVG                template.HTML
	}{id, title, caption, svg})
}

func (Text) check() error  { return nil }
func (Note) check() error  { return nil }
func (Facts) check() error { return nil }
func (Code) check() error  { return nil }

func (t Text) html(string) (template.HTML, error)  { return execute("text", t) }
func (n Note) html(string) (template.HTML, error)  { return execute("note", n) }
func (f Facts) html(string) (template.HTML, error) { return execute("facts", f) }

func (c Code) html(id string) (template.HTML, error) {
	return execute("code", struct {
		ID string
		Code
	}{id, c})
}

// shownSection is a section of the page in the form that the template page.html needs.
type shownSection struct {
	ID, Title string
	Parts     []template.HTML
}

// Render writes the page. If a part cannot be shown, Render writes nothing and returns an error.
func (p Page) Render(w io.Writer) error {
	if p.Title == "" {
		return errors.New("report: page: title must be given")
	}
	var sections []shownSection
	for i, s := range p.Sections {
		shown := shownSection{ID: fmt.Sprintf("s%d", i+1), Title: s.Title}
		for j, part := range s.Parts {
			if err := part.check(); err != nil {
				return fmt.Errorf("report: section %q: %w", s.Title, err)
			}
			text, err := part.html(fmt.Sprintf("%s-%d", shown.ID, j+1))
			if err != nil {
				return fmt.Errorf("report: section %q: %w", s.Title, err)
			}
			shown.Parts = append(shown.Parts, text)
		}
		sections = append(sections, shown)
	}
	var b bytes.Buffer
	err := templates.ExecuteTemplate(&b, "page", struct {
		Page
		Shown []shownSection
	}{p, sections})
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	_, err = w.Write(b.Bytes())
	return err
}

// Table is a table whose cells are formatted text.
type Table struct {
	Title   string   `json:"title"`
	Columns []Column `json:"columns"`
	Rows    []Row    `json:"rows"`
	Caption string   `json:"caption,omitempty"`
}

// Column is a column of a table. If Number is true, the column's cells are aligned to the right.
type Column struct {
	Name   string `json:"name"`
	Number bool   `json:"number,omitempty"`
}

// Row is a row of a table, with one cell for each column. A faint row is printed lighter.
type Row struct {
	Cells []string `json:"cells"`
	Faint bool     `json:"faint,omitempty"`
}

func (t Table) check() error {
	if t.Title == "" {
		return errors.New("table: title must be given")
	}
	if len(t.Columns) == 0 {
		return fmt.Errorf("table %q: must have columns", t.Title)
	}
	for i, r := range t.Rows {
		if len(r.Cells) != len(t.Columns) {
			return fmt.Errorf("table %q: row %d has %d cells: must have %d", t.Title, i, len(r.Cells), len(t.Columns))
		}
	}
	return nil
}

func (t Table) html(string) (template.HTML, error) { return execute("table", t) }

// text returns the table as aligned lines of text, without its title and caption.
func (t Table) text() string {
	return safetext.Table(vector.Map(t.Columns, func(c Column) string { return c.Name }),
		vector.Map(t.Rows, func(r Row) []string { return r.Cells }))
}

// DescriptionPage returns the page of a description of a table, whose certificate is c.
func DescriptionPage(table string, d *describe.Description, c *certificate.Certificate) Page {
	claim := c.Claim()
	p := Page{
		Title: "Description of " + table,
		Lead: fmt.Sprintf("Numbers of %s, released with differential privacy. Intervals are of the table's own values at the "+
			"level %s and cover the noise that protects its records.", table, percent(d.Level, false)),
		Facts: []Fact{
			{"Guarantee", claim.Text(), ""},
			{"Protects", c.Unit().Protects(c.Filter(), claim.Relation), ""},
			{"Records", Number(float64(c.Records())), ""},
		},
		Foot: "Made from describe.json by " + c.Software() + ". Its certificate is certificate.json.",
	}
	for _, t := range d.Tables() {
		p.Sections = append(p.Sections, Section{t.Title, []Part{Table{
			Title: t.Title, Columns: vector.Map(t.Head, func(name string) Column { return Column{Name: name} }),
			Rows: vector.Map(t.Rows, func(row []string) Row { return Row{Cells: row} }),
		}}})
	}
	return p
}
