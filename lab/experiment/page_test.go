package experiment

import (
	"bytes"
	"encoding/json"
	"html"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/internal/report"
)

// TestPageShowsAStudy tests that the page of an experiment has a section for each part of the study, draws every
// series, reference line and axis, and that its tables contain the numbers.
func TestPageShowsAStudy(t *testing.T) {
	text, err := os.ReadFile("testdata/study.json")
	if err != nil {
		t.Fatal(err)
	}
	var s Study
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		t.Fatal(err)
	}
	page, err := s.Page()
	if err != nil {
		t.Fatal(err)
	}
	var titles []string
	for _, section := range page.Sections {
		titles = append(titles, section.Title)
	}
	want := []string{"Answer", "Error", "Rates", "Charges", "Comparison", "Tables", "Settings", "How to reproduce this"}
	if !slices.Equal(titles, want) {
		t.Errorf("sections %q", titles)
	}
	var b strings.Builder
	if err := page.Render(&b); err != nil {
		t.Fatal(err)
	}
	drawn := html.UnescapeString(b.String())
	names := []string{"floor r = 2 L0/N", "lower bound (scale)", "budget μ²", "theory −1"}
	for _, c := range s.Curves[0].Series {
		names = append(names, c.Name)
	}
	for _, axis := range []report.Axis{s.Curves[0].X, s.Curves[0].Y, s.Charges[0].X, s.Charges[0].Y} {
		names = append(names, axis.Label)
	}
	for _, name := range names {
		if !strings.Contains(drawn, ">"+name+"</text>") {
			t.Errorf("%q is not drawn", name)
		}
	}
	for _, cell := range []string{"−0.931", "−0.981 to −0.871", "25", "seeds 1 to 25", "12800"} {
		if !strings.Contains(drawn, ">"+cell+"</td>") {
			t.Errorf("cell %q is missing", cell)
		}
	}
	if n := strings.Count(drawn, "<svg "); n != 4 {
		t.Errorf("%d plots", n)
	}
}

// TestEmptyStudy tests that an empty field of a Study has no section on the page.
func TestEmptyStudy(t *testing.T) {
	page, err := Study{Title: "a", Question: "b"}.Page()
	if err != nil || len(page.Sections) != 0 {
		t.Errorf("%v, %v", page, err)
	}
	for _, s := range []Study{{Title: "a"}, {Question: "a"}} {
		if _, err := s.Page(); err == nil {
			t.Errorf("%+v: no error", s)
		}
	}
}

// TestStudyToTheLetter tests the numbers of slopes, and the bars that show them.
func TestStudyToTheLetter(t *testing.T) {
	s := Slopes{Items: []Fitted{{Name: "gd", Value: -.5123, Interval: report.Interval{Low: -.6234, High: -.4012}, Theory: "−1/2",
		Points: 17}}}
	if got := s.table().Rows[0].Cells; !slices.Equal(got, []string{"gd", "−0.512", "−0.623 to −0.401", "−1/2", "17"}) {
		t.Errorf("%q", got)
	}
	if b := s.bars().Items[0]; b.Value != -.5123 || b.Interval != (report.Interval{Low: -.6234, High: -.4012}) {
		t.Errorf("%+v", b)
	}
}
