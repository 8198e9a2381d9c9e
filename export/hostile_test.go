package export

import (
	"database/sql"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/model"
)

// hostile are names of columns that end quotes, begin comments, are words of SQL or of the query itself, or look like
// each other.
var hostile = []string{`a"b`, `x\`, "select", "_c0", "_N1", "1a", "é", "e\u0301", "Аge", "age", "-- x", "/* y */", "; drop table people", "'",
	"`", "``\\`", "?1", ":p", "$q", "@r", "%s", "[b]", `"`, `""`, `\"`, "a\u00a0b", "𝄞", strings.Repeat("long ", 200) + "end"}

// hostileLevels are values of categories, some with characters that no query shows as they are.
var hostileLevels = []string{"a'b", "''", `x\`, `\'`, "line\nend", "\u200b", "tab\tand\rmore", "-- x", "'); drop table people --", "é", "e\u0301",
	"😀", "others", "NULL", `"`, "`", "1", "01", "1.0", "A", "a", "\u202eabc", strings.Repeat("long ", 200) + "end", "$1", "?", "%s", "CHR(10)", "' || CHR(10) || '"}

// named returns a schema, and a model with the weights of seed, whose names and levels are those that rename makes of plain
// ones, and names of columns to keep.
func named(t *testing.T, l loss.Loss, rename func(string) string) (e exported, keep []string) {
	t.Helper()
	def := dataset.Definition{Missing: []string{"", rename("marker0"), "-9"}}
	for i := range hostile {
		c := dataset.Column{Name: rename(fmt.Sprint("column", i))}
		switch i % 4 {
		case 0:
			c.Kind, c.Low, c.High, c.Indicator = dataset.Number, -2, 5+float64(i), i%8 == 0
		case 1, 3:
			c.Kind = dataset.Category
			for j := range 1 + (i+len(hostileLevels)/2)%len(hostileLevels) {
				c.Categories = append(c.Categories, rename(fmt.Sprint("level", (i+j)%len(hostileLevels))))
			}
		case 2:
			c.Kind, c.Low, c.High, c.Curve = dataset.Date, 0, 20000, 3*(i%8/4)
		}
		def.Columns = append(def.Columns, c)
	}
	def.Columns = append(def.Columns, dataset.Column{Name: "town", Kind: dataset.Hash, Buckets: 5}) // numbers follow from its name
	def.Interactions = []dataset.Interaction{{rename("column1"), rename("column3")}, {rename("column5"), rename("column4")}}
	if def.Target = targetOf(l); len(def.Target.Classes) > 0 {
		for i := range def.Target.Classes {
			def.Target.Classes[i] = rename(fmt.Sprint("class", i))
		}
	}
	s, err := dataset.New(def)
	if err != nil {
		t.Fatal(err)
	}
	coin := rand.New(rand.NewPCG(11, 4))
	w := make([]float64, loss.Parameters(l, s.Dim()))
	for j := range w {
		w[j] = 3 * coin.NormFloat64()
	}
	m, err := model.New(model.Params{Software: "a\n; drop table people; --", Complete: true, Loss: l, Regularizer: loss.None(), Schema: s, Weights: w,
		Privacy: model.Privacy{Guarantee: account.Guarantee{Epsilon: 1, Delta: 1e-6, Relation: account.ReplaceOne},
			Neighbour: "b\r\nselect 1; \u2028*/ '\"", Certificate: "c.json"}})
	if err != nil {
		t.Fatal(err)
	}
	e = exported{schema: s, model: m}
	for _, c := range s.Columns() {
		e.header = append(e.header, c.Name)
	}
	for i := range 3 * len(hostileLevels) {
		var row []string
		for j, c := range s.Columns() {
			switch c.Kind {
			case dataset.Number:
				row = append(row, []string{"-2", "0.5", "99", "", rename("marker0"), "-9", "-2.5", "words"}[(i+j)%8])
			case dataset.Date:
				row = append(row, []string{"1970-01-01", "2001-02-03T04:05:06Z", "", "2999-01-01", rename("marker0")}[(i+j)%5])
			default:
				row = append(row, rename([]string{fmt.Sprint("level", (i+3*j)%len(hostileLevels)), "marker0"}[(i+j)%17/16]))
			}
		}
		e.rows = append(e.rows, row)
	}
	return e, []string{rename("keep0"), rename("keep1"), rename("keep2")}
}

// hostileFor returns the hostile text for a plain one.
func hostileFor(plain string) string {
	at, err := strconv.Atoi(strings.TrimLeft(plain, "abcdefghijklmnopqrstuvwxyz"))
	if err != nil {
		return plain
	}
	switch strings.TrimRight(plain, "0123456789") {
	case "column":
		return hostile[at]
	case "level":
		return hostileLevels[at]
	case "class":
		return []string{`n"o\`, "y'es", "c`--"}[at]
	case "keep":
		return []string{`id"\`, "_", "__Z"}[at]
	case "marker":
		return `?'\`
	}
	return plain
}

// lexeme is a part of a query: a word or sign, the content of a text or of a name in quotes, or a comment.
type lexeme struct {
	kind rune
	text string
}

var (
	character = regexp.MustCompile(`^(?:CHA?R\((\d+)\)|CODE_POINTS_TO_STRING\(\[(\d+)\]\))`)
	word      = regexp.MustCompile(`^[A-Za-z_0-9.]+`)
)

// lexed splits a query by the rules of its dialect. A character by its number is a text, and texts that are joined
// within parentheses are one.
func lexed(t *testing.T, dialect, query string) (list []lexeme) {
	t.Helper()
	for rest := query; rest != ""; {
		r, size := utf8.DecodeRuneInString(rest)
		word := word.FindString(rest)
		switch {
		case r == ' ' || r == '\n':
			rest = rest[size:]
		case strings.HasPrefix(rest, "--"):
			end := strings.IndexAny(rest, "\r\n")
			list, rest = append(list, lexeme{'-', rest[:end]}), rest[end:]
		case strings.HasPrefix(rest, "/*"):
			t.Fatalf("%s: a comment: %.40q", dialect, rest)
		case r == '\'' || r == '"' || r == '`' || strings.HasPrefix(rest, "r'"):
			raw := r == 'r'
			rest = strings.TrimPrefix(rest, "r")
			quote, at, text := rest[0], 1, ""
			backslash := dialect == "bigquery" && !raw
			for ; ; at++ {
				if at >= len(rest) {
					t.Fatalf("%s: quotes without an end: %.40q", dialect, rest)
				}
				if backslash && rest[at] == '\\' {
					at++
				} else if rest[at] == quote {
					if dialect == "bigquery" || at+1 == len(rest) || rest[at+1] != quote {
						break
					}
					at++
				}
				text += rest[at : at+1]
			}
			rest = rest[at+1:]
			if kind := '\''; quote == '\'' {
				list = append(list, lexeme{kind, text})
			} else if (quote == '`') != (dialect == "bigquery") {
				t.Fatalf("%s: a name in quotes of another dialect: %q", dialect, text)
			} else {
				list = append(list, lexeme{'"', text})
			}
		case character.MatchString(rest):
			m := character.FindStringSubmatch(rest)
			code, _ := strconv.Atoi(m[1] + m[2])
			list, rest = append(list, lexeme{'\'', string(rune(code))}), rest[len(m[0]):]
		case word != "":
			list, rest = append(list, lexeme{'w', word}), rest[len(word):]
		case strings.ContainsRune("(),+-*/<>=|!~[]%", r):
			list, rest = append(list, lexeme{'p', string(r)}), rest[size:]
		default:
			t.Fatalf("%s: %q outside of quotes: %.60q", dialect, r, rest)
		}
	}
	for i := 0; i < len(list); i++ {
		end, text := i+1, ""
		if list[i] != (lexeme{'p', "("}) {
			continue
		}
		for ; end < len(list) && list[end].kind == '\''; end += 3 {
			text += list[end].text
			if end+2 >= len(list) || list[end+1] != (lexeme{'p', "|"}) || list[end+2] != (lexeme{'p', "|"}) {
				break
			}
		}
		if end+1 < len(list) && list[end].kind == '\'' && list[end+1] == (lexeme{'p', ")"}) && end > i+1 {
			list = slices.Replace(list, i, end+2, lexeme{'\'', text})
		}
	}
	return list
}

// TestHostileNamesEndNoQuotes tests, in every dialect, that the query of a model whose names, levels and classes end
// quotes or begin comments is that of the same model with plain ones, with each name and text in its place and nothing
// else changed. Whatever is told in the head stands in a comment.
func TestHostileNamesEndNoQuotes(t *testing.T) {
	for _, name := range []string{"tanh", "softmax(3)"} {
		l := mustParse(t, name)
		plain, plainKeep := named(t, l, func(s string) string { return strings.Replace(s, "keep1", "_keep1", 1) })
		odd, oddKeep := named(t, l, hostileFor)
		for _, d := range Dialects() {
			write := func(m *model.Model, keep []string) []lexeme {
				text, err := SQL(m, Query{Dialect: d, Table: "people", Keep: keep})
				if err != nil {
					t.Fatal(err)
				}
				return lexed(t, d, text)
			}
			want, got := write(plain.model, plainKeep), write(odd.model, oddKeep)
			// Names of the query itself have one more underscore where a name to keep begins with two.
			seen := map[string]bool{}
			for i := range want {
				w := want[i]
				if w.kind == '"' || w.kind == '\'' {
					class := strings.TrimPrefix(w.text, "probability=")
					if plain := strings.TrimPrefix(class, "_"); plain == "keep1" || hostileFor(class) != class {
						w.text = strings.TrimSuffix(w.text, class) + hostileFor(plain)
						seen[strings.TrimRight(plain, "0123456789")] = true
					} else if strings.HasPrefix(w.text, "__") {
						w.text = "_" + w.text
					}
				}
				if i >= len(got) || got[i] != w {
					t.Fatalf("%s, %s: part %d is %q: must be %q, after %q", name, d, i, got[i], w, got[max(0, i-6):i])
				}
			}
			if len(got) != len(want) || len(seen) != 5 {
				t.Errorf("%s, %s: %d parts: must be %d, with %v", name, d, len(got), len(want), seen)
			}
			if comments := slices.IndexFunc(got, func(x lexeme) bool { return x.kind != '-' }); comments != 7 || got[7].text != "WITH" {
				t.Errorf("%s, %s: %d comments before %q", name, d, comments, got[comments].text)
			}
		}
	}
}

// TestHostileNamesPredict tests that SQLite's query gives the predictions of Predict, and the kept columns, for such names.
func TestHostileNamesPredict(t *testing.T) {
	quoted := func(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
	for _, name := range []string{"tanh", "softmax(3)", "huber(0.5)"} {
		e, keep := named(t, mustParse(t, name), hostileFor)
		want := predicted(t, e.model, e.header, e.rows)
		db, err := sql.Open("sqlite", ":memory:")
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		db.SetMaxOpenConns(1) // each connection would have its own database in memory
		var columns []string
		for _, c := range append(slices.Clone(keep), e.header...) {
			columns = append(columns, quoted(c)+" TEXT")
		}
		if _, err := db.Exec(`CREATE TABLE "p""eople\" (` + strings.Join(columns, ", ") + ")"); err != nil {
			t.Fatal(err)
		}
		for i, row := range e.rows {
			cells := []any{fmt.Sprint("a", i), fmt.Sprint("b", i), fmt.Sprint("c", i)}
			for _, cell := range row {
				cells = append(cells, cell)
			}
			if _, err := db.Exec(`INSERT INTO "p""eople\" VALUES (?`+strings.Repeat(", ?", len(cells)-1)+")", cells...); err != nil {
				t.Fatal(err)
			}
		}
		text, err := SQL(e.model, Query{Dialect: "sqlite", Table: quoted(`p"eople\`), Keep: keep})
		if err != nil {
			t.Fatal(err)
		}
		rows, err := db.Query(text)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		names, err := rows.Columns()
		if err != nil || !slices.Equal(names[:3], keep) {
			t.Fatalf("columns %q, %v: must begin with %q", names, err, keep)
		}
		count, different := 0, map[string]bool{}
		for ; rows.Next(); count++ {
			cells, into := make([]string, len(names)), make([]any, len(names))
			for i := range cells {
				into[i] = &cells[i]
			}
			if err := rows.Scan(into...); err != nil {
				t.Fatal(err)
			}
			if kept := []string{fmt.Sprint("a", count), fmt.Sprint("b", count), fmt.Sprint("c", count)}; !slices.Equal(cells[:3], kept) {
				t.Errorf("row %d keeps %q", count, cells[:3])
			}
			for i, column := range names[3:] {
				if len(want[column]) != len(e.rows) {
					t.Fatalf("column %q: predict has %d rows", column, len(want[column]))
				}
				got, said := cells[3+i], want[column][count]
				different[said] = true
				if column == "class" {
					if got != said {
						t.Errorf("%s, row %d: class %q: must be %q", name, count, got, said)
					}
					continue
				}
				x, err := strconv.ParseFloat(got, 64)
				y, _ := strconv.ParseFloat(said, 64)
				if err != nil || !(math.Abs(x-y) <= 1e-9*max(1, math.Abs(y))) {
					t.Errorf("%s, row %d: %s = %s: must be %s", name, count, column, got, said)
				}
			}
		}
		if err := rows.Err(); err != nil || count != len(e.rows) || len(different) < 40 {
			t.Errorf("%d rows of %d, %d different cells, %v", count, len(e.rows), len(different), err)
		}
	}
}
