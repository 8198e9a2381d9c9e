package row

import "github.com/stillpoint-dp/stillpoint/internal/targetpair"

// changed is a reader of the rows of a source that are changed when they are read.
type changed struct {
	of Reader
	// block returns block i of the source, b, changed. The changed block may share memory with b.
	block func(i int, b Block) Block
	// rows reads the rows numbered by members from the source, and appends them to b, changed.
	rows func(of Reader, b *Block, members []int32) error
}

// newChanged returns a reader with its own buffers. The reader implements Ahead if the readers of the source do.
func newChanged(of Source, block func(int, Block) Block, rows func(Reader, *Block, []int32) error) Reader {
	r := &changed{of.Reader(), block, rows}
	if a, ok := r.of.(Ahead); ok {
		return &changedAhead{r, a}
	}
	return r
}

// inPlace returns the function rows of a changed reader: change changes the rows of b from the row first on.
func inPlace(change func(b *Block, first int)) func(Reader, *Block, []int32) error {
	return func(of Reader, b *Block, members []int32) error {
		first := len(b.Targets)
		if err := of.Rows(b, members); err != nil {
			return err
		}
		change(b, first)
		return nil
	}
}

// Block returns block i.
func (r *changed) Block(i int) (Block, error) {
	b, err := r.of.Block(i)
	return r.change(i, b, err)
}

func (r *changed) change(i int, b Block, err error) (Block, error) {
	if err != nil {
		return Block{}, err
	}
	return r.block(i, b), nil
}

// Rows appends the rows numbered by members to b.
func (r *changed) Rows(b *Block, members []int32) error { return r.rows(r.of, b, members) }

// changedAhead is a changed reader over a reader that reads ahead.
type changedAhead struct {
	*changed
	ahead Ahead
}

func (r *changedAhead) BlockAhead(i, next int) (Block, error) {
	b, err := r.ahead.BlockAhead(i, next)
	return r.change(i, b, err)
}

// Timed is a source of rows whose stored targets are times to an event. The target that a loss reads is computed when a
// row is read: a count with an exposure, which depends on the baseline hazard. Nothing else of a row changes.
type Timed struct {
	Source
	times targetpair.Times
}

// NewTimed returns the rows of a source with the targets that the baseline hazard of t gives them.
func NewTimed(of Source, t targetpair.Times) *Timed { return &Timed{of, t} }

// Reader returns a reader with its own targets.
func (t *Timed) Reader() Reader {
	var targets []float64
	return newChanged(t.Source, func(_ int, b Block) Block {
		targets = append(targets[:0], b.Targets...)
		b.Targets = targets
		t.carry(&b, 0)
		return b
	}, inPlace(t.carry))
}

func (t *Timed) carry(b *Block, first int) {
	for i, y := range b.Targets[first:] {
		b.Targets[first+i] = t.times.Carried(y)
	}
}

// Scaled is a source of rows whose features are multiplied by a ratio when they are read, as rows without curves have a
// smaller divisor than stored rows with them. A row that becomes longer than MaxSquare allows is faulty.
type Scaled struct {
	Source
	ratio float64
}

// NewScaled returns the rows of a source, multiplied by a ratio and rounded to float32. Closing it closes the source.
func NewScaled(of Source, ratio float64) *Scaled { return &Scaled{of, ratio} }

// Reader returns a reader with its own buffers.
func (s *Scaled) Reader() Reader {
	var block Block
	return newChanged(s.Source, func(_ int, b Block) Block {
		block.Clear()
		block.Append(b)
		s.scale(&block, 0)
		return block
	}, inPlace(s.scale))
}

// scale multiplies the rows of b from the row first on.
func (s *Scaled) scale(b *Block, first int) {
	l := s.Layout()
	stride, groups := l.Stride(), len(l.groups)
	for i := first; i < len(b.Targets); i++ {
		x := b.Rows[i*stride : (i+1)*stride]
		for j, v := range x {
			x[j] = float32(float64(v) * s.ratio)
		}
		sum := square(x)
		if groups > 0 {
			v := float32(float64(b.Levels[i]) * s.ratio)
			b.Levels[i] = v
			sum += float64(float64(groups) * float64(float64(v)*float64(v)))
		}
		if !(sum <= MaxSquare) {
			l.put(b, i, nil, 0, nil, 0, false)
		}
	}
}
