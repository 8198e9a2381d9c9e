package dataset

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// TestExplainGolden tests coefficients computed by hand: S = 2; age in [0, 10] has slope w (2/10)/2
// and moves the intercept by -w/2; log1p(gain) in [0, log 4] has slope w (2/log 4)/2 and also moves
// the intercept by -w/2; offsets and the intercept are halved.
func TestExplainGolden(t *testing.T) {
	got := mustLoad(t, people).Explain([]float64{10, 2, 4, 6, 8, 1}, false)
	want := []Coefficient{
		{"age", "age", "age", 1},
		{"gain", "gain", "log1p(gain)", 1 / math.Ln2},
		{"work=private", "work", "", 2},
		{"work=state", "work", "", 3},
		{"work=other", "work", "", 4},
		{"(intercept)", "", "", .5 - 5 - 1},
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(1e-15, 0)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestExplainAddsUp tests that the sum that Explain documents equals the score of the encoded row.
func TestExplainAddsUp(t *testing.T) {
	for _, target := range []string{"{column: y, classes: [0, 1]}", "{column: y, number: [-60, 240]}"} {
		s := mustLoad(t, strings.Replace(people, "{column: y, classes: [0, 1]}", target, 1))
		m := mustBind(t, s, peopleHeader...)
		rapid.Check(t, func(t *rapid.T) {
			w := rapid.SliceOfN(rapid.Float64Range(-5, 5), s.Dim(), s.Dim()).Draw(t, "w")
			age := rapid.Float64Range(0, 10).Draw(t, "age")
			gain := rapid.Float64Range(0, 3).Draw(t, "gain")
			work := rapid.SampledFrom([]string{"private", "state", "other"}).Draw(t, "work")

			row := make([]float32, s.Dim())
			m.Encode(row, []string{"train", "1", showFloat(age), showFloat(gain), work, ""})
			score := 0.0
			for i, v := range row {
				score += w[i] * float64(v)
			}
			score = s.TargetFromUnit(score)

			sum := 0.0
			for _, c := range s.Explain(w, false) {
				switch {
				case c.Per == "age":
					sum += c.Value * age
				case c.Per == "log1p(gain)":
					sum += c.Value * math.Log1p(gain)
				case c.Column == "" || c.Feature == "work="+work:
					sum += c.Value
				}
			}
			// The tolerance covers the rounding of features to float32: 6 terms of at most 5/2, times
			// 150 for the regression.
			if tolerance := 150 * 6 * 2.5 * 0x1p-23; !(math.Abs(sum-score) <= tolerance) {
				t.Fatalf("coefficients give %v: the row gives %v", sum, score)
			}
		})
	}
}

func TestExplainPanicsOnShape(t *testing.T) {
	defer func() {
		if r := recover(); r == nil || !strings.Contains(r.(string), strconv.Itoa(5)) {
			t.Errorf("panic %v", r)
		}
	}()
	mustLoad(t, people).Explain(make([]float64, 5), false)
}
