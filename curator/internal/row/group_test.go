package row_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/curator/internal/row/rowtest"
	"github.com/stillpoint-dp/stillpoint/internal/targetpair"
)

// peeled takes records of one row apart again, so that the conformance suite for sources can test
// Grouped.
type peeled struct {
	row.Source
	format targetpair.Rows
}

func (p peeled) Layout() *row.Layout { return rowtest.Dense(p.format.Features) }
func (p peeled) Reader() row.Reader  { return &peeledReader{Reader: p.Source.Reader(), of: p} }

type peeledReader struct {
	row.Reader
	of      peeled
	records row.Block
	block   row.Block
}

// peel adds to b the single row that each of the records holds.
func (r *peeledReader) peel(b *row.Block, records row.Block) {
	from, to := r.of.Source.Layout().Stride(), r.of.Layout().Stride()
	for k, n := range records.Targets {
		x, y := make([]float32, to), math.NaN()
		if record := records.Rows[k*from : (k+1)*from]; n == 1 {
			r.of.format.Take(x, record, 0)
			y = r.of.format.Target(record, 0)
		}
		b.Append(row.Block{Rows: x, Targets: []float64{y}})
	}
}

func (r *peeledReader) Block(i int) (row.Block, error) {
	b, err := r.Reader.Block(i)
	if err != nil {
		return row.Block{}, err
	}
	r.block.Clear()
	r.peel(&r.block, b)
	return r.block, nil
}

func (r *peeledReader) Rows(b *row.Block, members []int32) error {
	r.records.Clear()
	if err := r.Reader.Rows(&r.records, members); err != nil {
		return err
	}
	r.peel(b, r.records)
	return nil
}

// alone returns a maker of sources in which each row of another source is a record of its own, with
// all features as numbers.
func alone(source rowtest.Make) rowtest.Make {
	return func(t testing.TB, l *row.Layout, blockRows int, records []rowtest.Record) row.Source {
		t.Helper()
		rows, first := make([]int32, len(records)), make([]int32, len(records)+1)
		for i := range rows {
			rows[i], first[i+1] = int32(i), int32(i+1)
		}
		g, err := row.NewGrouped(source(t, l, blockRows, records), 3, rows, first)
		if err != nil {
			t.Fatal(err)
		}
		return peeled{g, targetpair.Rows{Features: l.Dim(), Most: 3}}
	}
}

// TestGrouped tests that Grouped passes the conformance suite for sources of rows, wherever their
// rows are stored.
func TestGrouped(t *testing.T) {
	for name, source := range map[string]rowtest.Make{"part of a file": file(300, t.TempDir()),
		"memory": file(math.MaxInt64, "")} {
		t.Run(name, func(t *testing.T) { rowtest.RunWrittenOut(t, alone(source)) })
	}
}

// TestGroupsHoldTheirRows tests that a record holds the valid rows of its group, in their order, and
// no other rows. A group without a valid row is a faulty record. No record is longer than allowed.
func TestGroupsHoldTheirRows(t *testing.T) {
	const n, dim, most = 200, 11, 4
	l := rowtest.Layouts()["2 groups"]
	records := rowtest.Records(n, l, 7, true)
	records[9].Y, records[10].Y = 1e300, -2*targetpair.MostTarget // not from a row map
	coin := rand.New(rand.NewPCG(7, 7))
	var rows []int32
	first := []int32{0}
	for len(rows) < n {
		for range coin.IntN(most + 1) {
			rows = append(rows, int32(coin.IntN(n)))
		}
		first = append(first, int32(len(rows)))
	}
	first = append(first, int32(len(rows)), int32(len(rows)+2))
	rows = append(rows, 3, 9) // both of them faulty
	g, err := row.NewGrouped(file(1000, t.TempDir())(t, l, 8, records), most, rows, first)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	format, reader, faulty := targetpair.Rows{Features: dim, Most: most}, g.Reader(), 0
	var b row.Block
	x := make([]float32, dim)
	for i := range g.Len() {
		b.Clear()
		if err := reader.Rows(&b, []int32{int32(i)}); err != nil {
			t.Fatal(err)
		}
		record, y := b.Rows, b.Targets[0]
		var square float64
		for _, v := range record {
			square += float64(v) * float64(v)
		}
		if len(record) != g.Layout().Stride() || !(square <= row.MaxSquare) {
			t.Fatalf("record %d: %d long, squared norm %v", i, len(record), square)
		}
		at := 0
		for _, m := range rows[first[i]:first[i+1]] {
			r := records[m]
			if !r.Sound() || math.Abs(r.Y) > targetpair.MostTarget {
				continue
			}
			format.Take(x, record, at)
			for j, v := range r.Full() {
				if x[j] != v {
					t.Fatalf("record %d: row %d is not row %d", i, at, m)
				}
			}
			if got := format.Target(record, at); got != r.Y {
				t.Fatalf("record %d: target %v: must be %v", i, got, r.Y)
			}
			at++
		}
		for j := at; j < most; j++ {
			if format.Take(x, record, j); slices.ContainsFunc(x, func(v float32) bool { return v != 0 }) ||
				format.Target(record, j) != 0 {
				t.Fatalf("record %d: what is behind its %d rows is another's", i, at)
			}
		}
		if want := float64(at); y != want && (at > 0 || y == y) {
			t.Fatalf("record %d: %v rows: must be %v", i, y, want)
		}
		if y != y {
			faulty++
		}
	}
	if faulty < 2 {
		t.Errorf("%d records are faulty: must be some", faulty)
	}
}

// TestGroupsAreBounded tests that a largest number of rows that is out of range is refused. Rows
// that cannot be read are an error, not a faulty record.
func TestGroupsAreBounded(t *testing.T) {
	for _, most := range []int{0, targetpair.MostRows + 1} {
		if _, err := row.NewGrouped(file(0, t.TempDir())(t, rowtest.Dense(3), 0, nil), most, nil, []int32{0}); err == nil {
			t.Errorf("room for %d rows is taken", most)
		}
	}
	of := file(0, t.TempDir())(t, rowtest.Dense(3), 0, rowtest.Records(2, rowtest.Dense(3), 1, false))
	g, err := row.NewGrouped(of, 2, []int32{0, 1}, []int32{0, 2})
	if err != nil {
		t.Fatal(err)
	}
	g.Close()
	if _, err := g.Reader().Block(0); !errors.Is(err, row.ErrUnread) {
		t.Errorf("a record of rows that cannot be read: %v", err)
	}
}
