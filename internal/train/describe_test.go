package train

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/describe"
	"github.com/stillpoint-dp/stillpoint/internal/runrecord"
)

// described is a small table with what is true of it.
type described struct {
	text    string
	numbers map[string][]float64 // of each number, the known ones
	missing map[string]float64
	shares  map[string]float64              // by column=value
	groups  map[string]map[string][]float64 // by the value of sex, of each number, the known ones
}

// madeUp returns a table of n rows: a number with two modes, a skewed one over three decades with many zeros, whole
// numbers of which some are missing, dates, and a category. persons is the number of persons, each with a few rows.
func madeUp(n, persons int) described {
	r := rand.New(rand.NewPCG(1, 2))
	d := described{numbers: map[string][]float64{}, missing: map[string]float64{}, shares: map[string]float64{},
		groups: map[string]map[string][]float64{"f": {}, "m": {}}}
	var b strings.Builder
	b.WriteString("weight,cost,visits,seen,sex,ill,person\n")
	counts := map[string]float64{}
	for i := range n {
		sex := []string{"f", "m", "f"}[r.IntN(3)]
		weight := 62 + 9*r.NormFloat64()
		if sex == "m" {
			weight += 20
		}
		weight = math.Round(10*weight) / 10
		cost := 0.
		if r.Float64() < .6 {
			cost = math.Round(100 * math.Exp(4+1.2*r.NormFloat64()))
		}
		visits, cell := float64(r.IntN(12)), "NA"
		if r.Float64() < .9 {
			cell = fmt.Sprint(visits)
			d.numbers["visits"] = append(d.numbers["visits"], visits)
			d.groups[sex]["visits"] = append(d.groups[sex]["visits"], visits)
		}
		day := 18000 + math.Floor(900*r.Float64())
		ill := []string{"no", "yes", "no", "no"}[r.IntN(4)]
		for name, x := range map[string]float64{"weight": weight, "cost": cost, "seen": day} {
			d.numbers[name] = append(d.numbers[name], x)
			d.groups[sex][name] = append(d.groups[sex][name], x)
		}
		counts["sex="+sex]++
		counts["ill="+ill]++
		counts["ill="+ill+" & "+sex]++
		fmt.Fprintf(&b, "%v,%v,%s,%s,%s,%s,p%d\n", weight, cost, cell, dataset.ShowDay(day), sex, ill, i%persons)
	}
	for name, count := range counts {
		if of, group, in := strings.Cut(name, " & "); in {
			d.shares[of+" & "+group] = count / counts["sex="+group]
		} else {
			d.shares[name] = count / float64(n)
		}
	}
	for name, list := range d.numbers {
		d.missing[name] = 1 - float64(len(list))/float64(n)
		slices.Sort(list)
	}
	d.text = b.String()
	return d
}

// describeMadeUp describes a table under a schema without any bounds.
func describeMadeUp(t *testing.T, d described, epsilon float64, more, relation string, records int) *Described {
	t.Helper()
	c := &Config{Reader: strings.NewReader(d.text), Table: "made up", describes: true}
	text := `schema:
  columns: {weight: {number: auto}, cost: {number: auto, transform: log1p}, visits: {number: [0, 20]}, seen: {date: auto}, ` +
		`sex: {category: [f, m]}` + more + `
  target: {column: ill, classes: ["no", "yes"]}
  missing: ["", NA]
`
	if err := c.decode([]byte(text)); err != nil {
		t.Fatal(err)
	}
	delta := 1e-6
	c.Privacy = Privacy{Epsilon: &epsilon, Delta: &delta, Relation: relation, Records: records}
	out, err := c.Describe(t.Context(), DescribeOptions{By: "sex", Level: .95, Options: Options{Software: "a test"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := out.Certificate.Verify(t.Context()); err != nil {
		t.Fatal(err)
	}
	if out.Certificate.Algorithm().Name != describe.Name || out.Certificate.ModelSHA256() != sha(out.Text) ||
		out.Charged > out.Budget.Charge() || out.Charged < out.Budget.Charge()*.999 {
		t.Fatalf("%+v: the certificate must state the description and its charge", out.Certificate.Claim())
	}
	if e := out.Entry; e.Fit != 1 || e.Epsilon != epsilon || e.Algorithm != describe.Name || out.Description.Table != "made up" {
		t.Fatalf("%+v: must be the first fit of the table", e)
	}
	return out
}

// clampedMoments returns the mean and the standard deviation of numbers clamped to a range.
func clampedMoments(list, within []float64) (mean, deviation float64) {
	for _, x := range list {
		mean += min(max(x, within[0]), within[1]) / float64(len(list))
	}
	for _, x := range list {
		off := min(max(x, within[0]), within[1]) - mean
		deviation += off * off / float64(len(list))
	}
	return mean, math.Sqrt(deviation)
}

// facts calls f with each released value of a description of d, its name and the truth: an interval of quantile q
// holds the truth if it holds a number below or at which q of the numbers are.
func facts(d described, out *Described, f func(name string, v describe.Value, holds bool, off float64)) {
	exact := func(name string, v *describe.Value, truth float64) {
		if v != nil {
			f(name, *v, v.Low <= truth && truth <= v.High, v.Estimate-truth)
		}
	}
	for _, c := range out.Columns {
		for _, l := range c.Levels {
			exact(c.Name+"="+l.Name, &l.Share, d.shares[c.Name+"="+l.Name])
			for _, other := range l.Columns {
				for _, k := range other.Levels {
					exact(other.Name+"="+k.Name+" & "+l.Name, &k.Share, d.shares[other.Name+"="+k.Name+" & "+l.Name])
				}
				if list := d.groups[l.Name][other.Name]; list != nil && other.Mean != nil {
					mean, _ := clampedMoments(list, other.Within)
					exact(other.Name+" mean & "+l.Name, other.Mean, mean)
				}
			}
		}
		list := d.numbers[c.Name]
		if list == nil {
			continue
		}
		exact(c.Name+" missing", c.Missing, d.missing[c.Name])
		if c.Mean != nil {
			mean, deviation := clampedMoments(list, c.Within)
			exact(c.Name+" mean", c.Mean, mean)
			exact(c.Name+" deviation", c.Spread, deviation)
		}
		for _, q := range c.Quantiles {
			from := list[max(int(math.Ceil(q.Share*float64(len(list))))-1, 0)]
			to := list[min(int(q.Share*float64(len(list))), len(list)-1)]
			f(fmt.Sprint(c.Name, " ", q.Share), q.Value, q.Low <= to && q.High >= from, q.Estimate-from)
		}
	}
}

// TestDescriptionIsTrue: with hardly any noise every value is that of the table: shares and clamped means to a
// thousandth, and each interval, made three times as wide (of a level of 1 - 4e-9 in place of .95), holds the truth but
// for the table's rounding to the row map.
func TestDescriptionIsTrue(t *testing.T) {
	d := madeUp(3000, 3000)
	out := describeMadeUp(t, d, 1e6, ", person: ignore}", "replace-one", 0)
	seen := 0
	facts(d, out, func(name string, v describe.Value, holds bool, off float64) {
		seen++
		wide := v.High - v.Low
		if !(math.Abs(off) <= .002+wide+.02*math.Abs(v.Estimate)) {
			t.Errorf("%s: %+v: off by %v", name, v, off)
		}
		if !holds && !(math.Abs(off) <= .001+1.5*wide) {
			t.Errorf("%s: %+v does not hold the truth, %v away", name, v, off)
		}
	})
	if seen < 40 {
		t.Errorf("%d values were compared: must be all", seen)
	}
	for _, c := range out.Columns {
		list := d.numbers[c.Name]
		if list == nil {
			continue
		}
		low, high := list[len(list)/100], list[len(list)-1-len(list)/100]
		if c.Bounds == nil || c.Bounds[0] > low || c.Bounds[1] < high || c.Bounds[1]-c.Bounds[0] > 3*(high-low) {
			t.Errorf("%s: bounds %v: must hold nearly all of %v to %v and not much more", c.Name, c.Bounds, low, high)
		}
	}
}

// TestSmallNumbersAreRounded: numbers near the step to which a number without bounds is rounded have a mean and
// quantiles whose intervals hold the truth, alone and in a group, or none. An interval of level .999 is compared at twice
// its width, 6.6 deviations of its noise: each of the 18 misses the truth by chance with a probability below 1e-10.
func TestSmallNumbersAreRounded(t *testing.T) {
	text, mean := "tiny,sex,ill\n", 0.
	for i := range 3000 {
		x := []float64{1e-4, 1.5e-3}[i/10%10/9] // a tenth are large enough to be told apart from 0
		text, mean = text+fmt.Sprintf("%v,%s,%s\n", x, []string{"f", "m"}[i%2], []string{"no", "yes"}[i/2%2]), mean+x/3000
	}
	for _, epsilon := range []float64{4, 20, 1000} {
		delta := 1e-6
		c := &Config{Reader: strings.NewReader(text), Table: "made up", describes: true,
			Privacy: Privacy{Epsilon: &epsilon, Delta: &delta, Relation: "replace-one"}}
		if err := c.decode([]byte("schema:\n  columns: {tiny: {number: auto}, sex: {category: [f, m]}}\n" +
			"  target: {column: ill, classes: [\"no\", \"yes\"]}\n")); err != nil {
			t.Fatal(err)
		}
		out, err := c.Describe(t.Context(), DescribeOptions{By: "sex", Level: .999, Options: Options{Software: "a test"}})
		if err != nil {
			t.Fatal(err)
		}
		seen := 0
		look := func(c describe.Column) {
			if c.Name != "tiny" {
				return
			}
			holds := func(v describe.Value, truth float64) bool {
				half := (v.High - v.Low) / 2
				return v.Low-half <= truth && truth <= v.High+half
			}
			if seen++; c.Mean != nil && !holds(*c.Mean, mean) {
				t.Errorf("epsilon %v: mean %+v: must hold %v", epsilon, *c.Mean, mean)
			}
			if q := c.Quantiles; len(q) > 2 && !holds(q[2].Value, 1e-4) {
				t.Errorf("epsilon %v: median %+v: must hold 1e-4", epsilon, q[2])
			}
		}
		for _, c := range out.Columns {
			look(c)
			for _, l := range c.Levels {
				for _, c := range l.Columns {
					look(c)
				}
			}
		}
		if seen != 3 {
			t.Errorf("%d places: must be the column and two groups", seen)
		}
	}
}

// TestIntervalsHoldTheTruth makes descriptions of one table with noise. Each interval of level .95 must hold the
// table's own value in nearly as many of them. If it does in exactly .95, a value fails by chance with a probability
// below 1e-10, by the binomial law; some hundred values are compared.
func TestIntervalsHoldTheTruth(t *testing.T) {
	runs := 100
	if testing.Short() {
		runs = 30
	}
	d := madeUp(2500, 2500)
	missed, said := map[string]int{}, map[string]int{}
	for range runs {
		out := describeMadeUp(t, d, 4, ", person: ignore}", "replace-one", 0)
		facts(d, out, func(name string, v describe.Value, holds bool, _ float64) {
			if said[name]++; !holds {
				missed[name]++
			}
		})
	}
	if said["weight 0.5"] < runs*9/10 || said["cost mean"] < runs/2 {
		t.Errorf("%v: a description must find numbers of 2500 rows at epsilon 4", said)
	}
	for name, n := range said {
		if k := missed[name]; tail(n, k, .05) < 1e-10 {
			t.Errorf("%s: %d of %d intervals miss the truth", name, k, n)
		}
	}
}

// tail returns the probability of k or more of n events that have the probability p.
func tail(n, k int, p float64) (sum float64) {
	for i := k; i <= n; i++ {
		a, _ := math.Lgamma(float64(n + 1))
		b, _ := math.Lgamma(float64(i + 1))
		c, _ := math.Lgamma(float64(n - i + 1))
		sum += math.Exp(a - b - c + float64(i)*math.Log(p) + float64(n-i)*math.Log1p(-p))
	}
	return sum
}

// TestDescriptionOfPersons: with a unit the shares are of rows, and their number is released. Under add-or-remove the
// declared number of records need not be that of the table.
func TestDescriptionOfPersons(t *testing.T) {
	d := madeUp(3000, 1000)
	out := describeMadeUp(t, d, 1e6, "}\n  unit: {column: person, rows: 4}", "replace-one", 0)
	// The interval holds the number in .95 of all runs: four of its half widths, in all but 1e-14.
	if v := out.Rows; !(math.Abs(v.Estimate-3000) <= 2*(v.High-v.Low)) || v.High-v.Low > 1 {
		t.Errorf("rows %+v: must be 3000", v)
	}
	facts(d, out, func(name string, v describe.Value, _ bool, off float64) {
		if !(math.Abs(off) <= .004+(v.High-v.Low)+.02*math.Abs(v.Estimate)) {
			t.Errorf("%s: %+v: off by %v", name, v, off)
		}
	})
	if out.Certificate.Unit().Column != "person" {
		t.Errorf("%+v: must be of persons", out.Certificate.Unit())
	}
	out = describeMadeUp(t, d, 1e6, ", person: ignore}", "add-or-remove", 2000)
	if v := out.Rows; !(math.Abs(v.Estimate-3000) <= 3) {
		t.Errorf("rows %+v: must be 3000", v)
	}
}

// TestDescriptionTravels: what a fit reads of a description's file is what was written.
func TestDescriptionTravels(t *testing.T) {
	out := describeMadeUp(t, madeUp(500, 500), 100, ", person: ignore}", "replace-one", 0)
	var read Description
	if err := json.Unmarshal(out.Text, &read); err != nil {
		t.Fatal(err)
	}
	again, err := json.MarshalIndent(read, "", " ")
	if err != nil || string(again)+"\n" != string(out.Text) {
		t.Errorf("%v: the description is another one after reading", err)
	}
	if !out.Certificate.Complete() {
		t.Error("the certificate says that releases of the description are lacking")
	}
}

// TestBoundsOfADescription: a fit that names a description has its bounds where it states none, and keeps those that
// it states. Its record names the description by its digest and budget.
func TestBoundsOfADescription(t *testing.T) {
	out := describeMadeUp(t, madeUp(2000, 2000), 50, ", person: ignore}", "replace-one", 0)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, DescriptionFile), out.Text, 0o600); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(dir, "fit.yaml")
	text := `
data: people.csv
described: describe.json
schema:
  columns: {weight: {number: auto}, visits: {number: [0, 30]}, seen: {date: auto}, sex: {category: [f, m]}}
  target: {column: cost, number: auto}
model: {loss: squared(1)}
privacy: {epsilon: 1, delta: 1e-6, relation: replace-one}
`
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := ReadConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	released := map[string][]float64{}
	for _, column := range out.Columns {
		released[column.Name] = column.Bounds
	}
	for _, column := range c.Schema.Columns() {
		want := released[column.Name]
		if column.Name == "visits" {
			want = []float64{0, 30}
		}
		if want != nil && (column.Low != want[0] || column.High != want[1]) {
			t.Errorf("%s: bounds %v to %v: must be %v", column.Name, column.Low, column.High, want)
		}
	}
	if target := c.Schema.Target(); target.Low != released["cost"][0] || target.High != released["cost"][1] {
		t.Errorf("target %+v: must have the bounds %v", target, released["cost"])
	}
	want := &runrecord.Described{SHA256: sha(out.Text), Columns: []string{"cost", "seen", "weight"}, Epsilon: 50, Delta: 1e-6}
	if !reflect.DeepEqual(c.described, want) {
		t.Errorf("%+v: must be %+v", c.described, want)
	}
	if !slices.Equal(unbounded(c.Schema), nil) {
		t.Errorf("%v are left without bounds", unbounded(c.Schema))
	}
}

// TestDescribedLevelIsChecked: a level that no interval can have is refused in the name of the description.
func TestDescribedLevelIsChecked(t *testing.T) {
	for _, level := range []float64{-1, .4, 1, math.NaN()} {
		_, err := config(t, 20).Describe(t.Context(), DescribeOptions{Level: level})
		if want := fmt.Sprintf("describe: level = %v: must be between 0.5 and 0.999", level); err == nil || err.Error() != want {
			t.Errorf("%v: must be %q", err, want)
		}
	}
}
