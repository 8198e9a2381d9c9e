package experiment

import (
	"errors"
	"fmt"
	"slices"

	"github.com/stillpoint-dp/stillpoint/internal/report"
)

// Study is the content of an experiment's page as plain data. An empty field has no section on the page.
type Study struct {
	Title string `json:"title"`
	// Question is the question of the experiment, and Answer its result.
	Question string   `json:"question"`
	Answer   string   `json:"answer"`
	Caveats  []string `json:"caveats,omitempty"`

	Settings []report.Fact `json:"settings,omitempty"`
	// Curves are plots such as error against the effective size N = n mu/sqrt(d) for n records and
	// d weights.
	Curves []report.Plot `json:"curves,omitempty"`
	Slopes *Slopes       `json:"slopes,omitempty"`
	// Charges are plots of the privacy budget charged after each step.
	Charges []report.Plot `json:"charges,omitempty"`
	// Comparisons are charts that compare methods, with one bar for each.
	Comparisons []report.Bars  `json:"comparisons,omitempty"`
	Tables      []report.Table `json:"tables,omitempty"`
	// Reproduce describes how to get the same numbers again.
	Reproduce Reproduce `json:"reproduce"`
}

// Slopes is a table of exponents of power laws, which were fitted as slopes on logarithmic axes.
type Slopes struct {
	Title   string `json:"title"`
	Caption string `json:"caption"`
	// Label names the exponent, for example "d log error / d log N" for the effective size N.
	Label string        `json:"label"`
	Items []Fitted      `json:"items"`
	Marks []report.Mark `json:"marks,omitempty"`
}

// Fitted is a fitted exponent with an interval. Theory is the value that theory predicts; it is empty if
// there is no prediction.
type Fitted struct {
	Name     string          `json:"name"`
	Value    float64         `json:"value"`
	Interval report.Interval `json:"interval"`
	Theory   string          `json:"theory,omitempty"`
	// Points is the number of points to which the exponent was fitted.
	Points int `json:"points"`
}

// Reproduce says how to get the same numbers again.
type Reproduce struct {
	// Commands are the commands to run, in this order.
	Commands []string      `json:"commands"`
	Facts    []report.Fact `json:"facts,omitempty"`
}

// report.Page makes the page of an experiment.
func (s Study) Page() (report.Page, error) {
	if s.Title == "" || s.Question == "" {
		return report.Page{}, errors.New("report: study: title and question must be given")
	}
	p := report.Page{Title: s.Title, Lead: s.Question}
	section := func(title string, parts ...report.Part) {
		if len(parts) > 0 {
			p.Sections = append(p.Sections, report.Section{Title: title, Parts: parts})
		}
	}
	var answer []report.Part
	if s.Answer != "" {
		answer = append(answer, report.Text(s.Answer))
	}
	for _, c := range s.Caveats {
		answer = append(answer, report.Note(c))
	}
	section("Answer", answer...)
	section("Error", parts(s.Curves)...)
	if s.Slopes != nil {
		section("Rates", s.Slopes.bars(), s.Slopes.table())
	}
	section("Charges", parts(s.Charges)...)
	section("Comparison", parts(s.Comparisons)...)
	section("Tables", parts(s.Tables)...)
	if len(s.Settings) > 0 {
		section("Settings", facts("The runs", s.Settings))
	}
	var again []report.Part
	for i, c := range s.Reproduce.Commands {
		name := ""
		if i == 0 {
			name = "Commands"
		}
		again = append(again, report.Code{Name: name, Text: c})
	}
	if len(s.Reproduce.Facts) > 0 {
		again = append(again, facts("Software and machine", s.Reproduce.Facts))
	}
	section("How to reproduce this", again...)
	p.Foot = "Runs of experiments are on generated or declared-public rows with simulated coins: they protect nobody, " +
		"and nobody is in them."
	return p, nil
}

func parts[P report.Part](list []P) []report.Part {
	var all []report.Part
	for _, p := range list {
		all = append(all, p)
	}
	return all
}

// facts makes a table of names and values.
func facts(title string, list []report.Fact) report.Table {
	t := report.Table{Title: title, Columns: []report.Column{{Name: "Name"}, {Name: "Value"}}}
	noted := slices.ContainsFunc(list, func(f report.Fact) bool { return f.Note != "" })
	if noted {
		t.Columns = append(t.Columns, report.Column{Name: "Note"})
	}
	for _, f := range list {
		t.Rows = append(t.Rows, report.Row{Cells: []string{f.Name, f.Value, f.Note}[:len(t.Columns)]})
	}
	return t
}

func (s Slopes) bars() report.Bars {
	b := report.Bars{Title: s.Title, Caption: s.Caption, X: report.Axis{Label: s.Label}, Dots: true, Marks: s.Marks}
	for _, i := range s.Items {
		b.Items = append(b.Items, report.Bar{Name: i.Name, Value: i.Value, Interval: i.Interval})
	}
	return b
}

func (s Slopes) table() report.Table {
	t := report.Table{
		Title: s.Title + ": numbers",
		Columns: []report.Column{{Name: "Method"}, {Name: "Fitted", Number: true}, {Name: "Interval", Number: true},
			{Name: "Theory", Number: true}, {Name: "Points", Number: true}},
	}
	for _, i := range s.Items {
		t.Rows = append(t.Rows, report.Row{Cells: []string{i.Name, report.Number(i.Value),
			fmt.Sprintf("%s to %s", report.Number(i.Interval.Low), report.Number(i.Interval.High)), i.Theory, report.Number(float64(i.Points))}})
	}
	return t
}
