package row

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestUnpackAgrees tests that this machine's unpack copies the rows and returns the same squared
// norms as the portable unpack, to the bit, and that it writes nowhere else. The numbers and bytes
// are random, and the sizes are on both sides of the size of each loop.
func TestUnpackAgrees(t *testing.T) {
	r := rand.New(rand.NewPCG(29, 3))
	for rows := 1; rows <= tile+1; rows++ {
		stride := Lane * (1 + r.IntN(9))
		size := 8 + 4*stride + 8*r.IntN(2)
		bytes := make([]byte, (rows-1)*size+4*stride)
		for i := 0; i+4 <= len(bytes); i += 4 {
			v := math.Float32bits(float32(r.NormFloat64()))
			if r.IntN(20) == 0 {
				v = r.Uint32()
			}
			binary.LittleEndian.PutUint32(bytes[i:], v)
		}
		x, want := make([]float32, rows*stride+5), make([]float32, rows*stride+5)
		squares, wanted := make([]float64, rows), make([]float64, rows)
		unpack(want, wanted, bytes, stride, size)
		fastUnpack(x, squares, bytes, stride, size)
		if !slices.EqualFunc(x, want, func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }) {
			t.Fatalf("%d rows of %d: other numbers", rows, stride)
		}
		for i := range squares {
			if squares[i] != wanted[i] && (squares[i] == squares[i] || wanted[i] == wanted[i]) {
				t.Fatalf("%d rows of %d: square %d is %v, want %v", rows, stride, i, squares[i], wanted[i])
			}
		}
	}
}

// TestUnpackMisfits tests that arguments panic if they would make the assembly read or write beyond
// its slices.
func TestUnpackMisfits(t *testing.T) {
	for name, f := range map[string]func(){
		"a number short":       func() { checkUnpack(make([]float32, 15), make([]float64, 2), make([]byte, 80), 8, 40) },
		"a byte short":         func() { checkUnpack(make([]float32, 16), make([]float64, 2), make([]byte, 71), 8, 40) },
		"rows that overlap":    func() { checkUnpack(make([]float32, 16), make([]float64, 2), make([]byte, 80), 8, 31) },
		"a stride of no lanes": func() { checkUnpack(make([]float32, 18), make([]float64, 2), make([]byte, 80), 9, 40) },
		"no rows":              func() { checkUnpack(nil, nil, nil, 8, 40) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s is taken", name)
				}
			}()
			f()
		}()
	}
	checkUnpack(make([]float32, 16), make([]float64, 2), make([]byte, 72), 8, 40)
}

// TestDamagedNumbers tests that a row of numbers read from the file is a valid row, such as the row
// map makes, or is marked as faulty, whatever bytes the file contains. Its padding is zero, and other
// rows are unchanged. Blocks are longer than the number of rows that are read back together.
func TestDamagedNumbers(t *testing.T) {
	const n, dim = 150, 11
	r := rand.New(rand.NewPCG(29, 4))
	for name, damage := range map[string]func(row []byte){
		"nothing":          func([]byte) {},
		"a target":         func(b []byte) { binary.LittleEndian.PutUint64(b, math.Float64bits(math.Inf(-1))) },
		"a number":         func(b []byte) { binary.LittleEndian.PutUint32(b[8+4*(dim-1):], math.Float32bits(1)) },
		"NaN":              func(b []byte) { binary.LittleEndian.PutUint32(b[8:], math.Float32bits(float32(math.NaN()))) },
		"a little padding": func(b []byte) { binary.LittleEndian.PutUint32(b[8+4*dim:], math.Float32bits(1e-9)) },
		"padding":          func(b []byte) { binary.LittleEndian.PutUint32(b[8+4*15:], math.Float32bits(1e9)) },
		"all": func(b []byte) {
			for i := range b {
				b[i] = byte(r.Uint32())
			}
		},
	} {
		l, err := Dense(dim)
		if err != nil {
			t.Fatal(err)
		}
		f, err := NewFileOf(l, 70, 0, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		x := make([]float32, dim)
		for i := range n {
			for j := range x {
				x[j] = float32(.3 * math.Sin(float64(i*dim+j)))
			}
			x[dim-1] = .3
			if err := f.Append(x, float64(i), true); err != nil {
				t.Fatal(err)
			}
		}
		s, err := f.Source()
		if err != nil {
			t.Fatal(err)
		}
		const hit = 70 + 66 // beyond the first tile of the second block
		record := make([]byte, l.size())
		if _, err := f.file.ReadAt(record, hit*int64(l.size())); err != nil {
			t.Fatal(err)
		}
		damage(record)
		if _, err := f.file.WriteAt(record, hit*int64(l.size())); err != nil {
			t.Fatal(err)
		}
		reader, faults := s.Reader(), 0
		for i := range s.Blocks() {
			b, err := reader.Block(i)
			if err != nil {
				t.Fatal(err)
			}
			for k, y := range b.Targets {
				var one Block
				if err := reader.Rows(&one, []int32{int32(70*i + k)}); err != nil {
					t.Fatal(err)
				}
				b, _ = reader.Block(i)
				row := b.Rows[k*l.Stride() : (k+1)*l.Stride()]
				if !slices.Equal(one.Rows, row) || math.Float64bits(one.Targets[0]) != math.Float64bits(y) {
					t.Fatalf("%s: row %d differs when it is read alone", name, 70*i+k)
				}
				switch {
				case y != y:
					if faults++; slices.Max(row) != 0 || slices.Min(row) != 0 || 70*i+k != hit {
						t.Errorf("%s: a faulty row %d is %v", name, 70*i+k, row)
					}
				case square(row) > MaxSquare || slices.Max(row[dim:]) != 0 || slices.Min(row[dim:]) != 0:
					t.Errorf("%s: row %d is %v", name, 70*i+k, row)
				case 70*i+k != hit && (y != float64(70*i+k) || row[0] != float32(.3*math.Sin(y*dim))):
					t.Errorf("%s: row %d is another", name, 70*i+k)
				}
			}
		}
		if (faults == 1) != (name != "nothing" && name != "a little padding") {
			t.Errorf("%s: %d rows are faulty", name, faults)
		}
		s.Close()
	}
}
