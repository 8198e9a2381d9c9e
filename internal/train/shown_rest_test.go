package train

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/runrecord"
	"github.com/stillpoint-dp/stillpoint/internal/synthetic"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

// TestMovedIsTheLargestChange compares the change that a certificate states for a monotone column with the changes of the
// margins of rows on and between its knots, with five digits.
func TestMovedIsTheLargestChange(t *testing.T) {
	s, err := dataset.New(dataset.Definition{
		Columns: []dataset.Column{{Name: "age", Kind: dataset.Number, Low: 0, High: 100, Curve: 6, Monotone: dataset.Up},
			{Name: "dose", Kind: dataset.Number, Low: 0, High: 8, Monotone: dataset.Down}},
		Target: dataset.Target{Column: "y", Kind: dataset.Category, Classes: []string{"no", "yes"}}})
	if err != nil {
		t.Fatal(err)
	}
	bound, err := s.Bind([]string{"age", "dose", "y"})
	if err != nil {
		t.Fatal(err)
	}
	w := make([]float64, s.Dim())
	for j := range w {
		w[j] = math.Sin(3 * float64(j+1))
	}
	w[slices.Index(s.Features(), "dose")] = .321
	got, said := Header{Schema: s}.monotone(w, nil)
	changed := func(cells ...string) float64 {
		x, sum := make([]float32, s.Dim()), 0.
		if _, ok := bound.Encode(x, append(cells, "yes")); !ok {
			t.Fatal("not read")
		}
		for j := range x {
			sum += float64(x[j]) * (got[j] - w[j])
		}
		return sum
	}
	var age, dose float64
	for i := range 101 {
		at := fmt.Sprint(i)
		age = max(age, math.Abs(changed(at, "4"))) // a dose in the middle counts 0
		dose = max(dose, math.Abs(changed("0", fmt.Sprint(float64(i)/12.5))-changed("0", "4")))
	}
	if len(said) != 2 || !near(said[0].Moved, age, 4e-5) || !near(said[1].Moved, dose, 4e-5) || age == dose || !(dose > .01) {
		t.Errorf("%+v: must be %v and %v", said, age, dose)
	}
}

// TestSyntheticDistanceIsRecomputed compares the distance that a certificate states for a synthetic table with the Frobenius norm of
// the difference between the released second moment and that of the table's rows.
func TestSyntheticDistanceIsRecomputed(t *testing.T) {
	base := config(t, 10).Schema
	d := base.Dim()
	released := make([]float64, d*d)
	for i := range d {
		for j := range d {
			released[i*d+j] = .02 * math.Cos(float64(i*j)) // no table has it
		}
		released[i*d+i] = .2
	}
	m := runrecord.NewMoment(released, d, .01, .01)
	rows, s, err := synthesised(base, base, optimize.Result{W: make([]float64, d), Trace: runrecord.Trace{Moment: m}}, 7)
	if err != nil {
		t.Fatal(err)
	}
	about, err := m.About0()
	if err != nil {
		t.Fatal(err)
	}
	square := 0.
	for i := range rows {
		square += (rows[i] - about[i]) * (rows[i] - about[i])
	}
	if !near(s.Distance, math.Sqrt(square), 1e-5) || s.Rows != synthetic.Rows {
		t.Errorf("%v of %d rows: must be %v", s.Distance, s.Rows, math.Sqrt(square))
	}
}

// TestFamiliesNeedRecords recomputes the numbers of records from which on a plan's families would be taken: the size is in
// proportion to the records, and the number has two digits, the second rounded up.
func TestFamiliesNeedRecords(t *testing.T) {
	c := config(t, 3, "{loss: logistic}", "{loss: logistic, family: auto}")
	p, seen := planOf(t, c, 1500), 0
	for _, k := range p.Families {
		if k.Refused != "" {
			continue
		}
		seen++
		want := 1. // of the family below which there is none
		if k.Family != Lines {
			x, unit := 1500*map[string]float64{Curves: 40, Interactions: 230}[k.Family]/k.Size, 1.
			for x >= 100 {
				x, unit = x/10, 10*unit
			}
			want = math.Ceil(x) * unit
		}
		if k.Records != want {
			t.Errorf("%s: %v records: must be %v", k.Family, k.Records, want)
		}
	}
	if seen < 2 {
		t.Errorf("%+v", p.Families)
	}
}

// TestNoiseAloneIsTold fits a target that depends on nothing. The certificate's sentence says that single steps show noise
// only, since the comparison with a constant did not show the fit to be better. The longest of the means of the first 1,
// 2, 4, 8 or 15 gradients is three deviations above its noise in one fit of 400 by chance, and then the sentence is another
// one: one of five fits must have it, which fails in one run of 1e13.
func TestNoiseAloneIsTold(t *testing.T) {
	for left := 4; ; left-- {
		c := config(t, 3000, "note: ignore", "note: {hash: 100}", "epsilon: 1,", "epsilon: 0.6,", "model: {loss: logistic}",
			"model: {loss: logistic}\ntrain: {algorithm: gd, steps: 60}")
		var b strings.Builder
		b.WriteString("age,sex,note,sick\n")
		coin := rand.New(rand.NewPCG(1, 2))
		for i := range 3000 {
			fmt.Fprintf(&b, "%d,%s,%d,%d\n", coin.IntN(100), []string{"f", "m"}[i%2], coin.IntN(1000), coin.IntN(2))
		}
		if err := os.WriteFile(c.DataPath(), []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := c.Fit(t.Context(), Options{Software: "test"})
		if err != nil {
			t.Fatal(err)
		}
		var run runrecord.Run
		if err := json.Unmarshal(f.Certificate.Algorithm().Plan, &run); err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(run.Arrived, "single steps show noise only, which says nothing of the model") {
			return
		}
		if late := f.Result.Late; left == 0 || late.FirstGradient <= late.FirstNoise*(1+3/math.Sqrt(2*106)) {
			t.Fatalf("%+v, %+v: %q", late, f.Compared, run.Arrived)
		}
	}
}

// TestReportedIsOfSimulations tests which share of the coefficients a plan expects to have an interval: that of the simulations
// (lab/results/inference.md) of the fit's size, n mu/k^1.5 for k columns of a logistic regression of common classes.
func TestReportedIsOfSimulations(t *testing.T) {
	c := config(t, 10, "model: {loss: logistic}", "model: {loss: logistic}\ninference: {level: 0.9}")
	l, err := c.loss()
	if err != nil {
		t.Fatal(err)
	}
	a, err := c.intervals(l)
	if err != nil {
		t.Fatal(err)
	}
	const share = .64
	for size, want := range map[float64]float64{1000: 1, 101: 1, 99: .95, 46: .95, 44: .55, 26: .55, 24: .25, 13: .25, 11: .1, 6.1: .1,
		5.9: 0} {
		whole, err := account.NewBudget(2, 1e-6, account.ReplaceOne)
		if err != nil {
			t.Fatal(err)
		}
		k := float64(len(a.Columns))
		p, _, err := c.Problem(whole, math.Ceil(size*math.Sqrt(k*k*k)/(.8*whole.Mu())))
		if err != nil {
			t.Fatal(err)
		}
		if e := expected(a, p, share, false); e.Reported != want || e.Columns != len(a.Columns) || e.Level != .9 {
			t.Errorf("size %v: %+v: must be %v", size, e, want)
		}
	}
}

// TestHardlyVaryingIsToldToTheLetter tests the warning's number for ages that are 30 or 32 of 0 to 100: their standard
// deviation is 1. Much noise adds three times its own to the variance.
func TestHardlyVaryingIsToldToTheLetter(t *testing.T) {
	s := config(t, 10).Schema
	bound, err := s.Bind([]string{"age", "sex", "note", "sick"})
	if err != nil {
		t.Fatal(err)
	}
	d := s.Dim()
	matrix := make([]float64, d*d)
	for i := range 4 {
		x := make([]float32, d)
		if _, ok := bound.Encode(x, []string{[]string{"30", "32"}[i/2], []string{"f", "m"}[i%2], "", "1"}); !ok {
			t.Fatal("not read")
		}
		for j := range d {
			for k := range d {
				matrix[j*d+k] += float64(x[j]) * float64(x[k]) / 4
			}
		}
	}
	unit := s.Scale() * s.Scale()
	for sigma, want := range map[float64]float64{1e-9: 1, 1e-4: 0} {
		if want == 0 { // in half widths: the mean is -.38, and the share of the rows 1
			square := math.Hypot(sigma, sigma*(.0004+.38*.38))
			first := math.Hypot(sigma/math.Sqrt2, .38*sigma)
			want = 50 * math.Sqrt(.0004+3*math.Hypot(square, 2*.38*first))
		}
		list := qualityWarnings(s, runrecord.NewMoment(matrix, d, sigma/unit, .01))
		text := fmt.Sprintf("its standard deviation is at most %.2g%% of the width of its bounds", want)
		if len(list) != 1 || !strings.Contains(list[0].Text, text) {
			t.Errorf("%v: must say %q", list, text)
		}
	}
}

// TestExpectedOfClasses tests that the forecast of several classes counts the coefficients of each class but the first, and
// takes the shares that the schema states.
func TestExpectedOfClasses(t *testing.T) {
	const two = `target: {column: sick, classes: ["0", "1"]}`
	for share, assumed := range map[string]string{"": "equally common classes", ", share: [.2, .3, .5]": ""} {
		c := config(t, 200, two, `target: {column: sick, classes: ["0", "1", "2", "3"]`+strings.Replace(share, ".5", ".4, .1", 1)+"}",
			"model: {loss: logistic}", "model: {loss: softmax}\ninference: {level: 0.9}")
		l, err := c.loss()
		if err != nil {
			t.Fatal(err)
		}
		a, err := c.intervals(l)
		if err != nil {
			t.Fatal(err)
		}
		b, err := account.NewBudget(1, 1e-6, account.ReplaceOne)
		if err != nil {
			t.Fatal(err)
		}
		p, err := optimize.NewProblem(l, b, optimize.Stated(c.Schema.Dim(), 3000))
		if err != nil {
			t.Fatal(err)
		}
		e := expected(a, p, .9, false)
		if e.Classes != 4 || e.Assumed != assumed || e.Columns != len(a.Columns) || (share != "") != (len(a.Known.Shares) == 4) {
			t.Errorf("%q: %+v, shares %v", share, e, a.Known.Shares)
		}
		e.Columns = 8
		if text := e.String(); !strings.HasPrefix(text, "90% confidence intervals of up to 7 coefficients of each of 3 classes: of a typical") {
			t.Error(text)
		}
	}
}
