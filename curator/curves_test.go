package curator_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator"
	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/targetpair"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

const curvySchema = `
columns:
  ward: {category: [a, b]}
  age: {number: [17, 90], curve: 9}
  gain: {number: [0, 99], transform: log1p, curve: 16}
  town: {hash: 3}
  seen: {date: [2020-01-01, 2024-01-01], curve: 3}
  size: {number: [0, 1]}
interactions: [[size, ward], [town_, ward], [age, size], [seen, ward]]
target: {column: ill, classes: [no, yes]}
`

// curvyRows returns rows with cells that are missing, unreadable, out of bounds and on knots.
func curvyRows(n int) (header []string, rows [][]string) {
	coin := rand.New(rand.NewPCG(3, 1))
	pick := func(values ...string) string { return values[coin.IntN(len(values))] }
	for i := range n {
		r := []string{
			pick("yes", "no", "no", "perhaps"), pick("a", "b", "c", ""),
			pick("17", "90", "26.125", "", "old", "1e300", "NaN", "-inf", fmt.Sprint(17+73*coin.Float64())),
			pick("0", "99", "-4", "", fmt.Sprint(99*coin.Float64())), pick("York", "Ely", ""),
			pick("2020-01-01", "2022-01-01", "", "1999-09-09", "2023-05-06T07:08"),
			pick("0", "1", ".5", ".25", "", fmt.Sprint(coin.Float64())), pick("x", "y", ""), fmt.Sprint("p", coin.IntN(1+n/3)),
		}
		if i%17 == 5 {
			r = r[:4]
		}
		rows = append(rows, r)
	}
	return []string{"ill", "ward", "age", "gain", "town", "seen", "size", "town_", "person"}, rows
}

func curvy(t testing.TB, unit bool, norm string) *dataset.Schema {
	text := strings.Replace(curvySchema, "  size:", "  town_: {category: [x]}\n  size:", 1) + norm
	if unit {
		return schema(t, text+"unit: {column: person, rows: 2}\n")
	}
	return schema(t, strings.Replace(text, "  size:", "  person: ignore\n  size:", 1))
}

// TestCurvedRowsAreEncoded: rows whose hats (values of curves' basis functions) and features of effects are computed
// when they are read, or kept, must equal the rows of the documented map, to the bit, wherever they are stored and in whatever
// order they are read.
func TestCurvedRowsAreEncoded(t *testing.T) {
	header, rows := curvyRows(150)
	for _, norm := range []string{"", "norm: 2\n", "effects"} {
		c := held(t, rowsOf(header, rows))
		if c.Schema = curvy(t, false, strings.TrimPrefix(norm, "effects")); norm == "effects" {
			c.Schema = withEffects(t, c.Schema, 1)
		}
		m, err := c.Schema.Bind(header)
		if err != nil {
			t.Fatal(err)
		}
		var want strings.Builder
		for _, r := range rows {
			x := make([]float32, (m.Dim()+row.Lane-1)/row.Lane*row.Lane)
			y, ok := m.Encode(x, r)
			if !ok {
				y = math.NaN()
			}
			for _, v := range x {
				fmt.Fprintf(&want, "%08x ", math.Float32bits(v))
			}
			fmt.Fprintf(&want, "%016x\n", math.Float64bits(y))
		}
		for _, memory := range []int64{0, 1, 2000} {
			for _, block := range []int{0, 7} {
				c.Memory, c.BlockRows, c.Folder = memory, block, t.TempDir()
				if got := encoded(t, c); got != want.String() {
					t.Fatalf("memory %d, blocks of %d rows, norm %q: the rows are not those of the map", memory, block, norm)
				}
				s, err := curator.Read(context.Background(), c, 1<<20)
				if err != nil {
					t.Fatal(err)
				}
				if got := blocksOf(t, s); got != want.String() {
					t.Fatalf("memory %d, blocks of %d rows, norm %q: the blocks are not those of the map", memory, block, norm)
				}
			}
		}
	}
}

// withEffects returns a schema with features of effects, whose numbers follow from the seed.
func withEffects(t testing.TB, s *dataset.Schema, seed uint64) *dataset.Schema {
	t.Helper()
	coin := rand.New(rand.NewPCG(seed, 2))
	e := dataset.Effects{Seed: seed, Features: 6, Weight: 2, Scale: .3}
	for range s.Ranges() {
		e.Centres = append(e.Centres, .1*coin.NormFloat64())
	}
	for range s.Dim() {
		e.Weights = append(e.Weights, coin.NormFloat64())
	}
	return must[*dataset.Schema](t)(s.WithEffects(e))
}

// blocksOf returns every bit of a source, like bitsOf, but reads it block by block, and ahead if its
// readers can.
func blocksOf(t testing.TB, s row.Source) string {
	t.Helper()
	defer s.Close()
	var out strings.Builder
	r := s.Reader()
	for i := range s.Blocks() {
		b, err := r.Block(i)
		if a, ok := r.(row.Ahead); ok {
			b, err = a.BlockAhead(i, i+1)
		}
		if err != nil {
			t.Fatal(err)
		}
		full := s.Layout().Full()
		x := make([]float32, len(b.Targets)*full)
		s.Layout().WriteOut(x, b)
		for k, y := range b.Targets {
			for _, v := range x[k*full : (k+1)*full] {
				fmt.Fprintf(&out, "%08x ", math.Float32bits(v))
			}
			fmt.Fprintf(&out, "%016x\n", math.Float64bits(y))
		}
	}
	return out.String()
}

// TestCurvedUnits: the records of units, which consist of several rows with curves, hold the rows
// that the documented row map gives.
func TestCurvedUnits(t *testing.T) {
	header, rows := curvyRows(60)
	c := held(t, rowsOf(header, rows))
	c.Schema = curvy(t, true, "")
	l, err := loss.NewUnits(loss.Logistic(), 2, false)
	if err != nil {
		t.Fatal(err)
	}
	c.Loss = l
	m, err := c.Schema.Bind(header)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, r := range rows {
		x := make([]float32, m.Dim())
		if _, ok := m.Encode(x, r); ok {
			known[fmt.Sprint(x)] = true
		}
	}
	s, err := curator.Read(context.Background(), c, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r, found, format := s.Reader(), 0, targetpair.Rows{Features: m.Dim(), Most: 2}
	for i := range s.Len() {
		var b row.Block
		if err := r.Rows(&b, []int32{int32(i)}); err != nil {
			t.Fatal(err)
		}
		for k := range int(max(b.Targets[0], 0)) {
			x := slices.Clone(format.Row(b.Rows, k))
			for j := range x {
				x[j] *= float32(format.Scale())
			}
			if found++; !known[fmt.Sprint(x)] {
				t.Errorf("row %d of record %d is not of the map", k, i)
			}
		}
	}
	if found < s.Len()/2 {
		t.Errorf("%d of %d rows of records", found, s.Len())
	}
}

// TestUnresolvedCurves: a session refuses a schema in which some curve's number of knots is left to a
// rule (curve: auto).
func TestUnresolvedCurves(t *testing.T) {
	header, rows := curvyRows(9)
	c := held(t, rowsOf(header, rows))
	c.Schema = schema(t, strings.Replace(strings.Replace(curvySchema, "curve: 9", "curve: auto", 1), "  size:",
		"  town_: {category: [x]}\n  person: ignore\n  size:", 1))
	if _, err := curator.Open(context.Background(), c); err == nil ||
		!strings.Contains(err.Error(), "curve: auto must be resolved") {
		t.Errorf("opened: %v", err)
	}
}

// TestCurvesOverShards: workers compute the hats (values of curves' basis functions) of their rows as
// a session does, so that answers are the same to the bit.
func TestCurvesOverShards(t *testing.T) {
	p := newParted(t, 150)
	bent := schema(t, strings.Replace(peopleSchema, "age: {number: [0, 100]}",
		"age: {number: [0, 100], curve: [0, 25, 40, 55, 100]}", 1)+"interactions: [[age, job]]\n")
	b, err := account.NewBudget(4, 1e-6, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	c := curator.Config{Path: p.whole, Schema: bent, Loss: loss.Logistic(), Budget: b}
	w := make([]float64, bent.Dim())
	for j := range w {
		w[j] = math.Sin(float64(j))
	}
	answers := func(s *curator.Session) string {
		defer s.Close()
		var out strings.Builder
		for _, term := range []query.Term{query.GradientAt(s.All(), w, 1), query.SecondMomentOf(s.All(), bent.Dim())} {
			r, err := s.Ask(context.Background(), must[query.Question](t)(query.New(.01, term)))
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&out, "%x\n", r.Mean)
		}
		return out.String()
	}
	want := answers(must[*curator.Session](t)(curator.OpenNoisy(context.Background(), c, 5, nil)))
	c.Path, c.Shards = "", p.shards(t, workers(t))
	if got := answers(must[*curator.Session](t)(curator.OpenShards(context.Background(), c, 5))); got != want {
		t.Errorf("%.200s: must be\n%.200s", got, want)
	}
}
