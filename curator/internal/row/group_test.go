package row_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/curator/internal/row/rowtest"
	"github.com/stillpoint-dp/stillpoint/internal/carry"
)

// peeled takes records of one row each apart again, so that the suite for sources can be
// run over what puts them together.
type peeled struct {
	row.Source
	lie carry.Rows
}

func (p peeled) Dim() int           { return p.lie.Features }
func (p peeled) Stride() int        { return (p.lie.Features + row.Lane - 1) / row.Lane * row.Lane }
func (p peeled) Reader() row.Reader { return &peeledReader{Reader: p.Source.Reader(), of: p} }

type peeledReader struct {
	row.Reader
	of    peeled
	block row.Block
}

func (r *peeledReader) peel(k int, record []float32, n float64) ([]float32, float64) {
	stride := r.of.Stride()
	for len(r.block.Rows) < (k+1)*stride {
		r.block.Rows, r.block.Targets = append(r.block.Rows, 0), append(r.block.Targets, 0)
	}
	x, y := r.block.Rows[k*stride:(k+1)*stride], math.NaN()
	clear(x)
	if n == 1 {
		r.of.lie.Take(x, record, 0)
		y = r.of.lie.Target(record, 0)
	}
	r.block.Targets[k] = y
	return x, y
}

func (r *peeledReader) Block(i int) (row.Block, error) {
	b, err := r.Reader.Block(i)
	if err != nil {
		return row.Block{}, err
	}
	n, stride := len(b.Targets), r.of.Source.Stride()
	for k := range n {
		r.peel(k, b.Rows[k*stride:(k+1)*stride], b.Targets[k])
	}
	return row.Block{Rows: r.block.Rows[:n*r.of.Stride()], Targets: r.block.Targets[:n]}, nil
}

func (r *peeledReader) Rows(x [][]float32, y []float64, members []int32) error {
	if err := r.Reader.Rows(x, y, members); err != nil {
		return err
	}
	r.peel(len(members), nil, 0) // room, so that what was returned stays where it is
	for k := range members {
		x[k], y[k] = r.peel(k, x[k], y[k])
	}
	return nil
}

// alone puts each record of a source into one of its own.
func alone(source rowtest.Make) rowtest.Make {
	return func(t testing.TB, dim, blockRows int, records []rowtest.Record) row.Source {
		t.Helper()
		rows, first := make([]int32, len(records)), make([]int32, len(records)+1)
		for i := range rows {
			rows[i], first[i+1] = int32(i), int32(i+1)
		}
		g, err := row.NewGrouped(source(t, dim, blockRows, records), 3, rows, first)
		if err != nil {
			t.Fatal(err)
		}
		return peeled{g, carry.Rows{Features: dim, Most: 3}}
	}
}

// Records that are put together are a source, whatever their rows are kept in.
func TestGrouped(t *testing.T) {
	for name, source := range map[string]rowtest.Make{"part of a file": file(300, t.TempDir()), "memory": file(math.MaxInt64, "")} {
		t.Run(name, func(t *testing.T) { rowtest.Run(t, alone(source)) })
	}
}

// TestGroupsHoldTheirRows: the sound rows of each group, in its order, and no other's; a
// group without a sound row, or without any, is faulty; no record is longer than one may be.
func TestGroupsHoldTheirRows(t *testing.T) {
	const n, dim, most = 200, 11, 4
	records := rowtest.Records(n, dim, 7, true)
	records[9].Y, records[10].Y = 1e300, -2*carry.MostTarget // not from a row map
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
	g, err := row.NewGrouped(file(1000, t.TempDir())(t, dim, 8, records), most, rows, first)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	lie, reader, faulty := carry.Rows{Features: dim, Most: most}, g.Reader(), 0
	record, y := make([][]float32, 1), make([]float64, 1)
	x := make([]float32, dim)
	for i := range g.Len() {
		if err := reader.Rows(record, y, []int32{int32(i)}); err != nil {
			t.Fatal(err)
		}
		var square float64
		for _, v := range record[0] {
			square += float64(v) * float64(v)
		}
		if len(record[0]) != g.Stride() || !(square <= row.MaxSquare) {
			t.Fatalf("record %d: %d long, squared norm %v", i, len(record[0]), square)
		}
		at := 0
		for _, m := range rows[first[i]:first[i+1]] {
			r := records[m]
			if !r.Sound(dim) || math.Abs(r.Y) > carry.MostTarget {
				continue
			}
			lie.Take(x, record[0], at)
			for j := range x {
				if x[j] != r.X[j] {
					t.Fatalf("record %d: row %d is not row %d", i, at, m)
				}
			}
			if got := lie.Target(record[0], at); got != r.Y {
				t.Fatalf("record %d: target %v: must be %v", i, got, r.Y)
			}
			at++
		}
		if want := float64(at); y[0] != want && (at > 0 || y[0] == y[0]) {
			t.Fatalf("record %d: %v rows: must be %v", i, y[0], want)
		}
		if y[0] != y[0] {
			faulty++
		}
	}
	if faulty < 2 {
		t.Errorf("%d records are faulty: must be some", faulty)
	}
}

// TestGroupsAreBounded: more rows than there is room for are no layout, and rows that
// cannot be read are an error, not a faulty record.
func TestGroupsAreBounded(t *testing.T) {
	for _, most := range []int{0, carry.MostRows + 1} {
		if _, err := row.NewGrouped(file(0, t.TempDir())(t, 3, 0, nil), most, nil, []int32{0}); err == nil {
			t.Errorf("room for %d rows is taken", most)
		}
	}
	of := file(0, t.TempDir())(t, 3, 0, rowtest.Records(2, 3, 1, false))
	g, err := row.NewGrouped(of, 2, []int32{0, 1}, []int32{0, 2})
	if err != nil {
		t.Fatal(err)
	}
	g.Close()
	if _, err := g.Reader().Block(0); !errors.Is(err, row.ErrUnread) {
		t.Errorf("a record of rows that cannot be read: %v", err)
	}
}
