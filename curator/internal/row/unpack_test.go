package row

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"golang.org/x/sys/cpu"
)

// layouts returns layouts of numbers, of narrow codes and of wide ones, on both sides of the sizes of each loop.
func layouts(t *testing.T) (all []*Layout) {
	t.Helper()
	add := func(dim int, groups ...Group) {
		l, err := NewLayout(dim, groups)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, l)
	}
	for dim := 1; dim <= 3*Lane+1; dim++ {
		add(dim)
	}
	for numbers := 1; numbers <= 2*Lane+1; numbers += 4 {
		for _, count := range []int{1, 2, 7, 8, 9, 20} {
			groups := make([]Group, count)
			for g := range groups {
				groups[g] = Group{2 * g, 2}
			}
			add(numbers+2*count, groups...)
			groups[count-1].Width = 1 << 17
			add(numbers+2*count+1<<17, groups...)
			groups[count-1].Width = 1<<16 - 2*(count-1) // the last code is the largest of 16 bits
			add(numbers+1<<16, groups...)
		}
	}
	return all
}

// TestUnpackAgrees tests that rows that assembly decodes are those that are decoded one by one, to the bit,
// whatever the bytes are: valid rows, faulty ones, and some with a byte changed. Nothing beyond the rows is written.
func TestUnpackAgrees(t *testing.T) {
	r := rand.New(rand.NewPCG(29, 3))
	taken, left := 0, 0
	for _, l := range layouts(t) {
		const first, n = 2, 30
		b := l.make(n)
		for range n {
			x, in, level := make([]float32, l.dense), make([]uint32, len(l.groups)), float32(0)
			for j := range x {
				x[j] = float32(r.NormFloat64() / (2 * math.Sqrt(float64(l.dense))))
			}
			for g := range in {
				in[g] = uint32(r.IntN(l.groups[g].Width))
				if r.IntN(3) == 0 {
					in[g] = uint32(l.groups[g].Width - 1)
				}
				level = .1
			}
			l.add(&b, x, level, in, r.NormFloat64(), r.IntN(10) > 0)
		}
		for damage := range 6 {
			bytes := l.encode(nil, b)
			for k := range damage {
				at := r.IntN(n) * l.size()
				at += []int{r.IntN(l.size()), l.size() - 1 - r.IntN(2), 7, 8 + 4*l.dense - 1, 8 + r.IntN(4)}[k]
				bytes[at] ^= byte(1 << r.IntN(8))
			}
			for range slack {
				bytes = append(bytes, byte(r.Uint32()))
			}
			filled := func() Block {
				b := l.make(first + n)
				l.extend(&b, first+n)
				for k := range first + n {
					l.put(&b, k, nil, 0, nil, 77, false)
				}
				return b
			}
			got, want := filled(), filled()
			u := newUnpacker(l)
			u.rows(&got, first, n, bytes)
			for k := range n {
				u.row(&want, first+k, bytes[k*l.size():][:l.size()])
			}
			if !same(got, want) {
				t.Fatalf("%d numbers and %d groups: other rows", l.dense, len(l.groups))
			}
			done := u.several(&got, first, n, bytes)
			for k := range done {
				if y := want.Targets[first+k]; y != y {
					t.Fatalf("%d numbers and %d groups: row %d is taken", l.dense, len(l.groups), k)
				}
			}
			if done > 0 && done < n {
				left++
			}
			taken += done
		}
	}
	if !cpu.X86.HasAVX2 || !cpu.X86.HasFMA {
		t.Skip("no assembly for this machine")
	}
	if taken < 1000 || left < 100 {
		t.Errorf("%d rows are taken, and %d times rows are left", taken, left)
	}
}

// same reports whether two blocks are the same to the bit.
func same(a, b Block) bool {
	narrow := func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }
	wide := func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }
	return slices.EqualFunc(a.Rows, b.Rows, narrow) && slices.EqualFunc(a.Levels, b.Levels, narrow) &&
		slices.EqualFunc(a.Targets, b.Targets, wide) &&
		slices.Equal(a.Codes.Narrow, b.Codes.Narrow) && slices.Equal(a.Codes.Wide, b.Codes.Wide)
}

// TestUnpackMisfits tests that blocks and bytes panic if the assembly would read or write beyond them.
func TestUnpackMisfits(t *testing.T) {
	for _, groups := range [][]Group{nil, {{0, 2}, {2, 2}}, {{0, 2}, {2, 1 << 17}}} {
		l, err := NewLayout(11+1<<17, groups)
		if groups == nil || groups[1].Width == 2 {
			l, err = NewLayout(11, groups)
		}
		if err != nil {
			t.Fatal(err)
		}
		const n = 9
		sound := func() (Block, []byte) {
			b := l.make(n)
			l.extend(&b, n)
			return b, make([]byte, n*l.size()+slack)
		}
		for name, f := range map[string]func(b *Block, bytes []byte) (*Block, []byte){
			"nothing": func(b *Block, bytes []byte) (*Block, []byte) { return b, bytes },
			"a number short": func(b *Block, bytes []byte) (*Block, []byte) {
				b.Rows = b.Rows[: len(b.Rows)-1 : len(b.Rows)-1]
				return b, bytes
			},
			"a byte short": func(b *Block, bytes []byte) (*Block, []byte) {
				return b, bytes[: len(bytes)-1 : len(bytes)-1]
			},
			"a level short": func(b *Block, bytes []byte) (*Block, []byte) {
				if b.Levels == nil {
					return b, nil
				}
				b.Levels = slices.Clip(b.Levels[:2])
				return b, bytes
			},
			"codes short": func(b *Block, bytes []byte) (*Block, []byte) {
				if b.Levels == nil {
					return b, nil
				}
				b.Codes.Narrow, b.Codes.Wide = slices.Clip(b.Codes.Narrow[:min(5, len(b.Codes.Narrow))]),
					slices.Clip(b.Codes.Wide[:min(5, len(b.Codes.Wide))])
				return b, bytes
			},
		} {
			func() {
				defer func() {
					if fails := recover() != nil; fails != (name != "nothing") {
						t.Errorf("%s: panics: %v", name, fails)
					}
				}()
				b, bytes := sound()
				short, bytes := f(&b, bytes)
				if newUnpacker(l).several(short, 0, n, bytes) == 0 && name != "nothing" {
					panic("no assembly")
				}
			}()
		}
	}
}

// TestDamagedNumbers tests that a row of numbers read from the file is a valid row, such as the row
// map makes, or is marked as faulty, whatever bytes the file contains. Its padding is zero, and other
// rows are unchanged.
func TestDamagedNumbers(t *testing.T) {
	const n, dim = 150, 11
	r := rand.New(rand.NewPCG(29, 4))
	for name, damage := range map[string]func(row []byte){
		"nothing":  func([]byte) {},
		"a target": func(b []byte) { binary.LittleEndian.PutUint64(b, math.Float64bits(math.Inf(-1))) },
		"a number": func(b []byte) { binary.LittleEndian.PutUint32(b[8+4*(dim-1):], math.Float32bits(1)) },
		"NaN":      func(b []byte) { binary.LittleEndian.PutUint32(b[8:], math.Float32bits(float32(math.NaN()))) },
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
		const hit = 70 + 66 // in the second block
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
		if (faults == 1) != (name != "nothing") {
			t.Errorf("%s: %d rows are faulty", name, faults)
		}
		s.Close()
	}
}
