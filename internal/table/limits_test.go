package table

import (
	"fmt"
	"io"
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/parquet"
)

// TestBytesOfText tests every byte: a line of text has those that UTF-8 has, tabs and carriage returns, and no other
// control character.
func TestBytesOfText(t *testing.T) {
	var text [256]bool
	for r := range rune(utf8.MaxRune + 1) {
		for _, b := range utf8.AppendRune(nil, r) {
			text[b] = r >= ' ' && r != 0x7f || r == '\t' || r == '\r' || text[b]
		}
	}
	for b := range 256 {
		if got := foreignByte(byte(b)); got == text[b] {
			t.Errorf("byte %#x is foreign to text: %v", b, got)
		}
	}
}

// TestQuotesThatAreOpen tests which records that are too long have a quote that is probably not closed: none where the
// table has no quotes.
func TestQuotesThatAreOpen(t *testing.T) {
	for _, c := range []struct {
		quote byte
		text  string
		want  bool
	}{{'"', "xxxx\"xxxxxxxxxx", true}, {'"', "xxxx'xxxxxxxxxx", false}, {'\'', "xxxx'xxxxxxxxxx", true}, {0, "xxxx\"xxxxxxxxxx", false}, {0, "xxxx\x00xxxxxxxxxx", false}} {
		s := splitter{dialect: dialect{',', c.quote}, src: strings.NewReader(c.text), size: 4, most: 8}
		if got, err := s.next(); !got.long || got.open != c.want || err != nil {
			t.Errorf("quote %q, %q: %+v, %v", c.quote, c.text, got, err)
		}
	}
}

// TestEveryFileIsLimited tests that each file of a table buffers at most what the reader was told.
func TestEveryFileIsLimited(t *testing.T) {
	text, err := os.ReadFile("testdata/parquet/pyarrow-groups-of-7.parquet")
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, name := range []string{"a", "b", "c"} {
		paths = append(paths, filepath.Join(t.TempDir(), name))
		if err := os.WriteFile(paths[len(paths)-1], text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r, err := Open(paths, dataset.CSV{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	const most = 12345
	r.Limit(most)
	for {
		_, err := r.Chunk()
		if err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if got := r.open[len(r.open)-1].content.(*parquetFile).source.Limit; got != most {
			t.Fatalf("file %d buffers %d bytes: must be %d", r.next, got, most)
		}
	}
	if r.next != 3 {
		t.Errorf("%d files were read", r.next)
	}
}

// spelt is a column that keeps its numbers, and parses its texts.
type spelt struct{ missing []string }

func (s spelt) Missing() []string { return s.missing }
func (spelt) Number() bool        { return true }
func (spelt) Days() bool          { return true }
func (spelt) Numbers([]float64)   {}
func (spelt) Text(cell string) float64 {
	x, _ := strconv.ParseFloat(cell, 64)
	return x
}

// TestDecimalsAsText: a decimal has a digit before its point, and as many digits after it as its scale.
func TestDecimalsAsText(t *testing.T) {
	for _, c := range []struct {
		x     int64
		scale int
		want  string
	}{{5, 1, "0.5"}, {-5, 1, "-0.5"}, {10, 1, "1.0"}, {5, 2, "0.05"}, {0, 2, "0.00"}, {99, 2, "0.99"}, {123, 2, "1.23"}, {-100, 3, "-0.100"}, {-7, 0, "-7"},
		{7, -3, "7"}} {
		if got := string(spellDecimal([]byte("x"), big.NewInt(c.x), c.scale)); got != "x"+c.want {
			t.Errorf("%d with the scale %d: %s: must be x%s", c.x, c.scale, got, c.want)
		}
	}
}

// TestDecimalsOfAnySize tests that the number of a decimal is that of its text, for whole numbers around those that a
// float64 has exactly, for both signs and every scale.
func TestDecimalsOfAnySize(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	values := []int64{0, 1, mostWhole, mostWhole + 1, mostWhole + 3, -mostWhole, -mostWhole - 1, -mostWhole - 3, -1}
	for range 200 {
		values = append(values, r.Int64()>>r.IntN(60), -r.Int64()>>r.IntN(60), mostWhole+r.Int64N(1<<20), -mostWhole-r.Int64N(1<<20))
	}
	got := make([]float64, len(values))
	for scale := range 40 {
		y := parquet.Type{Kind: parquet.Int64, Meaning: parquet.Decimal, Scale: scale}
		spell := spellInt(y, 64)
		numberOfInt[int64](y, spelt{}, 64)(got, values)
		for i, x := range values {
			text := string(spell(nil, x))
			form := regexp.MustCompile(fmt.Sprintf(`^-?(0|[1-9][0-9]*)[.][0-9]{%d}$`, scale))
			if scale == 0 {
				form = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)
			}
			if !form.MatchString(text) {
				t.Errorf("scale %d: %d is %s", scale, x, text)
			}
			if want, err := strconv.ParseFloat(text, 64); got[i] != want || err != nil {
				t.Errorf("scale %d, %s: %v: must be %v", scale, text, got[i], want)
			}
		}
	}
}
