package row

// Encode calls write with the encoding of a source's rows, in their order. The encoding is the one of a
// private file: it does not depend on where rows are stored or on how they are divided into blocks.
func Encode(s Source, write func([]byte)) error {
	r, l := s.Reader(), s.Layout()
	var bytes []byte
	for i := range s.Blocks() {
		b, err := r.Block(i)
		if err != nil {
			return err
		}
		bytes = l.encode(bytes[:0], b)
		write(bytes)
	}
	return nil
}
