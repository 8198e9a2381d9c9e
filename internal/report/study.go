package report

import (
	"errors"
	"fmt"
	"slices"
)

// Study is the content of an experiment's page as plain data. An empty field has no section on the page.
type Study struct {
	Title string `json:"title"`
	// Question is the question of the experiment, and Answer its result.
	Question string   `json:"question"`
	Answer   string   `json:"answer"`
	Caveats  []string `json:"caveats,omitempty"`

	Settings []Fact `json:"settings,omitempty"`
	// Curves are plots such as error against the effective size N = n mu/sqrt(d) for n records and
	// d weights.
	Curves []Plot  `json:"curves,omitempty"`
	Slopes *Slopes `json:"slopes,omitempty"`
	// Charges are plots of the privacy budget charged after each step.
	Charges []Plot `json:"charges,omitempty"`
	// Comparisons are charts that compare methods, with one bar for each.
	Comparisons []Bars  `json:"comparisons,omitempty"`
	Tables      []Table `json:"tables,omitempty"`
	// Reproduce describes how to get the same numbers again.
	Reproduce Reproduce `json:"reproduce"`
}

// Slopes is a table of exponents of power laws, which were fitted as slopes on logarithmic axes.
type Slopes struct {
	Title   string `json:"title"`
	Caption string `json:"caption"`
	// Label names the exponent, for example "d log error / d log N" for the effective size N.
	Label string  `json:"label"`
	Items []Slope `json:"items"`
	Marks []Mark  `json:"marks,omitempty"`
}

// Slope is a fitted exponent with an interval. Theory is the value that theory predicts; it is empty if
// there is no prediction.
type Slope struct {
	Name     string   `json:"name"`
	Value    float64  `json:"value"`
	Interval Interval `json:"interval"`
	Theory   string   `json:"theory,omitempty"`
	// Points is the number of points to which the exponent was fitted.
	Points int `json:"points"`
}

// Reproduce says how to get the same numbers again.
type Reproduce struct {
	// Commands are the commands to run, in this order.
	Commands []string `json:"commands"`
	Facts    []Fact   `json:"facts,omitempty"`
}

// Page makes the page of an experiment.
func (s Study) Page() (Page, error) {
	if s.Title == "" || s.Question == "" {
		return Page{}, errors.New("report: study: title and question must be given")
	}
	p := Page{Title: s.Title, Lead: s.Question}
	section := func(title string, parts ...Part) {
		if len(parts) > 0 {
			p.Sections = append(p.Sections, Section{title, parts})
		}
	}
	var answer []Part
	if s.Answer != "" {
		answer = append(answer, Text(s.Answer))
	}
	for _, c := range s.Caveats {
		answer = append(answer, Note(c))
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
	var again []Part
	for i, c := range s.Reproduce.Commands {
		name := ""
		if i == 0 {
			name = "Commands"
		}
		again = append(again, Code{Name: name, Text: c})
	}
	if len(s.Reproduce.Facts) > 0 {
		again = append(again, facts("Software and machine", s.Reproduce.Facts))
	}
	section("How to reproduce this", again...)
	p.Foot = "Runs of experiments are on generated or declared-public rows with simulated coins: they protect nobody, " +
		"and nobody is in them."
	return p, nil
}

func parts[P Part](list []P) []Part {
	var all []Part
	for _, p := range list {
		all = append(all, p)
	}
	return all
}

// facts makes a table of names and values.
func facts(title string, list []Fact) Table {
	t := Table{Title: title, Columns: []Column{{Name: "Name"}, {Name: "Value"}}}
	noted := slices.ContainsFunc(list, func(f Fact) bool { return f.Note != "" })
	if noted {
		t.Columns = append(t.Columns, Column{Name: "Note"})
	}
	for _, f := range list {
		t.Rows = append(t.Rows, Row{Cells: []string{f.Name, f.Value, f.Note}[:len(t.Columns)]})
	}
	return t
}

func (s Slopes) bars() Bars {
	b := Bars{Title: s.Title, Caption: s.Caption, X: Axis{Label: s.Label}, Dots: true, Marks: s.Marks}
	for _, i := range s.Items {
		b.Items = append(b.Items, Bar{Name: i.Name, Value: i.Value, Interval: i.Interval})
	}
	return b
}

func (s Slopes) table() Table {
	t := Table{
		Title:   s.Title + ": numbers",
		Columns: []Column{{"Method", false}, {"Fitted", true}, {"Interval", true}, {"Theory", true}, {"Points", true}},
	}
	for _, i := range s.Items {
		t.Rows = append(t.Rows, Row{Cells: []string{i.Name, Number(i.Value),
			fmt.Sprintf("%s to %s", Number(i.Interval.Low), Number(i.Interval.High)), i.Theory, Number(float64(i.Points))}})
	}
	return t
}
