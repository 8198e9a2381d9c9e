package dataset

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/stillpoint-dp/stillpoint/internal/safetext"
)

// anyText draws names and values that a schema accepts, awkward ones included.
func anyText() *rapid.Generator[string] {
	awkward := []string{"Private", "a b", "a: b", "#x", "- x", "yes", "null", "~", "???x", "?", "1", "007", "1e5", ".5",
		"0x1F",
		"it's", `"quoted"`, `back\slash`, "{a}", "[a]", "&a", "*a", "!a", "%a", "@a", "`a`", "a,b", "a\nb", "a\tb", "é", "日本",
		"a#b", "a: ", ":", "-", "=", "<<", "2020-01-01", "\u2028x\u2028y", "|", ">", "NaN", ".nan", "\u0000", "\ufeffx", "😀"}
	return rapid.OneOf(rapid.SampledFrom(awkward), rapid.String()).
		Filter(func(s string) bool { return valueRule(s, nil) == "" && s != other && s != placeholder })
}

// TestEveryKindOfColumnIsDrawn tests that anySchema draws every kind of column: the tests of encodings,
// fates and spellings try no other kinds.
func TestEveryKindOfColumnIsDrawn(t *testing.T) {
	drawn := map[ColumnKind]bool{}
	for seed := range 60 {
		for _, c := range anySchema().Example(seed).Columns() {
			drawn[c.Kind] = true
		}
	}
	for k := Number; !strings.HasPrefix(k.String(), "Kind("); k++ {
		if !drawn[k] {
			t.Errorf("no schema has a column of kind %v", k)
		}
	}
}

func anySchema() *rapid.Generator[*Schema] {
	return rapid.Custom(func(t *rapid.T) *Schema {
		names := rapid.SliceOfNDistinct(anyText(), 2, 8, rapid.ID[string]).Draw(t, "names")
		def := Definition{}
		for _, name := range names[1:] {
			c := Column{Name: name, Kind: Ignore}
			switch rapid.IntRange(0, 6).Draw(t, "kind") {
			case 1:
				c.Kind = Number
				c.Low, c.High = anyBounds(t, -1e300)
			case 2:
				c.Kind, c.Transform = Number, Log1p
				c.Low, c.High = anyBounds(t, -.99)
			case 3:
				c.Kind = Category
				c.Categories = rapid.SliceOfNDistinct(anyText(), 1, 5, rapid.ID[string]).Draw(t, "values")
			case 5:
				c.Kind = Hash
				c.Buckets = rapid.IntRange(2, 9).Draw(t, "buckets")
			case 6:
				c.Kind = Date
				c.Low = float64(rapid.IntRange(firstDay, lastDay-1).Draw(t, "first"))
				c.High = float64(rapid.IntRange(int(c.Low)+1, lastDay).Draw(t, "last"))
				c.Layout = rapid.SampledFrom([]string{"", "%d.%m.%Y", "%Y%m%d", "%m/%d/%Y %H:%M"}).Draw(t, "layout")
			case 4:
				c.Kind = Public
				c.Values = rapid.SliceOfNDistinct(anyText(), 1, 5, rapid.ID[string]).Draw(t, "values")
			}
			if c.isNumber() {
				c.Indicator = rapid.Bool().Draw(t, "indicator")
				c.Curve = rapid.SampledFrom([]int{0, 0, 3, 4, 16}).Draw(t, "curve")
			}
			def.Columns = append(def.Columns, c)
		}
		def.Target = Target{Column: names[0], Kind: Number}
		def.Target.Low, def.Target.High = anyBounds(t, -1e300)
		if rapid.Bool().Draw(t, "classes") {
			pair := rapid.SliceOfNDistinct(anyText().Filter(func(s string) bool { return safetext.Text(s) == s }), 2, 2,
				rapid.ID[string]).Draw(t, "pair")
			def.Target = Target{Column: names[0], Kind: Category, Classes: pair}
		}
		for _, c := range def.Columns {
			if c.Kind == Public {
				def.Where = Filter{c.Name, rapid.SampledFrom(c.Values).Draw(t, "wanted")}.String()
			}
		}
		if rapid.Bool().Draw(t, "missing") {
			def.Missing = rapid.SampledFrom([][]string{{}, {""}, {"", "NA-NA"}, {"-999.25"}}).Draw(t, "markers")
		}
		var crossed []string
		for _, c := range def.Columns {
			if c.Kind == Category || c.isNumber() {
				crossed = append(crossed, c.Name)
			}
		}
		if len(crossed) > 1 && rapid.Bool().Draw(t, "interaction") {
			def.Interactions = []Interaction{{crossed[len(crossed)-1], crossed[0]}}
		}
		s, err := New(def)
		if err != nil {
			t.Skip(err) // all columns ignored, features that clash
		}
		return s
	})
}

// anyBounds draws bounds far enough apart that rounding does not separate the encoding from a slow
// reference.
func anyBounds(t *rapid.T, least float64) (low, high float64) {
	low = rapid.Float64Range(least, 1e6).Draw(t, "low")
	return low, low + rapid.Float64Range(1e-3, 1e6).Draw(t, "width")*(1+max(low, -low))
}

func fullHeader(s *Schema) []string {
	header := []string{s.Target().Column}
	for _, c := range s.Columns() {
		header = append(header, c.Name)
	}
	return header
}
