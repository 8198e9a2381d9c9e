package curator_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	writer "github.com/parquet-go/parquet-go"

	"github.com/stillpoint-dp/stillpoint/curator"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/spline"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// inPlace tests n rows of numbers, without one-hot groups, all of them in the private file.
func inPlace(t *testing.T, n int) {
	columns := numberColumns(5)
	cells := randomCells(rand.New(rand.NewPCG(30, uint64(n))), n, columns)
	d := table(t, loss.Logistic(), twoClasses(), columns, cells)
	d.Memory, d.Folder = 1, t.TempDir()
	d.asLogistic(t, fmt.Sprint(n, " rows of a private file"))
}

// knots tests a curve of n knots over a number whose cells are at the bounds, on knots and between them.
// The expected hats, which are the values of the curve's basis functions, come from a definition that is
// written here.
func knots(t *testing.T, n int) {
	column := dataset.Column{Name: "a", Kind: dataset.Number, Low: -1, High: 1, Curve: n}
	_, err := dataset.New(dataset.Definition{Columns: []dataset.Column{column}, Target: twoClasses()})
	if (err == nil) != (n >= 3 && n <= 256) {
		t.Fatalf("%d knots: %v", n, err)
	} else if err != nil {
		return
	}
	r := rand.New(rand.NewPCG(31, uint64(n)))
	cells := randomCells(r, 40, []dataset.Column{column})
	for i := range 2*n - 1 { // on a knot and halfway between two
		cells = append(cells, []string{strconv.FormatFloat(float64(i)/float64(n-1)-1, 'g', -1, 64), "yes"})
	}
	d := table(t, loss.Logistic(), twoClasses(), []dataset.Column{column}, cells)
	d.asLogistic(t, fmt.Sprint(n, " knots"))
	h := d.Schema.Hats()[0]
	if h.Width != n {
		t.Fatalf("%d knots have %d features", n, h.Width)
	}
	for i, row := range cells {
		u := must[float64](t)(strconv.ParseFloat(row[0], 64))
		got, want := make([]float64, n), make([]float64, n)
		for k := range want {
			// Distances in units of [-1, 1], since a number of a row is a float32.
			apart, at := 2/float64(n-1), 2*float64(k)/float64(n-1)-1
			want[k] = max(0, apart-max(u-at, at-u))
			got[k] = apart * float64(d.x[i][h.First+k]) * d.Schema.Scale() / spline.Scale
		}
		closeTo(t, fmt.Sprint(n, " knots at ", u), got, want)
	}
}

// rowsOfUnit tests units of at most n rows. The three people in the table have n rows, n-1 rows and one
// row.
func rowsOfUnit(t *testing.T, n int) {
	l, err := loss.NewUnits(loss.Logistic(), n, false)
	if (err == nil) != (n <= 1<<10) {
		t.Fatalf("%d rows of a unit: %v", n, err)
	} else if err != nil {
		return
	}
	columns := numberColumns(2)
	var cells [][]string
	var of []int
	r := rand.New(rand.NewPCG(32, uint64(n)))
	for unit, rows := range []int{n, n - 1, 1} {
		for _, row := range randomCells(r, rows, columns) {
			cells, of = append(cells, row), append(of, unit)
		}
	}
	d := table(t, loss.Logistic(), twoClasses(), columns, cells)
	var owned [][]string
	for i, row := range cells {
		owned = append(owned, append(slices.Clone(row), "p"+strconv.Itoa(of[i])))
	}
	def := dataset.Definition{Columns: columns, Target: twoClasses(), Unit: dataset.Unit{Column: "person", Rows: n}}
	units := d
	units.Schema, units.Loss = must[*dataset.Schema](t)(dataset.New(def)), l
	units.Rows = rowsOf(append(slices.Clone(d.Rows.Header), "person"), owned)
	s := units.watched(t, released)
	w := point(len(d.x[0]))
	want := make([]float64, len(w))
	for unit := range 3 {
		var rows []int
		for i := range of {
			if of[i] == unit {
				rows = append(rows, i)
			}
		}
		_, gradient := d.logistic(w, rows)
		for j, v := range gradient {
			want[j] += v / 3
		}
	}
	closeTo(t, fmt.Sprint(n, " rows of a unit"), mean(t, s, query.GradientAt(s.All(), w, 3)), want)
}

// stored is a row of a Parquet file: numbers, some of them missing, the same text with and without a
// dictionary, and classes of a dictionary.
type stored struct {
	N0 *float64 `parquet:"n0,optional"`
	N1 float64  `parquet:"n1"`
	H  string   `parquet:"h,dict"`
	G  string   `parquet:"g"`
	Y  *string  `parquet:"y,optional,dict"`
}

// asParquet compares a session over a Parquet file of n rows, all in one group and each column in one
// page, with plain arithmetic. Every row has an entry of its own in a dictionary.
func asParquet(t *testing.T, n int, memory int64) {
	columns := append(numberColumns(2), dataset.Column{Name: "h", Kind: dataset.Hash, Buckets: 7},
		dataset.Column{Name: "g", Kind: dataset.Hash, Buckets: 5})
	cells := randomCells(rand.New(rand.NewPCG(33, uint64(n))), n, columns)
	rows := make([]stored, n)
	for i, row := range cells {
		if i%5 == 1 {
			row[0] = ""
		} else {
			x := must[float64](t)(strconv.ParseFloat(row[0], 64))
			rows[i].N0 = &x
		}
		row[2] = fmt.Sprintf("%060d", i)
		row[3] = row[2]
		rows[i].N1 = must[float64](t)(strconv.ParseFloat(row[1], 64))
		rows[i].H, rows[i].G, rows[i].Y = row[2], row[3], &row[4]
	}
	var b bytes.Buffer
	w := writer.NewGenericWriter[stored](&b, writer.PageBufferSize(64<<20))
	must[int](t)(w.Write(rows))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	d := table(t, loss.Logistic(), twoClasses(), columns, cells)
	d.Paths, d.Rows = []string{write(t, "rows.parquet", b.String())}, nil
	d.Memory, d.Folder = memory, t.TempDir()
	d.asLogistic(t, fmt.Sprint(n, " rows of Parquet"))
}

func rowsOfGroup(t *testing.T, n int) {
	asParquet(t, n, 0)
	asParquet(t, n, 1) // so little that pages are read again for each batch
}

// rowsOfLargeGroup has so little memory that pages are read again for each batch, and so much that a
// batch has largeRows.
func rowsOfLargeGroup(t *testing.T, n int) { asParquet(t, n, 9e6) }

// tenths tests decimals with one digit after the point, around the integer up to which all integers
// are floats.
func tenths(t *testing.T, n int) {
	type row struct {
		N int64  `parquet:"n,decimal(1:18)"`
		Y string `parquet:"y"`
	}
	low := float64(n/10 - 8)
	columns := []dataset.Column{{Name: "n", Kind: dataset.Number, Low: low, High: low + 16}}
	var rows []row
	var cells [][]string
	for i := -60; i <= 60; i++ {
		x, y := int64(n+i), []string{"no", "yes"}[i&1]
		rows = append(rows, row{x, y})
		cells = append(cells, []string{fmt.Sprintf("%d.%d", x/10, x%10), y})
	}
	var b bytes.Buffer
	if err := writer.Write(&b, rows); err != nil {
		t.Fatal(err)
	}
	d := table(t, loss.Logistic(), twoClasses(), columns, cells)
	d.Paths, d.Rows = []string{write(t, "tenths.parquet", b.String())}, nil
	d.asLogistic(t, fmt.Sprint("tenths around ", n))
}

// parts are the files of a table of people, each of whom has one row.
func parts(t *testing.T, units ...int) (p *parted, c curator.Config) {
	t.Helper()
	r, next := rand.New(rand.NewPCG(35, 35)), 0
	p = &parted{}
	for i, n := range units {
		var b strings.Builder
		for range n {
			fmt.Fprintf(&b, "p%d,%d,%s\n", next, r.IntN(90), []string{"no", "yes"}[r.IntN(2)])
			next++
		}
		p.lines = append(p.lines, b.String())
		p.parts = append(p.parts, write(t, fmt.Sprintf("part-%d.csv", i), unitsHeader+b.String()))
	}
	p.whole = write(t, "whole.csv", unitsHeader+strings.Join(p.lines, ""))
	c = config(t, "")
	c.Schema = schema(t, "columns: {age: {number: [0, 90]}}\ntarget: {column: ill, classes: [no, yes]}\n"+
		"unit: {column: person, rows: 1}\n")
	c.Loss, c.Budget = units1(t), wideBudget(t)
	return p, c
}

const unitsHeader = "person,age,ill\n"

func units1(t *testing.T) loss.Loss {
	t.Helper()
	return must[loss.Loss](t)(loss.NewUnits(loss.Logistic(), 1, false))
}

// asWhole compares the answer of a session over shards with that of a session over the whole table,
// to the bit.
func (p *parted) asWhole(t *testing.T, what string, c curator.Config, size int) {
	t.Helper()
	ask := func(s *curator.Session, err error) []float64 {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		defer s.Close()
		if got := s.All().Size(); got != float64(size) {
			t.Fatalf("%s: %v records: must be %d", what, got, size)
		}
		return mean(t, s, query.GradientAt(s.All(), point(c.Schema.Dim()), 3))
	}
	c.Path = p.whole
	want := ask(curator.OpenNoisy(context.Background(), c, 9, nil))
	c.Path, c.Shards = "", p.shards(t, workers(t))
	if got := ask(curator.OpenShards(context.Background(), c, 9)); !slices.Equal(got, want) {
		t.Fatalf("%s: the answer is not that of the whole table", what)
	}
}

// split requires that a session over shards is refused once the last person of the first partition
// has a row in the last partition, too.
func (p *parted) split(t *testing.T, what string, c curator.Config) {
	t.Helper()
	all := strings.Split(strings.TrimSpace(p.lines[0]), "\n")
	last := len(p.parts) - 1
	p.parts[last] = write(t, "split.csv", unitsHeader+p.lines[last]+all[len(all)-1]+"\n")
	c.Shards = p.shards(t, workers(t))
	s, err := curator.Open(context.Background(), c)
	if err == nil {
		s.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "a unit has rows in two partitions") {
		t.Fatalf("%s: a unit in two partitions: %v", what, err)
	}
}

func unitsOfPartition(t *testing.T, n int) {
	p, c := parts(t, n, 7)
	p.asWhole(t, fmt.Sprint(n, " units"), c, n+7)
	p.split(t, fmt.Sprint(n, " units"), c)
}

// partitions tests n partitions, of which the first has more units than a batch of tags holds. A
// short test tries one number of them.
func partitions(t *testing.T, n int) {
	if testing.Short() && n != 65 {
		return
	}
	units := slices.Repeat([]int{2}, n)
	units[0] = 1<<16 + 5
	p, c := parts(t, units...)
	p.asWhole(t, fmt.Sprint(n, " partitions"), c, units[0]+2*(n-1))
	p.split(t, fmt.Sprint(n, " partitions"), c)
}

// sumsOverShards tests sums of n numbers over shards.
func sumsOverShards(t *testing.T, n int) {
	columns := []dataset.Column{{Name: "h", Kind: dataset.Hash, Buckets: n - 2}}
	cells := randomCells(rand.New(rand.NewPCG(36, uint64(n))), 60, columns)
	d := table(t, loss.Logistic(), twoClasses(), columns, cells)
	text := strings.SplitAfter(strings.TrimSuffix(d.csv(t), "\n"), "\n")
	p := &parted{whole: write(t, "whole.csv", strings.Join(text, ""))}
	for i, part := range [][]string{text[1:20], text[20:]} {
		p.parts = append(p.parts, write(t, fmt.Sprintf("part-%d.csv", i), text[0]+strings.Join(part, "")))
	}
	c := d.Config
	c.Rows = nil
	if s := d.watched(t, released); s.Dim() != n {
		t.Fatalf("%d features: must be %d", s.Dim(), n)
	}
	p.asWhole(t, fmt.Sprint(n, " numbers"), c, len(cells))
}
