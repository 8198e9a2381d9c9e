package rowtest

import (
	"testing"

	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
)

// Gaps returns a maker of sources that hold the same rows in other blocks: with an empty block
// before each block and at the end, and with one buffer that each block of a reader overwrites.
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
