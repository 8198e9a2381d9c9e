package runfolder

import (
	"bytes"
	"context"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/internal/train"
	"github.com/stillpoint-dp/stillpoint/model"
)

// TestEffectsAreRecovered: the journal of a killed fit with features of effects must give the model of the first stage
// until the effects are found, the same model in terms of the second stage's features from then on, and the iterates of
// the second stage afterwards. The test cuts the journal after each line.
func TestEffectsAreRecovered(t *testing.T) {
	c := config(t, 2000, "number: [0, 100]", "number: [0, 100], curve: 4", "{loss: logistic}",
		`{loss: logistic, features: "effects(2,6)"}`+"\ntrain: {algorithm: preconditioned, steps: 4}")
	var journal []byte
	f, err := fit(context.Background(), c, options{Out: "fit", Software: "test", Step: func(s train.Step) {
		text, err := os.ReadFile(filepath.Join("fit", "journal-1.jsonl"))
		if err != nil {
			t.Error(err)
		}
		journal = text
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, found := f.Model.Schema().Effects(); !found {
		t.Fatal("the model has no features of effects")
	}
	lines := bytes.SplitAfter(bytes.TrimRight(journal, "\x00"), []byte("\n"))
	table := filepath.Join(filepath.Dir(c.DataPath()), "people.csv")
	var before []byte // predictions of the last model of the first stage
	stages := [3]int{}
	for n := 1; n < len(lines); n++ {
		told, err := readJournal(bytes.NewReader(append(bytes.Join(lines[:n], nil), 0, 0)), mostLine)
		if err != nil || told.damaged != 0 {
			t.Fatalf("%d lines: %v, damaged %d", n, err, told.damaged)
		}
		text, cert, err := told.files(context.Background())
		if err != nil || cert == nil {
			t.Fatalf("%d lines: %v", n, err)
		}
		if text == nil {
			continue
		}
		m, err := model.Parse(text)
		if err != nil {
			t.Fatalf("%d lines: %v", n, err)
		}
		var out bytes.Buffer
		if err := m.Predict(context.Background(), table, &out, model.PredictOptions{Margins: true}); err != nil {
			t.Fatal(err)
		}
		_, found := m.Schema().Effects()
		isFound := bytes.Contains(lines[n-1], []byte(`"effects":{`)) && n > 1
		switch {
		case !found:
			stages[0]++
			before = out.Bytes()
		case isFound:
			stages[1]++
			if len(m.Weights()) != len(f.Model.Weights()) || !same(t, out.String(), string(before)) {
				t.Error("the model where the second stage begins predicts otherwise than that where the first ended")
			}
		default:
			stages[2]++
		}
	}
	if stages[0] < 4 || stages[1] != 1 || stages[2] < 2 {
		t.Errorf("models of the first stage, where the second begins, and of the second: %d", stages)
	}
}

// same reports whether two tables of predictions have the same margins, to a millionth. It compares numbers: two texts
// of almost the same number may differ from the third digit on.
func same(t *testing.T, a, b string) bool {
	t.Helper()
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	if len(x) != len(y) || len(x) < 2000 {
		return false
	}
	compared := 0
	for i := range x {
		p, q := strings.Split(x[i], ","), strings.Split(y[i], ",")
		v, errV := strconv.ParseFloat(p[len(p)-1], 64)
		w, errW := strconv.ParseFloat(q[len(q)-1], 64)
		switch {
		case (errV == nil) != (errW == nil):
			return false
		case errV != nil: // the header, and what follows the last row
			continue
		case !(math.Abs(v-w) <= 1e-6*max(1, math.Abs(v))):
			t.Logf("row %d: %v and %v", i, v, w)
			return false
		}
		compared++
	}
	return compared >= 2000
}
