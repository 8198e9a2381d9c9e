package row

// Scaled is a source of rows whose features are multiplied by a ratio when they are read, as rows without curves have a
// smaller divisor than stored rows with them. A row that becomes longer than MaxSquare allows is faulty.
type Scaled struct {
	Source
	ratio float64
}

// NewScaled returns the rows of a source, multiplied by a ratio and rounded to float32. Closing it closes the source.
func NewScaled(of Source, ratio float64) *Scaled { return &Scaled{of, ratio} }

// Reader returns a reader with its own buffers.
func (s *Scaled) Reader() Reader { return &scaledReader{of: s.Source.Reader(), source: s} }

type scaledReader struct {
	of     Reader
	source *Scaled
	block  Block
}

// Block returns block i.
func (r *scaledReader) Block(i int) (Block, error) {
	b, err := r.of.Block(i)
	if err != nil {
		return Block{}, err
	}
	r.block.Clear()
	r.block.Append(b)
	r.source.scale(&r.block, 0)
	return r.block, nil
}

// Rows appends the rows numbered by members to b.
func (r *scaledReader) Rows(b *Block, members []int32) error {
	first := len(b.Targets)
	if err := r.of.Rows(b, members); err != nil {
		return err
	}
	r.source.scale(b, first)
	return nil
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
