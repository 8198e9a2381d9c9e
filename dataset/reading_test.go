package dataset

import (
	"math"
	"slices"
	"strconv"
	"testing"
)

// TestReadingsEncodeAsTexts tests that the features of a row of readings have the same bits as those of the
// row of texts. The schema has hats and interactions. Rows are stored whole and by groups.
func TestReadingsEncodeAsTexts(t *testing.T) {
	for _, norm := range []string{"", "  norm: 2\n"} {
		s := mustLoad(t, `
schema:
  columns:
    ward: {category: [a, b]}
    age: {number: [17, 90], curve: 9}
    gain: {number: [0, 99], transform: log1p, curve: 16}
    seen: {date: [2020-01-01, 2024-01-01], curve: [2020-01-01, 2020-02-01, 2024-01-01]}
    town: {category: [x]}
  interactions: [[gain, ward], [town, ward], [age, gain]]
  target: {column: ill, classes: [no, yes]}
`+norm)
		m := mustBind(t, s, "ill", "ward", "age", "gain", "seen", "town")
		rows := [][]string{
			{"yes", "a", "17", "0", "2020-01-01", "x"},
			{"no", "b", "90", "99", "2024-01-01", ""},
			{"no", "c", "26.125", "3", "2022-07-01T12:00", "x"},
			{"no", "", "", "NaN", "", ""},
			{"yes", "b", "1e300", "-inf", "1999-09-09", "x"},
			{"perhaps", "b", "40", "5", "2021-01-01", "x"},
		}
		columns := make([][]float64, len(rows[0]))
		for _, r := range rows {
			for j, cell := range r {
				columns[j] = append(columns[j], m.Column(j).Text(cell))
			}
		}
		hung := 0
		for i, r := range rows {
			want, got := make([]float32, m.Dim()), make([]float32, m.Dim())
			for j := range got {
				got[j] = 7 // stands for values of the previous row, which must be overwritten
			}
			y, ok := m.Encode(want, r)
			z, sound := m.EncodeReadingsWhole(got, columns, i)
			if ok != sound || y != z || !slices.EqualFunc(want, got, sameBits) {
				t.Errorf("norm %q: row %d:\n%v %v %v of texts\n%v %v %v of readings", norm, i, want, y, ok, got, z, sound)
			}
			for _, h := range s.Hats() {
				for _, v := range want[h.First : h.First+h.Width] {
					if v != 0 {
						hung++
					}
				}
			}
		}
		if hung < 10 {
			t.Errorf("%d hats: the rows test nothing", hung)
		}
	}
}

func sameBits(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }

// TestReadingsOfNumbersAtTheBounds tests that readings of numbers encode to the bits of their texts where the squares of a
// row's features sum to more than 1, so that the row is divided once more, and with other columns between numbers.
func TestReadingsOfNumbersAtTheBounds(t *testing.T) {
	above := 0
	for k := 1; k <= 120; k++ {
		d := Definition{Target: Target{Column: "y", Kind: Number, High: 1}}
		if k > 8 && k%2 == 0 {
			d.Norm = 2
		}
		header, cells, readings := []string{"y"}, []string{"1"}, [][]float64{{1}}
		for i := range k {
			c := Column{Name: "x" + strconv.Itoa(i), Kind: Number, High: 1, Indicator: i > 0 && k%5 == 0 && i%3 == 0}
			d.Columns = append(d.Columns, c)
			header, cells, readings = append(header, c.Name), append(cells, strconv.Itoa(i%2)), append(readings, []float64{float64(i%2*2 - 1)})
		}
		s, err := New(d)
		if err != nil {
			t.Fatal(err)
		}
		m, err := s.Bind(header)
		if err != nil {
			t.Fatal(err)
		}
		want, got := make([]float32, m.Dim()), make([]float32, m.Dim())
		if _, ok := m.Encode(want, cells); !ok {
			t.Fatal("malformed row")
		}
		m.EncodeReadingsWhole(got, readings, 0)
		if !slices.Equal(got, want) {
			t.Errorf("%d numbers: %v, want %v", k, got, want)
		}
		if v := float32(1 / s.Scale()); want[m.Dim()-1] != v {
			above++
		}
	}
	if above == 0 {
		t.Error("no row was divided once more")
	}
}
