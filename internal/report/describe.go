package report

import (
	"fmt"

	"github.com/stillpoint-dp/stillpoint/certificate"
	"github.com/stillpoint-dp/stillpoint/internal/describe"
)

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
		shown := Table{Title: t.Title}
		for _, name := range t.Head {
			shown.Columns = append(shown.Columns, Column{Name: name})
		}
		for _, row := range t.Rows {
			shown.Rows = append(shown.Rows, Row{Cells: row})
		}
		p.Sections = append(p.Sections, Section{t.Title, []Part{shown}})
	}
	return p
}
