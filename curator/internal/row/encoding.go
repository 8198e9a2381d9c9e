package row

// Encode calls write with the encoded rows of a source, in their order, one block at a time. The bytes are
// valid until write returns. Rows are encoded as in the private file of a File. The concatenated bytes
// depend neither on where rows are stored nor on their division into blocks. Hats, the values of curves'
// basis functions, are not encoded. Encode returns ErrUnread if a row cannot be read.
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
