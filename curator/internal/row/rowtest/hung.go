package rowtest

import (
	"testing"

	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
)

// Hung returns a maker of sources of records with hats, the values of curves' basis functions. It uses the given maker
// for the same records without hats. For a layout without hats, Hung returns the source of the given maker.
func Hung(source Make) Make {
	return func(t testing.TB, l *row.Layout, blockRows int, records []Record) row.Source {
		t.Helper()
		if l.Edges() == 0 {
			return source(t, l, blockRows, records)
		}
		bare, err := l.Bare()
		if err != nil {
			t.Fatal(err)
		}
		h := hung{source(t, bare, blockRows, records), l, records, nil}
		if h.firsts, err = firstRows(h.Source); err != nil {
			t.Fatal(err)
		}
		return h
	}
}

type hung struct {
	row.Source
	layout  *row.Layout
	records []Record
	// firsts holds the number of the first row of each block.
	firsts []int
}

// firstRows reads a source and returns the number of the first row of each block.
func firstRows(s row.Source) ([]int, error) {
	firsts, reader, rows := make([]int, s.Blocks()), s.Reader(), 0
	for i := range firsts {
		b, err := reader.Block(i)
		if err != nil {
			return nil, err
		}
		firsts[i] = rows
		rows += len(b.Targets)
	}
	return firsts, nil
}

func (h hung) Layout() *row.Layout { return h.layout }
func (h hung) Reader() row.Reader  { return &hungReader{h.Source.Reader(), h} }

type hungReader struct {
	row.Reader
	hung
}

// edge appends to e the edges of record i, which are pairs of neighbouring hats with their values. A record
// that is not sound has edges with the values zero.
func (h hung) edge(e *row.Edges, i int) {
	r, n := h.records[i], 0
	for _, hats := range h.layout.Hats() {
		for range hats.Edges {
			code, left, right := uint32(h.layout.Place(hats.First)-h.layout.Stride()), float32(0), float32(0)
			if r.Sound() {
				code, left, right = code+r.At[n], r.By[2*n], r.By[2*n+1]
			}
			e.At, e.By = append(e.At, code), append(e.By, left, right)
			n++
		}
	}
}

func (r *hungReader) Block(i int) (row.Block, error) {
	b, err := r.Reader.Block(i)
	if err != nil {
		return row.Block{}, err
	}
	b.Edges = row.Edges{}
	for k := range b.Targets {
		r.edge(&b.Edges, r.firsts[i]+k)
	}
	return b, nil
}

func (r *hungReader) Rows(b *row.Block, members []int32) error {
	if err := r.Reader.Rows(b, members); err != nil {
		return err
	}
	for _, m := range members {
		r.edge(&b.Edges, int(m))
	}
	return nil
}
