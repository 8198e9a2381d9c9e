package report

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// hostile are texts that end an element, an attribute or a string early unless they are escaped.
var hostile = []string{
	`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `' onmouseover='alert(1)`, `</style><script>`,
	`</title></svg><a href="http://x.example">`,
	`]]>`, `<!-- `, `<![CDATA[`, `&lt;b&gt;`, `&#x3c;script&#x3e;`, `{{.}}`, `{{template "page"}}`, `javascript:alert(1)`,
	`url(http://x.example)`,
	"a\x00b", "a\x1b[31mb", "a\u202eb\u2066c", "a\xffb", "a\r\nb", "\ufffe", "%s%n%!d(MISSING)", strings.Repeat("W", 3000),
	strings.Repeat("界", 500), "", " ",
}

// everywhere returns a page with the same text in every place that accepts text.
func everywhere(s string) Page {
	named := s
	if named == "" {
		named = "x" // where a name is required
	}
	xs := []float64{1, 10, 100}
	band := Series{Name: named, X: xs, Y: []float64{2, 3, 4}, Low: []float64{1, 2, 3}, High: []float64{3, 4, 5}}
	answer := []Part{Text(named), Note(s)}
	plot := Plot{
		Title: named, Caption: s, X: Axis{Label: named, Log: true}, Y: Axis{Label: named, Log: true},
		Series:     []Series{band, band},
		References: []Reference{Level(named, 3), {Name: named, X: xs, Y: xs}},
	}
	dots := Bars{Title: named, Caption: s, X: Axis{Label: named}, Dots: true, Marks: []Mark{{s, 1}},
		Items: []Bar{{Name: s, Value: 1, Interval: Interval{0, 2}}}}
	bars := Bars{Title: named, Caption: s, X: Axis{Label: named},
		Items: []Bar{{s, 1, Interval{0, 2}, true}, {s, -1, Interval{}, false}}}
	table := Table{Title: named, Columns: []Column{{s, true}}, Rows: []Row{{[]string{s}, true}}, Caption: s}
	page := Page{Title: named, Lead: named, Sections: []Section{{"Answer", answer}, {"Drawn", []Part{plot, dots, bars, table}}}}
	page.Facts, page.Foot = []Fact{{s, s, s}}, s
	page.Sections = append(page.Sections, Section{s, []Part{Facts{{s, s, s}}, Code{s, s}, Note(s), Text(s)}})
	return page
}

// TestTextIsInert tests that a page with hostile text in every place has only allowed elements. The
// text must appear unchanged, except for characters that no page may contain.
func TestTextIsInert(t *testing.T) {
	for _, s := range hostile {
		nodes := inert(t, render(t, everywhere(s)))
		want := clean(s)
		if !slices.Contains(texts(nodes, "code"), want) || !slices.Contains(texts(nodes, "td"), oneLine(s)) {
			t.Errorf("%.40q is not in the page as it was given", s)
		}
		title := oneLine(s)
		if s == "" {
			title = "x"
		}
		if h := texts(nodes, "h1"); len(h) != 1 || h[0] != title {
			t.Errorf("%.40q: heading %.60q", s, h)
		}
	}
}

func FuzzTextIsInert(f *testing.F) {
	for _, s := range hostile {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var b bytes.Buffer
		if err := everywhere(s).Render(&b); err != nil {
			t.Fatal(err)
		}
		inert(t, b.Bytes())
		if !utf8.Valid(b.Bytes()) || bytes.ContainsAny(b.Bytes(), "\x00\x1b\u202e\u2066") {
			t.Errorf("%q: left in the page", s)
		}
	})
}

// TestRefused tests that Render writes nothing if a part of a page cannot be shown, and returns an
// error that names the part.
func TestRefused(t *testing.T) {
	for _, c := range []struct {
		part Part
		want string
	}{
		{Table{Columns: []Column{{"a", false}}}, "table: title"},
		{Table{Title: "t"}, "must have columns"},
		{Table{Title: "t", Columns: []Column{{"a", false}}, Rows: []Row{{}}}, "row 0 has 0 cells: must have 1"},
	} {
		var b bytes.Buffer
		err := Page{Title: "p", Sections: []Section{{"s", []Part{Text("a"), c.part}}}}.Render(&b)
		if err == nil || !strings.Contains(err.Error(), c.want) || b.Len() > 0 {
			t.Errorf("%v: %v, %d bytes", c.part, err, b.Len())
		}
	}
	if err := (Page{}).Render(new(bytes.Buffer)); err == nil {
		t.Error("a page without a title")
	}
}

func ExamplePage_Render() {
	page := Page{Title: "Two runs", Sections: []Section{{"Error", []Part{Plot{
		Title:      "Error against size",
		X:          Axis{Label: "rows", Log: true},
		Y:          Axis{Label: "error (minutes)", Log: true},
		Series:     []Series{{Name: "measured", X: []float64{100, 1000, 10000}, Y: []float64{3, 1.1, .4}}},
		References: []Reference{Level("noise alone", .3)},
	}}}}}
	var b bytes.Buffer
	if err := page.Render(&b); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(strings.Count(b.String(), "<svg"), strings.Contains(b.String(), "noise alone"))
	// Output: 1 true
}
