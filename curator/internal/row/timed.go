package row

import (
	"github.com/stillpoint-dp/stillpoint/internal/targetpair"
)

// Timed is a source of rows whose stored targets are times to an event. The target that a loss reads is computed when a
// row is read: a count with an exposure, which depends on the baseline hazard. Nothing else of a row changes.
type Timed struct {
	Source
	times targetpair.Times
}

// NewTimed returns the rows of a source with the targets that the baseline hazard of t gives them.
func NewTimed(of Source, t targetpair.Times) *Timed { return &Timed{of, t} }

// Reader returns a reader with its own targets.
func (t *Timed) Reader() Reader { return &timedReader{of: t.Source.Reader(), times: t.times} }

type timedReader struct {
	of      Reader
	times   targetpair.Times
	targets []float64
}

// Block returns block i.
func (r *timedReader) Block(i int) (Block, error) {
	b, err := r.of.Block(i)
	r.targets = append(r.targets[:0], b.Targets...)
	b.Targets = r.targets
	r.carry(b.Targets)
	return b, err
}

// Rows appends the rows numbered by members to b.
func (r *timedReader) Rows(b *Block, members []int32) error {
	first := len(b.Targets)
	err := r.of.Rows(b, members)
	r.carry(b.Targets[first:])
	return err
}

func (r *timedReader) carry(targets []float64) {
	for i, y := range targets {
		targets[i] = r.times.Carried(y)
	}
}
