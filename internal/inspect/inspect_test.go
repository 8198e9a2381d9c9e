package inspect

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/stillpoint-dp/stillpoint/dataset"
)

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "t.csv")
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

func schema(t *testing.T, text string) *dataset.Schema {
	t.Helper()
	s := new(dataset.Schema)
	if err := yaml.Unmarshal([]byte(text), s); err != nil {
		t.Fatal(err)
	}
	return s
}

const columns = `
columns:
  age: {number: [18, 100]}
  income: {number: [0, 5000]}
  seen: {date: [2019-01-01, 2022-12-31]}
  town: {category: [Aarau, Bern, "7"]}
  code: {hash: 8}
  note: ignore
  split: {public: [train, test]}
target: {column: sick, classes: ["no", "yes"], weight: w}
where: split=train
`

// TestCheck tests the report of a table with many faults, with the expected problems listed by hand.
func TestCheck(t *testing.T) {
	table := `age,income,seen,town,code,note,split,sick,w
33,"1,234",2020-01-05,aarau,x,,train,yes,1
44,"2,500.50",05.01.2020,Bern,,,train,Yes,.5
unknown,5%,31.12.2021,Chur,x,,train,no,2
120,€12,2020-02-30,,x,,train,maybe,1
,2020-05-05,13.4.2021, 7.0 ,x,,train,NO ,x
17,,,AARAU,x,,train
50,1,,Bern,x,,test,no,1
50,1,,Bern,x,,dev,no,1
`
	r, err := Check(context.Background(), []string{write(t, table)}, dataset.CSV{}, schema(t, columns))
	if err != nil {
		t.Fatal(err)
	}
	if r.Rows != 6 || r.LeftOut != 2 || r.Malformed != 1 || r.Silent != 4 {
		t.Errorf("%d rows, %d left out, %d malformed, %d silent", r.Rows, r.LeftOut, r.Malformed, r.Silent)
	}
	want := map[string][6]int{ // read, missing, unreadable, below, above, other
		"age": {2, 1, 1, 0, 1, 0}, "income": {0, 0, 5, 0, 0, 0}, "seen": {1, 0, 4, 0, 0, 0}, "town": {1, 1, 0, 0, 0, 3},
		"code": {4, 1, 0, 0, 0, 0}, "split": {5, 0, 0, 0, 0, 1}, "sick": {2, 0, 0, 0, 0, 3}, "w": {3, 0, 1, 0, 1, 0},
	}
	for _, c := range r.Columns {
		if got := [6]int{c.Read, c.Missing, c.Unreadable, c.Below, c.Above, c.Other}; got != want[c.Name] {
			t.Errorf("%s: %v: want %v", c.Name, got, want[c.Name])
		}
		delete(want, c.Name)
	}
	if len(want) > 0 {
		t.Errorf("nothing is said of %v", want)
	}
	says := said(r)
	for _, line := range []string{
		`table: 4 half of the rows or more count and contribute nothing`,
		`age: 1 words, which count as missing ["unknown"]: if they mean missing, say so: missing: ["", unknown]`,
		`income: 1 numbers with a percent sign ["5%"]: write 5% as 5`,
		`income: 2 numbers with marks between thousands ["1,234" "2,500.50"]: if all are, say so: csv: {thousands: ","}`,
		`income: 1 dates ["2020-05-05"]: if all cells are: income: {date: [FIRST, LAST]}`,
		`income: 1 numbers with a unit or a sign ["€12"]: write`,
		`seen: 3 dates of another layout ["05.01.2020" "13.4.2021" "31.12.2021"]: if all cells are laid out like this: seen: {date: [2019-01-01, 2022-12-31], layout: "%d.%m.%Y"}`,
		`seen: 1 not a date of the layout, and counted as missing ["2020-02-30"]`,
		`town: 2 differs from a listed value only in case, blanks, marks or zeros ["7.0" "aarau"]: list them as the table spells them: town: {category: [aarau, Bern, "7.0"]}`,
		`split: 1 not a listed value: every row filter leaves such a row out ["dev"]: list all values: split: {public: [train, test]}`,
		`sick: 2 differs from a listed value only in case, blanks, marks or zeros ["NO" "Yes"]: the table has more than one spelling of a value`,
		`sick: 1 not a class: such a row counts and contributes nothing ["maybe"]: list the class`,
		`w: 1 words, which count as missing ["x"]`,
	} {
		if !strings.Contains(says, line) {
			t.Errorf("does not say %s", line)
		}
	}
	if n := strings.Count(says, "\n"); n != 13 || n != r.Findings() {
		t.Errorf("%d problems in\n%s", n, says)
	}
}

func said(r *Report) string {
	var b strings.Builder
	for _, p := range r.Table {
		fmt.Fprintf(&b, "table: %d %s: %s\n", p.Cells, p.What, p.Do)
	}
	for _, c := range r.Columns {
		for _, p := range c.Findings {
			fmt.Fprintf(&b, "%s: %d %s %q: %s\n", c.Name, p.Cells, p.What, p.Examples, p.Do)
		}
	}
	return b.String()
}

// TestCheckOfOneFault tests each fault by itself, with the advice for it.
func TestCheckOfOneFault(t *testing.T) {
	for _, test := range []struct{ columns, cells, want string }{
		{"x: {number: [0, 9]}", "\"1,5\"\n\"2,125\"\n",
			`x: 2 numbers with a decimal comma ["1,5" "2,125"]: if all are, say so: csv: {decimal: ","}`},
		{"x: {number: [0, 9]}", "10\n11\n5\n", "x: 2 most cells that are read lie beyond the bounds (0 below, 2 above)"},
		{"x: {number: [0, 9]}", "a\nb\nc\nd\n",
			`x: 4 not a number ["a" "b" "c"]: if the column is no number, make it a category or ignore it: x: ignore`},
		{"x: {category: [a, b]}", "c\nc\nd\n", `x: 3 no cell is a listed value ["c" "d"]: list the values`},
		{"x: {date: [2020-01-01, 2020-12-31]}", "03/04/2020\n05/06/2020\n",
			`x: 2 dates of another layout ["03/04/2020" "05/06/2020"]: the cells fit the layouts %d/%m/%Y and %m/%d/%Y: state the right one`},
		{"x: {date: [2020-01-01, 2020-12-31], layout: '%d.%m.%Y'}", "2020-02-02\n",
			`layout like this: x: {date: [2020-01-01, 2020-12-31]}`},
		{"x: {date: [2020-01-01, 2020-12-31]}", "2020-05-05\n", ""},
	} {
		s := schema(t, "columns: {"+test.columns+"}\ntarget: {column: y, number: [0, 1]}\n")
		table := "x,y\n" + strings.ReplaceAll(test.cells, "\n", ",1\n")
		r, err := Check(context.Background(), []string{write(t, table)}, dataset.CSV{}, s)
		if err != nil {
			t.Fatal(err)
		}
		want := strings.Replace(test.want, "layout like this", "if all cells are laid out like this", 1)
		if says := said(r); !strings.Contains(says, want) || want == "" && says != "" {
			t.Errorf("%s of %q: %s: want %s", test.columns, test.cells, says, want)
		}
	}
	if _, err := Check(context.Background(), []string{write(t, "x\n1\n")}, dataset.CSV{}, schema(t, columns)); err == nil {
		t.Error("a table of another schema")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	said, err := Check(context.Background(), []string{write(t, "x;y\n1,5;1\n1.234,5;1\n1;1\n")},
		dataset.CSV{Delimiter: ";", Decimal: ",", Thousands: "."},
		schema(t, "columns: {x: {number: [0, 9]}}\ntarget: {column: y, number: [0, 1]}\n"))
	if err != nil || said.Findings() != 0 || said.Columns[0].Read != 2 || said.Columns[0].Above != 1 {
		t.Errorf("a table whose form is said: %+v, %v", said, err)
	}
	if _, err := Check(ctx, []string{write(t, "x\n1\n")}, dataset.CSV{}, schema(t, columns)); err == nil {
		t.Error("a cancelled check")
	}
}

// TestCheckQuotesWhatIsThere tests that a report of a file of decimal commas quotes the cells as the file has them, says
// of decimal points what they are, and advises no marker that is not a cell.
func TestCheckQuotesWhatIsThere(t *testing.T) {
	s := schema(t, "columns: {x: {number: [0, 9]}, c: {category: [\"1.5\"]}}\ntarget: {column: y, number: [0, 1]}\n")
	for text, want := range map[string]string{
		"1,5;1.5;1\n43.5;1.5;1\n": `x: 1 numbers with a decimal point in a file of decimal commas ["43.5"]: write them with a comma, ` +
			`or, if all have a point, leave out csv: {decimal: ","}`,
		strings.Repeat("1,5;1.5;1\n", 25): `["1,5"]`,
		"1,5;1.5;1\n1,5;1.5;.5\n":         `y: 1 numbers with a decimal point in a file of decimal commas [".5"]`,
		"1,5;1.5;1\n1,5;1,5;0,5\n":        "",
	} {
		r, err := Check(context.Background(), []string{write(t, "x;c;y\n"+text)}, dataset.CSV{Delimiter: ";", Decimal: ","}, s)
		if err != nil {
			t.Fatal(err)
		}
		says := said(r)
		if !strings.Contains(says, want) || strings.Contains(says, "no number: ") || strings.Contains(says, "missing:") {
			t.Errorf("%q: %s: want %s", text, says, want)
		}
		for _, c := range r.Columns {
			for _, p := range c.Findings {
				for _, e := range p.Examples {
					if !strings.Contains(text, e) {
						t.Errorf("%q: quotes %q, which is not there", text, e)
					}
				}
			}
		}
	}
}

// TestCheckOfAnOpenQuote tests that a quote that swallows the rest of a file is a problem that loses rows.
func TestCheckOfAnOpenQuote(t *testing.T) {
	s := schema(t, "columns: {x: {number: [0, 9]}}\ntarget: {column: y, number: [0, 1]}\n")
	text := "x,y\n" + strings.Repeat("1,1\n2,0\n", 125) + "\"3,1\n" + strings.Repeat("1,1\n2,0\n", 125)
	r, err := Check(context.Background(), []string{write(t, text)}, dataset.CSV{}, s)
	if err != nil || r.Rows != 251 || r.Findings() != 1 || len(r.Lost()) != 1 ||
		!strings.HasPrefix(r.Table[0].What, "a quote that is not closed at the end") {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestDraft tests kinds, bounds and notes of a public table by hand; the draft must be readable as
// a schema.
func TestDraft(t *testing.T) {
	var b strings.Builder
	b.WriteString("age,gain,seen,day,kind,code,id,empty,y,stamp\n")
	for i := range 40 {
		age := fmt.Sprint(18 + i)
		if i == 3 {
			age = "NA"
		}
		kind := []string{"a", "b", "other"}[i%3]
		if i == 0 {
			kind = ""
		}
		fmt.Fprintf(&b, "%s,%v,20%02d-03-%02d,%d/%d/2020,%s,c%d,n%d,,%d,%d\n", age, float64(i)/8-1, 10+i%4, 1+i%28, 13+i%5,
			1+i%9, kind, i%35, i, i%2, 20200101+i%25)
	}
	columns, missing, err := Draft(context.Background(), write(t, b.String()), dataset.CSV{}, "s.csv")
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprintf("%q", missing) != `["" "NA"]` {
		t.Errorf("missing %q", missing)
	}
	want := map[string]string{
		"age":   "age: {number: [10, 60], missing: indicator} # from s.csv: 40 cells, 18 to 57, rounded outwards, 1 missing",
		"gain":  "gain: {number: [-1, 4]} # from s.csv: 40 cells, -1 to 3.875, rounded outwards",
		"seen":  "seen: {date: [2010-01-01, 2013-12-31]} # from s.csv: 40 cells, 2010-03-01 to 2013-03-28, rounded to years",
		"day":   `day: {date: [2020-01-01, 2020-12-31], layout: "%d/%m/%Y"} # from s.csv: 40 cells, 2020-01-13 to 2020-09-16, rounded to years`,
		"kind":  "kind: {category: [a, b]} # from s.csv: 40 cells, of 2 values, 1 missing",
		"code":  "code: {hash: 256} # from s.csv: 40 cells, more than 30 values",
		"id":    "id: ignore # from s.csv: 40 cells, all different, as the names of rows are",
		"y":     `"y": {number: [0, 1]} # from s.csv: 40 cells, 0 to 1, rounded outwards`,
		"stamp": `stamp: {date: [2020-01-01, 2020-12-31], layout: "%Y%m%d"} # from s.csv: 40 cells, 2020-01-01 to 2020-01-25, rounded to years`,
	}
	for name, line := range want {
		d, ok := columns[name]
		if got := d.Column.Line() + " # " + d.Note; !ok || got != line {
			t.Errorf("%s: want %s", got, line)
		}
	}
	if len(columns) != len(want) {
		t.Errorf("%d columns: want %d", len(columns), len(want))
	}
	text := Schema([]string{"age", "kind", "more", "y"}, columns, missing)
	for _, line := range []string{"    " + want["age"], "    more: {number: [???, ???]}", "\n  missing: [\"\", NA]\n"} {
		if !strings.Contains(text, line) {
			t.Errorf("no %s in\n%s", line, text)
		}
	}
}
