package inspect

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/stillpoint-dp/stillpoint/dataset"
)

// typed is a row with a column of each type that a check reads as numbers, and of two that it reads as texts.
type typed struct {
	Code     *int32   `parquet:"code,optional"`
	ID       *int64   `parquet:"id,optional"`
	Size     *float32 `parquet:"size,optional,dict"`
	Ratio    *float64 `parquet:"ratio,optional"`
	Constant *float64 `parquet:"constant,optional,dict"`
	Unsigned *uint32  `parquet:"unsigned,optional"`
	Day      *int32   `parquet:"day,optional,date"`
	Word     *string  `parquet:"word,optional,dict"`
	Split    string   `parquet:"split"`
	Years    *float64 `parquet:"years,optional"`
	Y        *float64 `parquet:"y,optional"`
}

// TestTypedCellsAreTheirTexts tests that the report on a Parquet file is that on the texts of its cells, in a CSV file,
// for cells of each type: missing ones, markers, beyond bounds, with exponents, integers above 2^53, and numbers with
// three digits after the point. The test fails if a typed cell is counted in another way than its text.
func TestTypedCellsAreTheirTexts(t *testing.T) {
	coin := rand.New(rand.NewPCG(52, 2))
	for try := range 60 {
		grouped, rising, clean := try%3 == 0, try%4 == 0, try%5 == 0
		var rows []typed
		var text bytes.Buffer
		w := csv.NewWriter(&text)
		w.Write([]string{"code", "id", "size", "ratio", "constant", "unsigned", "day", "word", "split", "years", "y"})
		for i := range 30 + coin.IntN(300) {
			var r typed
			number := func(scale float64) float64 {
				switch k := coin.IntN(12); {
				case grouped && coin.IntN(20) == 0:
					return 1e-7 // its text has no point
				case grouped:
					return float64(coin.IntN(999)*1000+1+10*coin.IntN(99)) / 1000
				case k < 6 || clean:
					return math.Round(1000*coin.Float64()*scale) / 1000
				case k < 9:
					return coin.NormFloat64() * scale
				}
				return []float64{-999, math.Inf(-1), math.Copysign(0, -1), 1e-6, 9.99999e-7, 1e21, math.NaN(), 999.999, 1000.001,
					.001, 3e-5, 1e300}[coin.IntN(12)]
			}
			some := func() bool { return clean || coin.IntN(8) > 0 }
			var cells [11]string
			if some() {
				x := int32(coin.IntN(2000) - 999)
				if rising {
					x = int32(i)
				}
				r.Code, cells[0] = &x, strconv.Itoa(int(x))
			}
			if some() {
				x := int64(1)<<53 + coin.Int64N(9)
				r.ID, cells[1] = &x, strconv.FormatInt(x, 10)
			}
			if some() {
				x := float32(number(90))
				r.Size, cells[2] = &x, spelled(float64(x), 32)
			}
			if some() {
				x := number(90)
				r.Ratio, cells[3] = &x, spelled(x, 64)
			}
			if some() {
				x := 12.125
				r.Constant, cells[4] = &x, spelled(x, 64)
			}
			if some() {
				x := coin.Uint32()
				r.Unsigned, cells[5] = &x, strconv.FormatUint(uint64(x), 10)
			}
			if some() {
				x := int32(18000 + coin.IntN(400))
				r.Day, cells[6] = &x, time.Unix(int64(x)*86400, 0).UTC().Format(time.DateOnly)
			}
			if some() {
				x := []string{"a", "A", " b ", "c", "3"}[coin.IntN(5)]
				r.Word, cells[7] = &x, x
			}
			r.Split = []string{"train", "test", "dev"}[coin.IntN(3)]
			cells[8] = r.Split
			if some() {
				x := 3 * coin.Float64()
				r.Years, cells[9] = &x, spelled(x, 64)
			}
			if some() {
				x := number(9)
				r.Y, cells[10] = &x, spelled(x, 64)
			}
			rows = append(rows, r)
			w.Write(cells[:])
		}
		w.Flush()
		s := schema(t, `columns:
  code: {number: [0, 500]}
  id: {number: [0, 9007199254740995]}
  size: {number: [0, 90000]}
  ratio: {number: [-5, 90000]}
  constant: {number: [0, 20]}
  unsigned: {number: [0, 4000000000]}
  day: {date: [2019-06-01, 2020-03-01]}
  word: {category: [a, b]}
  split: {public: [train, test]}
target: {column: y, number: [0, 9], exposure: {column: years, number: [1, 2]}}
missing: ["", "-999", "9007199254740994", "0.001"]
`+[]string{"", "where: split=train"}[try%2])
		path := filepath.Join(t.TempDir(), "t.parquet")
		if err := parquet.WriteFile(path, rows, parquet.MaxRowsPerRowGroup(70), parquet.PageBufferSize(256)); err != nil {
			t.Fatal(err)
		}
		want, err := Check(context.Background(), []string{write(t, text.String())}, dataset.CSV{}, s)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Check(context.Background(), []string{path}, dataset.CSV{}, s)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("table %d: error %v, report on typed cells\n%+v\nand on their texts\n%+v", try, err, got, want)
		}
		both, err := Check(context.Background(), []string{write(t, text.String()), path}, dataset.CSV{}, s)
		if err != nil || both.Rows != 2*want.Rows || both.Columns[4].suspicious() != want.Columns[4].suspicious() {
			t.Fatalf("table %d: error %v, report on both files\n%+v", try, err, both)
		}
	}
}

func (c Column) suspicious() bool { return len(c.Findings) > 0 }

// spelled returns a number as a cell of a Parquet file is read.
func spelled(x float64, bits int) string {
	form := byte('f')
	if a := math.Abs(x); a != 0 && (a < 1e-6 || a >= 1e21) {
		form = 'e'
	}
	return strconv.FormatFloat(x, form, -1, bits)
}

// TestThreeDigits compares the matchers of numbers with three digits after the point with the regular expression that
// defines them.
func TestThreeDigits(t *testing.T) {
	defined := regexp.MustCompile(`^[-+]?[0-9]{1,3}\.[0-9]{3}$`)
	coin := rand.New(rand.NewPCG(52, 3))
	for range 200_000 {
		b := make([]byte, coin.IntN(9))
		for i := range b {
			b[i] = "0123456789..-+e"[coin.IntN(15)]
		}
		if point := strings.IndexByte(string(b), '.'); point >= 0 && threeDigits(string(b), point) != defined.Match(b) {
			t.Fatalf("%s: %v", b, !defined.Match(b))
		}
		x := math.Abs(math.Round(coin.NormFloat64()*1e5) / []float64{1e2, 1e3, 1e4}[coin.IntN(3)])
		if coin.IntN(4) == 0 {
			x = math.Nextafter(x, 2000*coin.Float64())
		}
		if x < 1000 && x > 1e-5 && thousandths(x) != defined.MatchString(fmt.Sprint(x)) {
			t.Fatalf("%v: %v", x, thousandths(x))
		}
	}
}
