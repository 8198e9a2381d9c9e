package curator_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator"
	"github.com/stillpoint-dp/stillpoint/curator/internal/session"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// ranked is a table whose curves get their knots by ranks, for neighbours of the question that asks for them.
type ranked struct {
	name, schema string
	header       string
	columns      []string // whose curves get their knots by ranks
	// cells are the values to try in each column, in the header's order. first is the row of each with which the
	// answer moves most, last the row with which it moves most in the other direction.
	cells       [][]string
	first, last string
	rows        int // of a person; 0 where records are rows
	// replaced is the largest movement under replace-one, as a part of what is charged for, and removed that under
	// add-or-remove, both by hand.
	replaced, removed float64
}

var rankTables = []ranked{
	{
		// A row's square is 1 for age, 2 for its hats, 1 each for job and the constant: 5. Two rows at other bounds and
		// of other jobs differ by 4 + 4 + 2 of 4 times 5.
		name: "a curve and a category", columns: []string{"age"}, header: "age,job,ill",
		schema: "columns:\n  age: {number: [0, 100], curve: 4}\n  job: {category: [nurse, clerk]}\n" +
			"target: {column: ill, classes: [\"no\", \"yes\"]}\n",
		cells: [][]string{{"", "x", "-1e300", "-0", "0", "1e-300", "33.3", "50", "99.999999", "100", "100.5", "1e300", "Inf"},
			{"nurse", "clerk", "", "else"}, {"no", "yes", "", "perhaps"}},
		first: "0,nurse,no", last: "1e9,clerk,yes", replaced: math.Sqrt(10. / 20), removed: 1,
	}, {
		// Three curves and the constant, 10 together, weights and a public column. Other bounds differ by 8 each.
		name: "three curves with bits for missing numbers", columns: []string{"a", "b", "day"}, header: "day,site,a,b,y,note",
		schema: "columns:\n  a: {number: [-1, 1], curve: 5, missing: indicator}\n" +
			"  b: {number: [0, 1e6], transform: log1p, curve: 3}\n  day: {date: [2020-01-01, 2020-12-31], curve: 4}\n" +
			"  site: {public: [n, s]}\ntarget: {column: y, number: [0, 9], weight: note}\nwhere: site=n\n",
		cells: [][]string{{"", "2020-01-01", "2020-06-30", "2020-12-31", "2031-01-01", "1999-01-01", "soon"}, {"n"},
			{"", "-1", "0", "1", "5", "-5", "nan"}, {"", "0", "7", "1e6", "1e9", "-3"}, {"0", "4", "9", "99", ""},
			{"1", "0", ".5", "", "-1"}},
		first: "2020-01-01,n,-1,0,0,1", last: "2020-12-31,n,1,1e6,9,1", replaced: math.Sqrt(24. / 40), removed: 1,
	}, {
		// A stated norm of 1, which every row exceeds: rows are as long as the norm, in the same directions.
		name: "a norm of 1", columns: []string{"age"}, header: "age,job,ill",
		schema: "columns:\n  age: {number: [0, 100], curve: 4}\n  job: {category: [nurse, clerk]}\n" +
			"target: {column: ill, classes: [\"no\", \"yes\"]}\nnorm: 1\n",
		cells: [][]string{{"", "-4", "0", "25", "50", "100", "1e9"}, {"nurse", "clerk", "", "else"}, {"no", "yes", ""}},
		first: "0,nurse,no", last: "100,clerk,yes", replaced: math.Sqrt(10. / 20), removed: 1,
	}, {
		// A surface of two curves and curves for each category: 3 for each number, 1 each for job and the constant, 4 for
		// the surface and 2 for the curves of jobs, 14 together. Other bounds differ by 8 each, 2, 8 and 4: 30 of 56.
		name: "surfaces", columns: []string{"age", "pay"}, header: "job,pay,age,ill",
		schema: "columns:\n  age: {number: [0, 100], curve: 4}\n  pay: {number: [0, 10], curve: 3}\n" +
			"  job: {category: [nurse, clerk]}\ninteractions: [[age, pay], [age, job]]\n" +
			"target: {column: ill, classes: [\"no\", \"yes\"]}\n",
		cells: [][]string{{"nurse", "clerk", "", "else"}, {"", "0", "5", "10"}, {"", "0", "25", "50", "99", "100"},
			{"no", "yes", ""}},
		first: "nurse,0,0,no", last: "clerk,10,100,yes", replaced: math.Sqrt(30. / 56), removed: 1,
	}, {
		// The rows of a person are divided by 2, so that three of them have a norm of at most sqrt(3)/2.
		name: "people", columns: []string{"age"}, header: "age,job,ill", rows: 3,
		schema: "columns:\n  age: {number: [0, 100], curve: 4}\n  job: {category: [nurse, clerk]}\n" +
			"target: {column: ill, classes: [\"no\", \"yes\"]}\nunit: {column: person, rows: 3}\n",
		cells: [][]string{{"", "-4", "0", "25", "50", "100", "1e9"}, {"nurse", "clerk", "", "else"},
			{"no", "yes", "", "perhaps"}},
		first: "0,nurse,no", last: "100,clerk,yes", replaced: math.Sqrt(10. / 20 * 3 / 4), removed: math.Sqrt(3. / 4),
	},
}

// TestRanksOnNeighbours asks for the mean row by which curves get their knots, under the schema with 65 knots a curve,
// of tables that differ in one record. The exact answers must be no farther apart than what is charged for, whatever
// the record is: numbers at the bounds, beyond them and missing, texts that are no numbers, rows without a target, and
// people of no, one and more rows than count. The largest movement that is possible must be found.
func TestRanksOnNeighbours(t *testing.T) {
	for _, table := range rankTables {
		for _, relation := range []account.Relation{account.ReplaceOne, account.AddOrRemove} {
			t.Run(fmt.Sprintf("%s, %v", table.name, relation), func(t *testing.T) {
				records := table.records(rand.New(rand.NewPCG(8, 1)), 60)
				var answers []session.Exchange
				for _, r := range records {
					answers = append(answers, table.asked(t, relation, r))
				}
				if relation == account.AddOrRemove { // the first record is none
					answers[0] = table.asked(t, relation, nil)
				}
				bound, most := answers[0].Event.Sensitivity*answers[0].Scale, 0.
				for i, a := range answers {
					for j, b := range answers[:i] {
						if relation == account.AddOrRemove && j > 0 {
							break
						}
						ratio := distance(a.Exact, b.Exact) / bound
						if most = max(most, ratio); !(ratio <= 1) {
							t.Errorf("%q and %q: the answers are %v of the charge apart", records[i], records[j], ratio)
						}
					}
				}
				want := table.replaced
				if relation == account.AddOrRemove {
					want = table.removed
				}
				if !(math.Abs(most-want) < 1e-4) {
					t.Errorf("the largest movement is %.6f of the charge: must be %.6f", most, want)
				}
			})
		}
	}
}

// records returns records to try in the place of one: first and last, in all rows, and n at random.
func (r ranked) records(coin *rand.Rand, n int) (list [][]string) {
	most := max(r.rows, 1)
	for _, row := range []string{r.first, r.first, r.last} {
		var rows []string
		for range most {
			rows = append(rows, row)
		}
		list = append(list, rows)
	}
	for range n {
		count := 1
		if r.rows > 0 {
			count = coin.IntN(2*r.rows + 1) // more than count, too
		}
		var rows []string
		for range count {
			var cells []string
			for _, values := range r.cells {
				cells = append(cells, values[coin.IntN(len(values))])
			}
			rows = append(rows, strings.Join(cells, ","))
		}
		if count > 0 || r.rows == 0 {
			list = append(list, rows)
		}
	}
	return list
}

// asked asks for the mean row by which the curves get their knots, of a table of three records and the record of
// the given rows.
func (r ranked) asked(t *testing.T, relation account.Relation, record []string) (x session.Exchange) {
	t.Helper()
	var text strings.Builder
	put := func(person int, row string) {
		if r.rows > 0 {
			row = fmt.Sprintf("%s,p%d", row, person)
		}
		text.WriteString(row + "\n")
	}
	header := r.header
	if r.rows > 0 {
		header += ",person"
	}
	text.WriteString(header + "\n")
	for person, row := range []string{r.first, r.last, r.first} {
		put(person, row)
	}
	for _, row := range record {
		put(3, row)
	}
	s := schema(t, r.schema)
	l := loss.Loss(loss.Logistic())
	if s.Target().Kind == dataset.Number {
		l = must[loss.Loss](t)(loss.Parse("huber(0.1)"))
	}
	if s.Target().Weight != "" {
		l = must[loss.Loss](t)(loss.NewWeighted(l, loss.Weights{Row: true}))
	}
	if r.rows > 0 {
		l = must[loss.Loss](t)(loss.NewUnits(l, r.rows, false))
	}
	c := curator.Config{Path: write(t, "table.csv", text.String()), Schema: s, Loss: l,
		Budget: must[account.Budget](t)(account.NewBudget(1, 1e-6, relation))}
	if relation == account.AddOrRemove {
		c.Declared = 4
	}
	watch := func(e session.Exchange) (any, error) { x = e; return e.Released, nil }
	session := must[*curator.Session](t)(curator.OpenWatched(context.Background(), c, 3, watch))
	defer session.Close()
	if err := session.Refine(must[*dataset.Schema](t)(s.Fine(r.columns))); err != nil {
		t.Fatal(err)
	}
	q := must[query.Question](t)(query.New(.05*c.Budget.Charge(), query.RowMeanOf(session.All(), session.Dim())))
	if _, err := session.Ask(context.Background(), q); err != nil {
		t.Fatal(err)
	}
	return x
}

// distance returns the Euclidean distance of two lists, or infinity if one is longer.
func distance(a, b []int64) float64 {
	if len(a) != len(b) {
		return math.Inf(1)
	}
	sum := 0.
	for j := range a {
		d := float64(a[j] - b[j])
		sum += d * d
	}
	return math.Sqrt(sum)
}
