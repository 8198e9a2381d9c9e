package dataset

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// termed has every kind of column.
const termed = `
schema:
  columns:
    age: {number: [20, 60]}
    gain: {number: [0, 3], transform: log1p, missing: indicator}
    seen: {date: [2020-01-01, 2021-12-31]}
    ward: {category: [heart, skin, eyes]}
    sex: {category: [f, m]}
    town: {hash: 3}
  interactions: [[ward, sex]]
  target: {column: y, number: [-60, 240]}
`

// TestTermsGolden tests terms computed by hand: S = sqrt 8, and half the target's range is 150. The
// difference between two wards holds for women, the reference level of sex, and includes the
// features of ward and sex crossed.
func TestTermsGolden(t *testing.T) {
	s := mustLoad(t, termed)
	list := s.Terms(false)
	unit := 150 / math.Sqrt(8)
	// The features: age, gain, gain=missing, seen, ward (4), sex (3), town (4), ward & sex (12),
	// intercept.
	want := []Term{
		{Name: "age", Column: "age", Per: "age", Parts: []Part{{0, 2 * unit / 40}}},
		{Name: "gain", Column: "gain", Per: "log1p(gain)", Parts: []Part{{1, 2 * unit / math.Log(4)}}},
		{Name: "gain=missing", Column: "gain", Reference: "the midpoint of its bounds", Parts: []Part{{2, unit}}},
		{Name: "seen", Column: "seen", Per: "days(seen - 2020-01-01)", Parts: []Part{{3, 2 * unit / 730}}},
		{Name: "ward=skin", Column: "ward", Reference: "ward=heart",
			Parts: []Part{{5, unit}, {4, -unit}, {18, unit}, {15, -unit}}},
		{Name: "ward=eyes", Column: "ward", Reference: "ward=heart",
			Parts: []Part{{6, unit}, {4, -unit}, {21, unit}, {15, -unit}}},
		{Name: "ward=other", Column: "ward", Reference: "ward=heart",
			Parts: []Part{{7, unit}, {4, -unit}, {24, unit}, {15, -unit}}},
		{Name: "sex=m", Column: "sex", Reference: "sex=f", Parts: []Part{{9, unit}, {8, -unit}, {16, unit}, {15, -unit}}},
		{Name: "sex=other", Column: "sex", Reference: "sex=f",
			Parts: []Part{{10, unit}, {8, -unit}, {17, unit}, {15, -unit}}},
	}
	if diff := cmp.Diff(want, list[:len(want)], cmpopts.EquateApprox(1e-12, 0)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	crossed := Term{
		Name: "ward=eyes & sex=m", Column: "(interactions)", Reference: "ward=heart & sex=f",
		Parts: []Part{{22, unit}, {21, -unit}, {16, -unit}, {15, unit}},
	}
	i := slices.IndexFunc(list, func(x Term) bool { return x.Name == crossed.Name })
	if i < 0 {
		t.Fatalf("no term %q", crossed.Name)
	}
	if diff := cmp.Diff(crossed, list[i], cmpopts.EquateApprox(1e-12, 0)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if n := len(want) + 3*2 + 1; len(list) != n {
		t.Errorf("%d terms: want %d: differences of pairs with a level of reference, and buckets, have none", len(list), n)
	}
}

// TestTermsAddUp tests, for every combination of levels, that terms add up to the score of the encoded row
// minus the contribution of the bucket of a hash column. The test fails if a reference level is left out or
// the term of an interaction is counted twice.
func TestTermsAddUp(t *testing.T) {
	for _, target := range []string{"{column: y, number: [-60, 240]}", "{column: y, classes: [0, 1]}"} {
		s := mustLoad(t, strings.Replace(termed, "{column: y, number: [-60, 240]}", target, 1))
		m := mustBind(t, s, "age", "gain", "seen", "ward", "sex", "town", "y")
		w := make([]float64, s.Dim())
		for j := range w {
			w[j] = math.Sin(float64(3 * j))
		}
		for j, f := range s.Features() {
			if strings.HasPrefix(f, "town") {
				w[j] = 0
			}
		}
		for _, ward := range []string{"heart", "skin", "eyes", "else"} {
			for _, sex := range []string{"f", "m", ""} {
				for _, gain := range []string{"2", ""} {
					row := make([]float32, s.Dim())
					m.Encode(row, []string{"33", gain, "2020-07-01", ward, sex, "York", "0"})
					score := 0.
					for i, v := range row {
						score += w[i] * float64(v)
					}
					score = s.TargetFromUnit(score)
					has := map[string]bool{"ward=" + ward: true, "sex=" + sex: true, "gain=missing": gain == ""}
					has["ward=other"], has["sex=other"] = ward == "else", sex == ""
					sum := 0.
					for _, x := range s.Terms(false) {
						a, b, crossed := strings.Cut(x.Name, " & ")
						switch v := x.Of(w); {
						case x.Per == "age":
							sum += v * 33
						case x.Per == "log1p(gain)" && gain != "":
							sum += v * math.Log1p(2)
						case x.Per == "log1p(gain)":
							sum += v * math.Log1p(3) / 2
						case x.Name == "seen":
							sum += v * 182
						case x.Column == "", crossed && has[a] && has[b], !crossed && has[x.Name]:
							sum += v
						}
					}
					if !(math.Abs(sum-score) <= 150*20*0x1p-22) {
						t.Errorf("%s, %s, gain %q: terms give %v: the row gives %v", ward, sex, gain, sum, score)
					}
				}
			}
		}
	}
}

// TestTermsOfARate tests that the intercept of a rate is the logarithm of the rate at a score of 0.
func TestTermsOfARate(t *testing.T) {
	s := mustLoad(t, strings.Replace(termed, "[-60, 240]", "[0, 8]", 1))
	list, w := s.Terms(true), make([]float64, s.Dim())
	if v := list[len(list)-1].Of(w); !(math.Abs(v-math.Log(s.Target().Rate())) <= 1e-15) {
		t.Errorf("intercept %v: want %v", v, math.Log(s.Target().Rate()))
	}
	w[0] = 1
	if v := list[0].Of(w); !(math.Abs(v-2/math.Sqrt(8)/40) <= 1e-15) {
		t.Errorf("slope %v", v)
	}
}
