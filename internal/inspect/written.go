package inspect

import (
	"strings"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/safetext"
	"github.com/stillpoint-dp/stillpoint/internal/yamltext"
)

// Drafted is the entry of a column in a drafted schema, as a public source suggests it, and a note
// that names the source. Entry, if not empty, is the entry in YAML of a column whose facts are not all known; Column
// then does not count.
type Drafted struct {
	Column dataset.Column
	Entry  string
	Note   string
}

// Schema returns a commented schema: section for a table with the given header, to be completed by
// hand. Until every ??? is replaced, loading the schema fails with an error that names the field and the
// value to write there. Schema quotes the header. The header must hold names: if the table had no header row, Schema
// would quote the first record. Callers check this with columnname.All.
//
// Of a column that is not in drafted, Schema guesses the kind from its name alone. The columns in the map drafted, by name, have the entries and
// notes given there, and missing lists the markers of missing cells, if it is not empty. The caller must
// ensure that these entries and markers come from public knowledge. The notes must name the sources.
func Schema(header []string, drafted map[string]Drafted, missing []string) string {
	var b strings.Builder
	b.WriteString(draftTop)
	for _, name := range header {
		name = strings.TrimSpace(name)
		known, is := drafted[name]
		switch {
		case name == "":
			b.WriteString("    \"\": ignore\n")
		case is && known.Entry != "":
			b.WriteString("    " + yamltext.Text(name) + ": " + known.Entry + " # " + safetext.Text(known.Note) + "\n")
		case is:
			known.Column.Name = name
			b.WriteString("    " + known.Column.Line() + " # " + safetext.Text(known.Note) + "\n")
		default:
			b.WriteString("    " + yamltext.Text(name) + ": " + guessed(name) + "\n")
		}
	}
	end := draftEnd
	if len(missing) > 0 {
		end = strings.Replace(end, "  # "+missingLine([]string{"", "NA", "?"}), "  "+missingLine(missing), 1)
	}
	b.WriteString(end)
	return b.String()
}

// placeholder stands for the values that must be filled in by hand.
const placeholder = "???"

// missingLine returns the list of cells that mean missing, as a line of a schema.
func missingLine(markers []string) string { return "missing: " + yamltext.Texts(markers) }

const draftTop = `# What is publicly known about each column. Replace every ??? by hand.
#
# Bounds and lists must come from public knowledge: a codebook, the form that
# was filled in, the range of the instrument, common sense. Never take them from
# the table itself: a minimum, a maximum or a list of the values that occur is a
# fact about the people in it, published without being accounted for. When in
# doubt choose round and wide; a cell beyond a bound counts as the bound.
#
# Kinds are guessed from names alone, never from cells: change a kind that is not
# meant. A column is one of
#   age:    {number: [0, 120]}                         lower and upper bound
#   income: {number: [0, 1000000], transform: log1p}   a skewed amount
#   height: {number: [120, 220], missing: indicator}   a missing one is a feature of its own
#   born:   {date: [1900-01-01, 2024-12-31]}           layout: "%d.%m.%Y" if not as here
#   sex:    {category: [female, male]}                 any other value is "other"
#   month:  {category: 1..12}                          or {file: months.txt}, one a line
#   name:   ignore                                     not used
#   split:  {public: [train, test]}                    known of every row to everybody, such as
#                                                      a division drawn beforehand; not a feature
schema:
  columns:
`

const draftEnd = `  # What to predict. Delete its line under columns. Either classes, of two the
  # negative one first, or for a quantity its public bounds: number: [low, high].
  target: {column: ???, classes: [???, ???]}
  # Use only rows with this cell. The column must be listed above as public: who
  # passes, and how many do, is then no secret. Never filter on a fact about people.
  # where: split=train
  # Cells that mean missing. Default: only the empty cell.
  # missing: ["", NA, "?"]
  # What rows are divided by, in place of the largest norm they could have, which is the
  # root of one more than the columns that are features. Numbers count from -1 to 1
  # between their bounds, a category 1. Longer rows are cut. Helps wide tables whose
  # rows are publicly known to be short.
  # norm: 10
`
