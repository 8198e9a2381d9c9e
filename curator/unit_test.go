package curator_test

import (
	"context"
	"encoding/csv"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator"
	"github.com/stillpoint-dp/stillpoint/curator/internal/coin"
	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/loss"
)

const unitSchema = `
columns:
  age: {number: [0, 100]}
  split: {public: [train, test]}
target: {column: ill, classes: ["no", "yes"]}
where: split=train
missing: ["", NA]
unit: {column: person, rows: 3}
`

var unitHeader = []string{"person", "age", "split", "ill"}

// unitRows returns rows of some people, some of whom have many rows. Some rows have no person, are
// malformed, are of another split, or have no target.
func unitRows(coin *rand.Rand) (rows [][]string) {
	for range 300 {
		person := strconv.Itoa(coin.IntN(30) * coin.IntN(4))
		r := []string{person, strconv.Itoa(coin.IntN(100)), "train", []string{"no", "yes"}[coin.IntN(2)]}
		switch coin.IntN(12) {
		case 0:
			r[0] = []string{"", " ", "NA", " NA"}[coin.IntN(4)]
		case 1:
			r[0] = "  " + r[0] + " "
		case 2:
			r[2] = "test"
		case 3:
			r[3] = "perhaps"
		case 4:
			r = r[:3]
		}
		rows = append(rows, r)
	}
	return append(rows, []string{"only faulty", "3", "train", ""}, []string{"only faulty", "", "train", "maybe"},
		[]string{"only tested", "3", "test", "no"})
}

// ofUnits returns a configuration in which all rows of a person together are a record.
func ofUnits(t testing.TB, rows [][]string) curator.Config {
	t.Helper()
	c := held(t, rowsOf(unitHeader, rows))
	c.Schema = schema(t, unitSchema)
	c.Loss = units(t, 3)
	return c
}

func units(t testing.TB, rows int) loss.Units {
	t.Helper()
	l, err := loss.NewUnits(loss.Logistic(), rows, false)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// unitLines returns, as sorted texts, all bits of each record over which a session would be opened.
func unitLines(t testing.TB, c curator.Config, key [32]byte) []string {
	t.Helper()
	s, err := curator.ReadKeyed(context.Background(), c, 1<<20, key)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(bitsOf(t, s), "\n")
	slices.Sort(lines)
	return lines
}

// slowly computes the result of unitLines by the definition of units. It keeps, for each person, the rows
// with the smallest keyed hashes of their cells, and leaves out rows without a target.
func slowly(t testing.TB, c curator.Config, rows [][]string, key [32]byte) []string {
	t.Helper()
	m, err := c.Schema.Bind(unitHeader)
	if err != nil {
		t.Fatal(err)
	}
	type keptRow struct {
		hash uint64
		x    []float32
		y    float64
	}
	people, hash := map[string][]keptRow{}, coin.Simulated(key).Keyed()
	for _, cells := range rows {
		if len(cells) != 4 || strings.TrimSpace(cells[2]) != "train" {
			continue
		}
		person := strings.TrimSpace(cells[0])
		if person == "" || person == "NA" {
			continue
		}
		x := make([]float32, m.Dim())
		y, ok := m.Encode(x, cells)
		var trimmed []string
		for _, cell := range cells {
			trimmed = append(trimmed, strings.TrimSpace(cell))
		}
		kept := people[person]
		if ok {
			kept = append(kept, keptRow{hash.Sum(trimmed), x, y})
		}
		people[person] = kept
	}
	l := c.Loss.(loss.Units)
	source, err := row.NewTable(loss.RecordFeatures(l, m.Dim()), 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, kept := range people {
		slices.SortFunc(kept, func(a, b keptRow) int { return map[bool]int{true: -1, false: 1}[a.hash < b.hash] })
		var x [][]float32
		var y []float64
		for _, r := range kept[:min(len(kept), 3)] {
			x, y = append(x, r.x), append(y, r.y)
		}
		if len(x) == 0 {
			source.Append(nil, 0, false)
			continue
		}
		record, n := loss.JoinRows(l, x, y)
		source.Append(record, n, true)
	}
	lines := strings.SplitAfter(bitsOf(t, source), "\n")
	slices.Sort(lines)
	return lines
}

// TestAPersonsRowsAreOneRecord: the records of a session must follow from the definition of units (all rows
// of a person are one record), whatever the order of the rows, the memory limit and the key. Their number
// is the number of people, as Count returns it for a file.
func TestAPersonsRowsAreOneRecord(t *testing.T) {
	coin := rand.New(rand.NewPCG(19, 1))
	rows := unitRows(coin)
	distinct := map[string]bool{}
	for i := range 6 {
		key := [32]byte{byte(i / 2)}
		c := ofUnits(t, rows)
		if i%2 == 1 {
			c.Memory, c.Folder = 500, t.TempDir()
		}
		got, want := unitLines(t, c, key), slowly(t, c, rows, key)
		if !slices.Equal(got, want) {
			t.Fatalf("key %d: other records than by definition: %d and %d", i/2, len(got), len(want))
		}
		distinct[strings.Join(got, "")] = true
		coin.Shuffle(len(rows), func(a, b int) { rows[a], rows[b] = rows[b], rows[a] })
	}
	if len(distinct) != 3 {
		t.Errorf("three keys keep %d sets of rows: must be 3", len(distinct))
	}
	c := ofUnits(t, rows)
	s, err := curator.Open(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var text strings.Builder
	w := csv.NewWriter(&text)
	if err := w.WriteAll(append([][]string{unitHeader}, rows...)); err != nil {
		t.Fatal(err)
	}
	n, err := curator.Count(context.Background(),
		curator.Config{Path: write(t, "people.csv", text.String()), Schema: c.Schema})
	if want := len(slowly(t, c, rows, [32]byte{})) - 1; err != nil || n != want || s.All().Size() != float64(want) {
		t.Errorf("%d people, a session of %v, %v: must be %d", n, s.All().Size(), err, want)
	}
}

// TestOnePersonsRowsAreNobodyElses: whatever a person's rows, one or thousands, the number of
// records and all other records stay the same to the bit. Rows without a person change nothing.
func TestOnePersonsRowsAreNobodyElses(t *testing.T) {
	coin := rand.New(rand.NewPCG(19, 2))
	rows := slices.DeleteFunc(unitRows(coin), func(r []string) bool { return strings.TrimSpace(r[0]) == "6" })
	with := func(more ...[]string) []string {
		all := append(slices.Clone(rows), more...)
		coin.Shuffle(len(all), func(a, b int) { all[a], all[b] = all[b], all[a] })
		return unitLines(t, ofUnits(t, all), [32]byte{1})
	}
	others := with()
	var thousand [][]string
	for i := range 1000 {
		thousand = append(thousand, []string{" 6", strconv.Itoa(i % 100), "train", "yes"})
	}
	for name, own := range map[string][][]string{
		"one row": {{"6", "3", "train", "no"}}, "a thousand": thousand, "faulty ones": {{"6", "x", "train", ""}},
		"the same row often": slices.Repeat([][]string{{"6 ", "3", "train", "no"}}, 50),
	} {
		got := with(own...)
		if len(got) != len(others)+1 {
			t.Errorf("%s: %d records: must be one more than %d", name, len(got)-1, len(others)-1)
		}
		missing := slices.DeleteFunc(slices.Clone(others), func(line string) bool {
			at, found := slices.BinarySearch(got, line)
			if found {
				got = slices.Delete(got, at, at+1)
			}
			return found
		})
		if len(missing) > 0 {
			t.Errorf("%s: %d records of others are changed", name, len(missing))
		}
	}
	if got := with([]string{"", "3", "train", "no"}, []string{" NA", "3", "train", "no"}, []string{"6"},
		[]string{"6", "3", "test", "no"}); !slices.Equal(got, others) {
		t.Error("rows that are nobody's change the records")
	}
}

// TestUnitsAndLossesMustBeAlike: the schema and the loss must have the same unit. A table without
// records is accepted only if the number of records is secret.
func TestUnitsAndLossesMustBeAlike(t *testing.T) {
	rows := [][]string{{"1", "3", "train", "no"}}
	for _, test := range []struct {
		change func(*curator.Config)
		want   string
	}{
		{func(c *curator.Config) { c.Loss = loss.Logistic() },
			"curator: loss logistic: is of units of 0 rows at most (0: each row is a record): the schema has 3: must be alike (loss.NewUnits)"},
		{func(c *curator.Config) { c.Loss = units(t, 4) }, "curator: loss units(logistic,4): is of units of 4 rows at most"},
		{func(c *curator.Config) { c.Schema = schema(t, peopleSchema) },
			"of units of 3 rows at most (0: each row is a record): the schema has 0"},
		{func(c *curator.Config) { c.Rows = rowsOf(unitHeader, [][]string{{"", "3", "train", "no"}}) },
			`curator: rows: no row with a cell in "person" is left after the public filter`},
	} {
		c := ofUnits(t, rows)
		test.change(&c)
		if _, err := curator.Open(context.Background(), c); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v: must say %q", err, test.want)
		}
	}
	c := ofUnits(t, nil)
	var err error
	if c.Budget, err = account.NewBudget(1, 1e-6, account.AddOrRemove); err != nil {
		t.Fatal(err)
	}
	c.Declared = 100
	s, err := curator.Open(context.Background(), c)
	if err != nil {
		t.Fatalf("nobody, under add-or-remove: %v", err)
	}
	defer s.Close()
	if s.All().Size() != 100 || s.Dim() != loss.RecordFeatures(c.Loss, c.Schema.Dim()) {
		t.Errorf("%v records of %d features", s.All().Size(), s.Dim())
	}
}

// TestFileIsNeededOrNot: if the records determine the number of rows kept (with units, and under
// add-or-remove), the private file is made before the first row, and an error to make it does not
// depend on the records.
func TestFileIsNeededOrNot(t *testing.T) {
	coin := rand.New(rand.NewPCG(1, 2))
	few := [][]string{{"1", "30", "train", "no"}, {"2", "40", "train", "yes"}}
	plain := config(t, write(t, "people.csv", people))
	for name, c := range map[string]curator.Config{"few rows": ofUnits(t, few),
		"many rows": ofUnits(t, append(unitRows(coin), unitRows(coin)...)), "add or remove": plain} {
		if name == "add or remove" {
			b, err := account.NewBudget(1, 1e-6, account.AddOrRemove)
			if err != nil {
				t.Fatal(err)
			}
			c.Budget, c.Declared = b, 10
		}
		c.Memory, c.BlockRows, c.Folder = 1<<20, 8, t.TempDir()+"/nowhere" // memory for all rows
		if s, err := curator.Open(context.Background(), c); err == nil || !strings.Contains(err.Error(), "private file") {
			t.Errorf("%s: %v", name, err)
			if s != nil {
				s.Close()
			}
		}
		c.Folder = t.TempDir()
		s, err := curator.Open(context.Background(), c)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := s.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
