package rowtest

import (
	"testing"

	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
)

// Gaps returns a maker of sources with the same rows as the sources of the given maker, in other blocks. There is an
// empty block before each block and at the end. Each block of a reader overwrites the previous block of the reader.
func Gaps(source Make) Make {
	return func(t testing.TB, l *row.Layout, blockRows int, records []Record) row.Source {
		t.Helper()
		return gaps{source(t, l, blockRows, records)}
	}
}

type gaps struct{ row.Source }

func (g gaps) Blocks() int { return 2*g.Source.Blocks() + 1 }

func (g gaps) Reader() row.Reader { return &gapsReader{Reader: g.Source.Reader()} }

type gapsReader struct {
	row.Reader
	block row.Block
}

func (r *gapsReader) Block(i int) (row.Block, error) {
	if i%2 == 0 {
		return row.Block{}, nil
	}
	b, err := r.Reader.Block(i / 2)
	if err != nil {
		return row.Block{}, err
	}
	r.block.Clear()
	r.block.Append(b)
	return r.block, nil
}
