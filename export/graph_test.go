package export

import (
	"encoding/json"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/loss"
)

// TestFormsOfGraphs tests, for a model of every loss over schemas of every form, that a graph whose numbers are one
// input gives the outputs of the graph with an input for each column, bit by bit, and that a graph in float32 gives
// those outputs within its rounding.
func TestFormsOfGraphs(t *testing.T) {
	coin := rand.New(rand.NewPCG(3, 4))
	for _, l := range losses(t) {
		schemas := kinds(t, suited(l))
		for _, name := range slices.Sorted(maps.Keys(schemas)) {
			s, tolerance := schemas[name], 2e-4
			if name == "curves" || name == "bent" {
				tolerance = 5e-3 // two knots lie within 1/300 of the range: a share of their distance has that much more error
			}
			m := modelOf(t, l, s, coin)
			_, table := cells(s, 40, coin)
			in := inputs(t, s, table)
			unit := max(1, (s.Target().High-s.Target().Low)/32) // a number is a sum of terms in units of its bounds
			outputs := func(form Graph) map[string]tensorOf {
				file, err := ONNX(m, form)
				if err != nil {
					t.Fatal(err)
				}
				if form.Matrix {
					return evaluated(file, asMatrix(t, s, file, in))
				}
				return evaluated(file, in)
			}
			want, matrix := outputs(Graph{}), outputs(Graph{Matrix: true})
			for form, got := range map[string]map[string]tensorOf{"float32": outputs(Graph{Single: true}),
				"float32 matrix": outputs(Graph{Matrix: true, Single: true})} {
				for output, w := range want {
					for i, x := range w.numbers {
						if got := matrix[output].numbers[i]; got != x {
							t.Fatalf("%s, %s: %s of row %q is %v in the matrix's graph: must be %v", l.Name(), name, output,
								table[i*len(table)/len(w.numbers)], got, x)
						}
						if y := got[output].numbers[i]; !(math.Abs(y-x) <= tolerance*max(unit, math.Abs(x))) {
							t.Errorf("%s, %s, %s: %s of row %q is %v: must be %v", l.Name(), name, form, output,
								table[i*len(table)/len(w.numbers)], y, x)
						}
					}
					if len(got[output].numbers) != len(w.numbers) || len(got[output].words) != len(w.words) ||
						!slices.Equal(matrix[output].words, w.words) {
						t.Errorf("%s, %s, %s: output %s has other dimensions or classes", l.Name(), name, form, output)
					}
				}
			}
		}
	}
}

// asMatrix returns the inputs with all numbers in one, in the order that the file states.
func asMatrix(t *testing.T, s *dataset.Schema, file []byte, in map[string]tensorOf) map[string]tensorOf {
	t.Helper()
	out := map[string]tensorOf{}
	for _, c := range s.Columns() {
		if c.Kind == dataset.Category {
			out[c.Name] = in[c.Name]
		}
	}
	for _, v := range decoded(file)[14] {
		entry := decoded(v.([]byte))
		if !strings.HasPrefix(entry.word(1), "numbers") {
			continue
		}
		var names []string
		if err := json.Unmarshal([]byte(entry.word(2)), &names); err != nil {
			t.Fatal(err)
		}
		var parts []tensorOf
		for _, name := range names {
			parts = append(parts, in[name])
		}
		out[entry.word(1)] = concatenated(parts, 1)
	}
	return out
}

// TestInputOfNumbers tests the name of the input of numbers, where a column has it, and the order of its columns.
func TestInputOfNumbers(t *testing.T) {
	s, err := dataset.New(dataset.Definition{Target: suited(loss.Logistic()), Columns: []dataset.Column{
		{Name: "b", Kind: dataset.Number, Low: 0, High: 1}, {Name: "numbers", Kind: dataset.Category, Categories: []string{"x"}},
		{Name: `a "q"`, Kind: dataset.Number, Low: 0, High: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	file, err := ONNX(modelOf(t, loss.Logistic(), s, rand.New(rand.NewPCG(1, 2))), Graph{Matrix: true})
	if err != nil {
		t.Fatal(err)
	}
	facts := map[string]string{}
	for _, v := range decoded(file)[14] {
		entry := decoded(v.([]byte))
		facts[entry.word(1)] = entry.word(2)
	}
	if want := `["b","a \"q\""]`; facts["numbers_"] != want {
		t.Errorf("numbers_ = %s: must be %s", facts["numbers_"], want)
	}
}

// TestNumbersBeyondFloat32 tests that a bound that float32 cannot hold is refused there, and only there.
func TestNumbersBeyondFloat32(t *testing.T) {
	for number, column := range map[string]dataset.Column{
		"1e+39":  {Name: "x", Kind: dataset.Number, Low: 0, High: 1e39},
		"-1e+39": {Name: "x", Kind: dataset.Number, Low: -1e39, High: 0},
	} {
		s, err := dataset.New(dataset.Definition{Target: suited(loss.Logistic()), Columns: []dataset.Column{column}})
		if err != nil {
			t.Fatal(err)
		}
		m := modelOf(t, loss.Logistic(), s, rand.New(rand.NewPCG(1, 2)))
		if _, err := ONNX(m, Graph{Matrix: true}); err != nil {
			t.Error(err)
		}
		if _, err := ONNX(m, Graph{Single: true}); err == nil || !strings.Contains(err.Error(), "the model has the number "+number+",") {
			t.Errorf("%v: must name the number", err)
		}
	}
}

// TestOutputsHaveTheirTypes tests the stated type and width of each output: numbers are of the graph's type, one for each
// row or for each class, and classes are texts.
func TestOutputsHaveTheirTypes(t *testing.T) {
	const float32Kind, textKind, float64Kind = 1, 8, 11 // of the standard
	for _, l := range losses(t) {
		m := modelOf(t, l, kinds(t, suited(l))["numbers"], rand.New(rand.NewPCG(1, 2)))
		for kind, form := range map[int]Graph{float64Kind: {}, float32Kind: {Single: true}} {
			file, err := ONNX(m, form)
			if err != nil {
				t.Fatal(err)
			}
			outputs := decoded(decoded(file)[7][0].([]byte))[12]
			for _, v := range outputs {
				entry := decoded(v.([]byte))
				tensor := decoded(decoded(entry[2][0].([]byte))[1][0].([]byte))
				want := kind
				if entry.word(1) == "class" {
					want = textKind
				}
				dims := decoded(tensor[2][0].([]byte))[1]
				width := decoded(dims[len(dims)-1].([]byte)).int(1)
				if most := max(loss.ClassCount(l), 1); tensor.int(1) != want || width != 1 && (width != most || want == textKind) {
					t.Errorf("%s: output %s has the type %d and the width %d: must have the type %d", l.Name(), entry.word(1),
						tensor.int(1), width, want)
				}
			}
			if len(outputs) < 2 {
				t.Errorf("%s: %d outputs", l.Name(), len(outputs))
			}
		}
	}
}
