package export

import (
	"bytes"
	"encoding/csv"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/model"
)

// TestPredictionsOfTypedCells tests, for every loss and every form of a schema, that Predict writes the same bytes
// for a Parquet file with typed columns, for the texts of its cells, and as encoding/csv writes the predictions of
// [model.Model.Predictions], which are computed one row at a time. The test fails if a block of typed rows loses a row
// or the sign of a zero, or if a cell of the output is quoted in another way.
func TestPredictionsOfTypedCells(t *testing.T) {
	coin := rand.New(rand.NewPCG(52, 1))
	rows := 300
	if testing.Short() {
		rows = 40
	}
	for _, l := range losses(t) {
		target := suited(l)
		if len(target.Classes) > 0 {
			target.Classes[0] = `no, "n"`
		}
		for name, s := range kinds(t, target) {
			m := modelOf(t, l, s, coin)
			header, texts, path := typedTable(t, s, rows, coin)
			for _, margins := range []bool{false, true} {
				var typed, text bytes.Buffer
				o := model.PredictOptions{Margins: margins}
				if err := m.Predict(t.Context(), path, &typed, o); err != nil {
					t.Fatal(err)
				}
				cells := func(yield func([]string, error) bool) {
					for _, row := range texts {
						if !yield(row, nil) {
							return
						}
					}
				}
				if err := m.PredictFrom(t.Context(), model.Source{Header: header, Cells: cells}, &text, o); err != nil {
					t.Fatal(err)
				}
				if want := reference(t, m, model.Source{Header: header, Cells: cells}, margins); typed.String() != want ||
					text.String() != want {
					t.Fatalf("%s, %s: typed cells, their texts and single predictions differ", l.Name(), name)
				}
			}
		}
	}
}

// reference returns the output of Predict, without its header, by encoding/csv, from single predictions.
func reference(t *testing.T, m *model.Model, from model.Source, margins bool) string {
	t.Helper()
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	show := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	o, err := m.Output()
	if err != nil {
		t.Fatal(err)
	}
	classes := m.Schema().Target().Classes
	var header, tail []string
	switch o {
	case model.Value, model.Rate:
		header, tail = []string{"prediction"}, []string{"margin"}
	case model.Probabilities:
		for _, c := range classes {
			header, tail = append(header, "probability="+c), append(tail, "margin="+c)
		}
		header = append(header, "class")
	case model.Probability:
		header, tail = []string{"probability", "class"}, []string{"margin"}
	default:
		header, tail = []string{"score", "class"}, []string{"margin"}
	}
	if margins {
		header = append(header, tail...)
	}
	w.Write(header)
	for p, err := range m.Predictions(t.Context(), from) {
		if err != nil || !p.OK {
			t.Fatal(err, p)
		}
		var row []string
		switch {
		case o == model.Value || o == model.Rate:
			row = []string{show(p.Value)}
		case o == model.Probabilities:
			for _, x := range p.Probabilities {
				row = append(row, show(x))
			}
		case o == model.Probability:
			row = []string{show(p.Probabilities[1])}
		default:
			row = []string{show(p.Margins[0])}
		}
		if p.Class != "" {
			row = append(row, p.Class)
		}
		for _, z := range p.Margins {
			if margins {
				row = append(row, show(z))
			}
		}
		w.Write(row)
	}
	w.Flush()
	return b.String()
}

// typedTable writes a Parquet file with a column of a type of its own for each column of the schema, and returns the
// texts of its cells. Numbers are doubles, floats and integers, dates of ISO 8601 are days, and all other
// cells are texts. A tenth of the cells is missing.
func typedTable(t *testing.T, s *dataset.Schema, n int, coin *rand.Rand) (header []string, texts [][]string, path string) {
	t.Helper()
	group := parquet.Group{}
	columns := slices.SortedFunc(slices.Values(s.Columns()), func(a, b dataset.Column) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	draws := make([]func() (parquet.Value, string), len(columns))
	for i, c := range columns {
		header = append(header, c.Name)
		number := func() float64 {
			switch coin.IntN(6) {
			case 0:
				x, _ := strconv.ParseFloat(oddNumbers[coin.IntN(len(oddNumbers))], 64)
				return x
			case 1:
				return math.Round(100*(c.Low+coin.Float64()*(c.High-c.Low))) / 100
			}
			return c.Low + 1.2*(coin.Float64()-.1)*(c.High-c.Low)
		}
		float := func(x float64, bits int) string {
			form := byte('f')
			if a := math.Abs(x); a != 0 && (a < 1e-6 || a >= 1e21) {
				form = 'e'
			}
			return strconv.FormatFloat(x, form, -1, bits)
		}
		var node parquet.Node
		switch {
		case c.Kind == dataset.Number && c.Name == "age":
			node = parquet.Int(64)
			draws[i] = func() (parquet.Value, string) {
				x := int64(max(min(number(), 1e15), -1e15))
				return parquet.Int64Value(x), strconv.FormatInt(x, 10)
			}
		case c.Kind == dataset.Number && c.Name == "_1":
			node = parquet.Leaf(parquet.FloatType)
			draws[i] = func() (parquet.Value, string) {
				x := float32(number())
				return parquet.FloatValue(x), float(float64(x), 32)
			}
		case c.Kind == dataset.Number:
			node = parquet.Leaf(parquet.DoubleType)
			draws[i] = func() (parquet.Value, string) {
				x := number()
				return parquet.DoubleValue(x), float(x, 64)
			}
		case c.Kind == dataset.Date && c.Layout == "":
			node = parquet.Date()
			draws[i] = func() (parquet.Value, string) {
				day := int32(c.Low) + int32(1.2*(coin.Float64()-.1)*(c.High-c.Low))
				return parquet.Int32Value(day), time.Unix(int64(day)*86400, 0).UTC().Format(time.DateOnly)
			}
		default:
			node = parquet.Encoded(parquet.String(), &parquet.RLEDictionary)
			words := slices.Concat(c.Categories, oddWords, oddDates)
			draws[i] = func() (parquet.Value, string) {
				word := words[coin.IntN(len(words))]
				return parquet.ByteArrayValue([]byte(word)), word
			}
		}
		group[c.Name] = parquet.Optional(node)
	}
	path = filepath.Join(t.TempDir(), "typed.parquet")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	w := parquet.NewWriter(file, parquet.NewSchema("table", group), parquet.MaxRowsPerRowGroup(97))
	for range n {
		row, cells := make(parquet.Row, len(columns)), make([]string, len(columns))
		for i, draw := range draws {
			row[i] = parquet.NullValue().Level(0, 0, i)
			if coin.IntN(10) > 0 {
				row[i], cells[i] = draw()
				row[i] = row[i].Level(0, 1, i)
			}
		}
		if _, err := w.WriteRows([]parquet.Row{row}); err != nil {
			t.Fatal(err)
		}
		texts = append(texts, cells)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return header, texts, path
}
