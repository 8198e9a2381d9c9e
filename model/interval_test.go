package model

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/inference"
)

// TestIntervalsOfRows tests the intervals of predictions of a fit whose formula lacks a level. Rows with that
// level must have empty cells. Each other row must have the interval of its score, which the test adds up from
// the fit's coefficients and its covariance.
func TestIntervalsOfRows(t *testing.T) {
	m := withIntervals(t, nil)
	var out strings.Builder
	path := writeFile(t, "age,region", "5,north", "10,south", "0,east", "5,west - or not", "10,west - or not", "7,west - or not")
	if err := m.Predict(t.Context(), path, &out, PredictOptions{Intervals: true}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")[1:]
	f, s := m.inference, 1/m.schema.Scale()
	// The coefficients and the columns of the covariance are those of age, south, east and the intercept.
	for i, x := range [][4]float64{{0, 0, 0, s}, {s, s, 0, s}, {-s, 0, s, s}} {
		var z, v float64
		for j := range 4 {
			z += x[j] * f.Beta[j]
			for k := range 4 {
				v += x[j] * x[k] * f.Covariance[min(j, k)*4-min(j, k)*(min(j, k)+1)/2+max(j, k)]
			}
		}
		const quantile = 1.6448536269514722 // of level .9
		want := []float64{z, z - quantile*math.Sqrt(v), z + quantile*math.Sqrt(v)}
		cells := strings.Split(lines[i], ",")
		for j, at := range []int{0, 2, 3} {
			got, err := strconv.ParseFloat(cells[at], 64)
			if p := 1 / (1 + math.Exp(-want[j])); err != nil || !(math.Abs(got-p) <= 1e-6) {
				t.Errorf("row %d: cell %d is %s: want %v", i, at, cells[at], p)
			}
		}
	}
	for _, line := range lines[3:] {
		if cells := strings.Split(line, ","); cells[0] == "" || cells[2] != "" || cells[3] != "" {
			t.Errorf("%q: must have a prediction without an interval: the level is not in the formula", line)
		}
	}
}

// TestChangesNameEachDroppedTerm tests the list of terms that the formula of a fit lacks: a number is left out, a
// level counts as the reference level, and the level of unlisted cells does not make the formula short.
func TestChangesNameEachDroppedTerm(t *testing.T) {
	for _, c := range []struct {
		dropped []int
		changes string
		short   bool
	}{
		{[]int{4}, "region=west - or not counts as the reference level", true},
		{[]int{5}, "region=other counts as the reference level", false},
		{[]int{5, 4}, "region=other counts as the reference level; region=west - or not counts as the reference level", true},
	} {
		m := withIntervals(t, func(f *inference.Fit) { f.Dropped = c.dropped })
		list, err := m.Coefficients()
		if err != nil || strings.Join(list.Changes, "; ") != c.changes || list.Short != c.short {
			t.Errorf("dropped %v: %v: %q, short %v", c.dropped, err, list.Changes, list.Short)
		}
	}
	m := withIntervals(t, func(f *inference.Fit) {
		f.Dropped, f.Columns, f.Beta = []int{0}, f.Columns[1:], f.Beta[1:]
		f.Covariance, f.Sampling, f.Metric = f.Covariance[4:], f.Sampling[4:], f.Metric[4:]
		f.LeastDirection = f.LeastDirection[1:]
	})
	if list, err := m.Coefficients(); err != nil || len(list.Changes) != 1 || list.Changes[0] != "age is left out" {
		t.Errorf("%v: %+v: want that age is left out", err, list)
	}
}

// TestLevelsThatLeave: a level that left with its rows is named with their share, is no part of the reference level, and has no
// interval. Where levels count as the reference level and are many beside it, no combination with it has an interval, be it a
// coefficient, the intercept or a row, and the reason says why; a difference between two levels of the formula has the same one.
func TestLevelsThatLeave(t *testing.T) {
	left := withIntervals(t, func(f *inference.Fit) { f.Gone = []inference.Gone{{Feature: 4, Share: .0375}} })
	list, err := left.Coefficients()
	if err != nil || len(list.Changes) != 1 || list.Changes[0] != "region=west - or not is left out with its rows (about 3.8% of all)" || !list.Short {
		t.Errorf("%v: %q", err, list.Changes)
	}
	for share, want := range map[float64]string{.0004: "is left out: the noise shows no rows with it",
		.0006: "is left out with its rows (about 0.1% of all)"} {
		empty := withIntervals(t, func(f *inference.Fit) { f.Gone = []inference.Gone{{Feature: 4, Share: share}} })
		if list, err := empty.Coefficients(); err != nil || list.Changes[0] != "region=west - or not "+want {
			t.Errorf("%v: %v", share, list.Changes)
		}
	}
	if west := list.List[3]; west.State != inference.Absent || !strings.HasPrefix(west.Reason, "a column or a level of it is not in the formula.") {
		t.Errorf("%+v", west)
	}
	if south := list.List[1]; south.State != inference.Reported || south.Reference != "region=north" || south.Reason != "" {
		t.Errorf("%+v", south)
	}
	if !strings.Contains(list.Meaning, " The rows of levels that are listed as left out with their rows weigh almost nothing.") {
		t.Error(list.Meaning)
	}
	whole := withIntervals(t, nil)
	merged := withIntervals(t, func(f *inference.Fit) { f.Merged = []int{1} })
	list, err = merged.Coefficients()
	const change = "differences from region=north have no interval, since these levels count as it"
	if err != nil || len(list.Changes) != 2 || list.Changes[1] != change {
		t.Errorf("%v: %q", err, list.Changes)
	}
	for i, c := range list.List {
		if age := c.Term == "age"; (c.State == inference.Reported) != age || !age && (c.Estimate != 0 ||
			!strings.HasPrefix(c.Reason, "levels that noise hides count as region=north, since without their rows noise")) {
			t.Errorf("%d: %+v", i, c)
		}
	}
	for _, text := range []string{"region=south - region=east", "region=south", "region=south + region=east - 2 region=north"} {
		a, err := whole.Contrast(text)
		if err != nil {
			t.Fatal(err)
		}
		b, err := merged.Contrast(text)
		if between := strings.HasPrefix(text, "region=south - "); err != nil || between != (b.State == inference.Reported) || between && (a.Low != b.Low || a.High != b.High) {
			t.Errorf("%s: %v: %+v, whole %+v", text, err, b, a)
		}
	}
	if list, err := whole.Coefficients(); err != nil || strings.Contains(list.Meaning, "weigh almost nothing") {
		t.Errorf("%v: %s", err, list.Meaning)
	}
}

// TestReferenceNamesDroppedLevels tests that each level of a category is against the reference level and the levels that
// count as it, in the schema's order; more than 2 are counted, and the level of unlisted cells is not named. A contrast that
// does not compare with the reference level says nothing of it.
func TestReferenceNamesDroppedLevels(t *testing.T) {
	for _, c := range []struct {
		kept, dropped []int
		want          string
	}{
		{[]int{2, 3, 4}, []int{5}, "region=north"},
		{[]int{2, 3}, []int{5, 4}, "region=north or west - or not"},
		{[]int{2}, []int{4, 3}, "region=north or east or west - or not"},
		{nil, []int{4, 2, 3}, "region=north or 3 others"},
	} {
		m := withIntervals(t, func(f *inference.Fit) {
			f.Dropped, f.Columns = c.dropped, []inference.Column{{Feature: 0}}
			for _, j := range c.kept {
				f.Columns = append(f.Columns, inference.Column{Feature: j})
			}
			f.Columns = append(f.Columns, inference.Column{Feature: 6, Kept: true})
			k := len(f.Columns)
			f.Beta, f.LeastDirection = slices.Repeat([]float64{.5}, k), slices.Repeat([]float64{.5}, k)
			f.Covariance, f.Sampling, f.Metric = nil, nil, nil
			for i := range k {
				for j := i; j < k; j++ {
					one := 0.
					if i == j {
						one = 1
					}
					f.Covariance, f.Sampling, f.Metric = append(f.Covariance, .04*one), append(f.Sampling, .02*one), append(f.Metric, one)
				}
			}
		})
		list, err := m.Coefficients()
		if err != nil || len(list.List) != 6 {
			t.Fatal(err)
		}
		for i, want := range []string{"", c.want, c.want, c.want, c.want, ""} {
			if got := list.List[i].Reference; got != want {
				t.Errorf("dropped %v: %s is against %q: want %q", c.dropped, list.List[i].Term, got, want)
			}
		}
		said := "the reference level is " + c.want
		if c.want == "region=north" {
			said = ""
		}
		for text, want := range map[string]string{"2 age": "", "region=south": said, "region=south - region=north": said,
			"region=south - region=east": ""} {
			v, err := m.Contrast(text)
			if err != nil || v.State == inference.Reported && v.Reason != want {
				t.Errorf("dropped %v: %s: %v: %q, want %q", c.dropped, text, err, v.Reason, want)
			}
		}
	}
}

// TestAbsorbedIsNamed tests that the change, the term that carries a dropped feature and its contrasts name both
// features and their correlation, and that other terms say nothing of it. A file that names a carrier outside the
// formula is refused.
func TestAbsorbedIsNamed(t *testing.T) {
	m := withIntervals(t, func(f *inference.Fit) {
		f.Dropped, f.Absorbed = []int{4}, []inference.Absorbed{{Feature: 4, By: 0, Correlation: -.9449, Noise: .0345}}
	})
	list, err := m.Coefficients()
	if err != nil || list.Changes[0] != "region=west - or not counts as the reference level; age also carries it (correlation -0.94, noise 0.03), "+
		"and noise may decide which of the two stays" {
		t.Fatalf("%v: %q", err, list.Changes)
	}
	const also = "also carries region=west - or not (correlation -0.94, noise 0.03)"
	for _, c := range list.List {
		want := ""
		if c.Term == "age" {
			want = also
		}
		if c.State == inference.Reported && c.Reason != want {
			t.Errorf("%s: %q, want %q", c.Term, c.Reason, want)
		}
	}
	const together = "region=west - or not and age are correlated (correlation -0.94, noise 0.03), and noise hides which of them has " +
		"the effect. region=west - or not was left out of the formula, and nothing is known of its coefficient apart from that of age"
	var absent []string
	for _, r := range list.Reasons {
		absent = append(absent, string(r.State)+": "+strings.Join(r.Terms, ",")+": "+r.Text)
	}
	if !slices.Contains(absent, "not in the formula: region=west - or not: "+together) {
		t.Errorf("%q", absent)
	}
	if joint, err := m.Joint([]string{"age", "age - region=west - or not"}); err != nil || joint.Reason != "age - region=west - or not: "+together {
		t.Errorf("%v: %q", err, joint.Reason)
	}
	if c, err := m.Contrast("10 age"); err != nil || c.State != inference.Reported || c.Reason != also {
		t.Errorf("%v: %+v", err, c)
	}
	f := &inference.Fit{Level: .95, Method: inference.NotIdentified, Columns: []inference.Column{{Feature: 1}}, Beta: []float64{1},
		Metric: []float64{1}, Records: 5, Reach: 1, Dropped: []int{0}}
	for _, a := range []inference.Absorbed{{Feature: 0, By: 1, Correlation: .5}, {Feature: 2, By: 1, Correlation: .5},
		{Feature: 0, By: 0, Correlation: .5}, {Feature: 0, By: 1, Correlation: 1.5}} {
		f.Absorbed = []inference.Absorbed{a}
		if err := f.Check(3); (err == nil) != (a == inference.Absorbed{Feature: 0, By: 1, Correlation: .5}) {
			t.Errorf("%+v: %v", a, err)
		}
	}
}

// TestIntervalsOfRisksHoldTheBaseline: the interval of a risk is wider by the standard error of the baseline hazard, as a
// shift of the score, at each horizon.
func TestIntervalsOfRisksHoldTheBaseline(t *testing.T) {
	m := timed(t)
	m.inference = &inference.Fit{Level: .9, Method: inference.Wald, Records: 1000, Reach: 2, LeastCurvature: 5,
		Columns: []inference.Column{{Feature: 0}, {Feature: 1, Kept: true}}, Beta: m.weights, Covariance: []float64{.02, 0, .01},
		Sampling: []float64{.01, 0, .01}, Metric: []float64{1, 0, 1}, LeastDirection: []float64{1, 0}}
	for _, errors := range [][]float64{nil, {.2, .3}} {
		target := m.schema.Target()
		target.Hazards, target.HazardErrors = []float64{.25, .75}, errors
		s, err := dataset.New(dataset.Definition{Columns: m.schema.Columns(), Target: target})
		if err != nil {
			t.Fatal(err)
		}
		m.schema = s
		for _, by := range []float64{4, 10} {
			of, err := m.intervals(Risk, nil, by)
			if err != nil {
				t.Fatal(err)
			}
			x := []float32{.3, float32(1 / math.Sqrt2)}
			z := .3*m.weights[0] + float64(x[1])*m.weights[1]
			more := 0.
			if errors != nil { // by the shares of the hazard until the horizon
				if more = .2; by == 10 {
					more = math.Hypot(.25*.2, .75*.3)
				}
			}
			half := 1.6448536 * math.Sqrt(.02*.3*.3+.01*float64(x[1])*float64(x[1])+more*more)
			got := of(x)[0]
			low, high := risk(m.times(), z-half, by), risk(m.times(), z+half, by)
			if !(math.Abs(got.Low-low) <= 1e-6) || !(math.Abs(got.High-high) <= 1e-6) {
				t.Errorf("errors %v, by %v: %+v: must be %v to %v", errors, by, got, low, high)
			}
		}
	}
}
