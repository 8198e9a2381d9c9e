package table

import (
	"bytes"
	"math"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	writer "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/parquet"
)

// kinds has a column of each type that can be read as cells.
type kinds struct {
	Yes   bool             `parquet:"yes"`
	Small int32            `parquet:"small"`
	Large int64            `parquet:"large,dict"`
	Count uint32           `parquet:"count"`
	Whole uint64           `parquet:"whole"`
	Half  float32          `parquet:"half"`
	Real  float64          `parquet:"real,dict"`
	Word  *string          `parquet:"word,optional,dict"`
	Bytes []byte           `parquet:"bytes"`
	Money int64            `parquet:"money,decimal(2:12)"`
	Coins int32            `parquet:"coins,decimal(3:9)"`
	Day   int32            `parquet:"day,date"`
	At    time.Time        `parquet:"at,timestamp(microsecond)"`
	Old   deprecated.Int96 `parquet:"old"`
	ID    [16]byte         `parquet:"id,uuid"`
	Maybe *float64         `parquet:"maybe,optional"`
}

// TestParquetAgreesWithCSV tests that a table has the same cells as Parquet and as CSV, for any
// sizes of pages and groups.
func TestParquetAgreesWithCSV(t *testing.T) {
	word, empty, number := "a, b", "", -2.5
	rows := []kinds{
		{true, -1, math.MinInt64, math.MaxUint32, math.MaxUint64, .1, 1e-7, &word, []byte("x\"y"), -5, 1234, 0,
			time.Unix(1, 5000).UTC(), deprecated.Int96{0, 0, 2440588}, [16]byte{15: 255, 0: 1}, &number},
		{false, 7, 42, 0, 0, float32(math.Inf(1)), 123456789, nil, []byte{}, 123456, -1, -1,
			time.Date(2024, 2, 29, 23, 59, 59, 0, time.UTC), deprecated.Int96{1_000_000_000, 0, 2440589}, [16]byte{}, nil},
		{false, 0, 42, 1, 1, 0, 1e21, &empty, []byte("é"), 0, 0, 19782, time.Unix(-1, 500_000_000).UTC(),
			deprecated.Int96{0, 0, 2440587}, [16]byte{}, &number},
	}
	const text = `yes,small,large,count,whole,half,real,word,bytes,money,coins,day,at,old,id,maybe
true,-1,-9223372036854775808,4294967295,18446744073709551615,0.1,1e-07,"a, b","x""y",-0.05,1.234,1970-01-01,1970-01-01T00:00:01.000005Z,1970-01-01T00:00:00,01000000-0000-0000-0000-0000000000ff,-2.5
false,7,42,0,0,+Inf,123456789,,,1234.56,-0.001,1969-12-31,2024-02-29T23:59:59Z,1970-01-02T00:00:01,00000000-0000-0000-0000-000000000000,
false,0,42,1,1,0,1e+21,,é,0.00,0.000,2024-02-29,1969-12-31T23:59:59.5Z,1969-12-31T00:00:00,00000000-0000-0000-0000-000000000000,-2.5
`
	header, want, err := drain(write(t, "t.csv", []byte(text)))
	if err != nil {
		t.Fatal(err)
	}
	for name, options := range map[string][]writer.WriterOption{
		"as it comes":   nil,
		"small pages":   {writer.PageBufferSize(1)},
		"small groups":  {writer.MaxRowsPerRowGroup(1)},
		"compressed":    {writer.Compression(&writer.Zstd)},
		"older pages":   {writer.DataPageVersion(1)},
		"snappy, pages": {writer.Compression(&writer.Snappy), writer.PageBufferSize(64)},
	} {
		gotHeader, got, err := drain(write(t, "t", parquetOf(t, rows, options...)))
		if diff := cmp.Diff([][][]string{{header}, want}, [][][]string{{gotHeader}, got}); err != nil || diff != "" {
			t.Errorf("%s: error %v (-csv +parquet):\n%s", name, err, diff)
		}
	}
}

// TestParquetColumns tests that columns which are not used are not read and may have any type, and
// that used columns must be flat.
func TestParquetColumns(t *testing.T) {
	type nested struct {
		A     float64   `parquet:"a"`
		List  []float64 `parquet:"list"`
		Group struct {
			X float64 `parquet:"x"`
		} `parquet:"group"`
		Y float64 `parquet:"y"`
	}
	path := write(t, "t.parquet", parquetOf(t, []nested{{A: 1, List: []float64{2, 3}, Y: .5}}))
	bound := func(ignored string) error {
		def := dataset.Definition{Target: dataset.Target{Column: "y", Kind: dataset.Number, High: 1}}
		for _, name := range []string{"a", "list", "group"} {
			c := dataset.Column{Name: name, Kind: dataset.Number, High: 1}
			if strings.Contains(ignored, name) {
				c = dataset.Column{Name: name, Kind: dataset.Ignore}
			}
			def.Columns = append(def.Columns, c)
		}
		schema, err := dataset.New(def)
		if err != nil {
			t.Fatal(err)
		}
		r, err := Open([]string{path}, dataset.CSV{})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		m, err := schema.Bind(r.Header())
		if err != nil {
			t.Fatal(err)
		}
		if err := For(r, m); err != nil {
			return err
		}
		if cells, ok, err := r.Next(); err != nil || !ok || !cmp.Equal(cells, []string{"1", "", "", "0.5"}) {
			t.Errorf("%q: %q, %v, %v", ignored, cells, ok, err)
		}
		return nil
	}
	if err := bound("list group"); err != nil {
		t.Error(err)
	}
	for ignored, named := range map[string]string{"group": "list", "list": "group"} {
		want := "table: " + path + ": column \"" + named +
			"\" is nested or repeated: only flat columns can be read (another can be ignored by the schema)"
		if err := bound(ignored); err == nil || err.Error() != want {
			t.Errorf("%q: %v", ignored, err)
		}
	}
}

// TestDamagedParquet tests that a file damaged anywhere gives an error that says so and no more,
// and never a crash.
func TestDamagedParquet(t *testing.T) {
	var rows []pair
	for i := range int64(50) {
		rows = append(rows, pair{i, strings.Repeat("x", int(i))})
	}
	content := parquetOf(t, rows, writer.MaxRowsPerRowGroup(20))
	errs := 0
	try := func(content []byte) {
		path := write(t, "t.parquet", content)
		_, _, err := drain(path)
		if err == nil {
			return // the change had no effect, or only changed a value
		}
		errs++
		rule := strings.TrimPrefix(err.Error(), "table: "+path+": ")
		for _, known := range []string{
			"the file is damaged: it ends early or fails its checksum", "column ", "is not UTF-8 text", "has a column ",
			"has a page ",
		} {
			if strings.HasPrefix(rule, known) {
				return
			}
		}
		t.Errorf("error %v", err)
	}
	step := 3
	if testing.Short() {
		step = 29
	}
	for at := 4; at < len(content); at += step {
		damaged := bytes.Clone(content)
		damaged[at] ^= 0xff
		try(damaged)
		try(content[:at])
	}
	if errs == 0 {
		t.Error("no damage is seen")
	}
}

// TestRareNumbers tests 16-bit floats and decimals of many bytes against a second computation.
func TestRareNumbers(t *testing.T) {
	for bits, want := range map[uint16]string{0: "0", 0x8000: "-0", 0x3c00: "1", 0xc000: "-2", 0x7bff: "65504",
		1: "0.000000059604645", 0x7c00: "+Inf", 0xfc00: "-Inf", 0x7e00: "NaN"} {
		got := string(spellBytes(parquet.Type{})(nil, spellFloat(nil, half(bits), 32)))
		if bits == 1 {
			want = "5.9604645e-08" // below a millionth
		}
		if got != want {
			t.Errorf("%#x: %s, want %s", bits, got, want)
		}
	}
	for _, x := range []int64{0, 1, -1, 127, -128, 255, -256, 123456789, -123456789} {
		value := make([]byte, 12)
		two := new(big.Int).And(big.NewInt(x), new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 96), big.NewInt(1)))
		two.FillBytes(value)
		if got := signed(value); got.Int64() != x {
			t.Errorf("%d is read as %v", x, got)
		}
		got, ok := new(big.Rat).SetString(string(spellDecimal(nil, big.NewInt(x), 4)))
		if !ok || got.Cmp(big.NewRat(x, 10000)) != 0 {
			t.Errorf("%d ten-thousandths are written as %v", x, got)
		}
	}
}
