package report

import (
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/runrecord"
	"github.com/stillpoint-dp/stillpoint/model"
)

// TestAttackTableInNumbers compares the table of the best attack with the closed form: at a share x of false alarms it
// recognises Phi(Phi^-1(x) + mu) at most, rounded up, and a coin x.
func TestAttackTableInNumbers(t *testing.T) {
	fit := read(t, people(t, "p", 4))
	mu := fit.Certificate.Claim().Mu
	a, err := fit.attack(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	table := a.table()
	for i, x := range []float64{.001, .01, .05, .1, .5} {
		cells := table.Rows[i].Cells
		coin := fmt.Sprint(100*x) + " %"
		if cells[0] != coin || cells[2] != coin {
			t.Errorf("row %d: %q: must be about %s", i, cells, coin)
		}
		z := root(-10, 10, func(z float64) float64 { return share(z) - x })
		want := 100 * share(z+mu)
		if got := number(t, strings.TrimSuffix(cells[1], " %")); got < want-1e-9 || got > want+.11 {
			t.Errorf("row %d: %v: must be %v, rounded up", i, got, want)
		}
	}
}

// TestPartsToTheLetter tests numbers beside the page's main figures: the bounds of a target, the axis of charges, the
// caption of a long table of columns, the residual of an eigenvalue, and the number of points of a choice.
func TestPartsToTheLetter(t *testing.T) {
	f := people(t, "p", 4)
	f.schema.Target = dataset.Target{Column: "height", Kind: dataset.Number, Low: 12.5, High: 345}
	f.loss = "huber(0.1)"
	factIs(t, read(t, f).asked(), "To be predicted", "height", "number from 12.5 to 345")

	fit := read(t, people(t, "p", 4))
	mu := fit.Certificate.Claim().Mu
	plot := fit.chargePlot()
	if y := plot.Y; y.Min != 0 || !(math.Abs(y.Max-1.08*mu*mu) <= 1e-12) || plot.References[0].Y[0] != mu*mu {
		t.Errorf("%+v, %+v: must end a little above %v", y, plot.References, mu*mu)
	}

	f = people(t, "p", 4)
	for i := range mostRows {
		f.schema.Columns = append(f.schema.Columns, dataset.Column{Name: fmt.Sprint("n", i), Kind: dataset.Number, High: 1})
	}
	fit = read(t, f)
	table := fit.columns(fit.Model.Schema())
	if want := fmt.Sprintf(" The first %d of %d are shown; all are in ", mostRows, mostRows+4); len(table.Rows) != mostRows ||
		!strings.Contains(table.Caption, want) {
		t.Errorf("%d rows, %q: must say %q", len(table.Rows), table.Caption, want)
	}

	fit = read(t, people(t, "p", 4))
	fit.Public = &model.Metrics{N: 9, LeastEigenvalue: new(.01), EigenvalueResidual: new(.000345)}
	factIs(t, fit.public(), "Least eigenvalue", "0.01", "of the Hessian, up to 0.000345; to second order the loss falls along "+
		"no direction")

	for chosen, want := range map[int]string{7: "the result was chosen among 7 points by looking at noisy numbers", 1: ""} {
		trace := runrecord.Trace{Noise: []float64{.1, .2}, StepSizes: []float64{.5}, Chosen: chosen}.Settled()
		n, err := derive(&trace)
		if err != nil || n.loose != want {
			t.Errorf("chosen among %d: %q, %v", chosen, n.loose, err)
		}
	}
}

// TestUnitsAreCitedToTheLetter tests that the paragraph for papers names the privacy unit, and the number of its rows that a
// fit uses at most.
func TestUnitsAreCitedToTheLetter(t *testing.T) {
	for relation, want := range map[account.Relation]string{
		account.ReplaceOne: "for tables that differ in all rows of one ward, replaced by those of another " +
			"(their number, 10,000, is public) (replace-one). Of each 7 rows were used at most.",
		account.AddOrRemove: "for tables that differ by all rows of one ward, added or removed (declared number: " +
			"10,000) (add-or-remove). Of each 7 rows were used at most.",
	} {
		f := people(t, "p", 4)
		f.unit = account.Unit{Column: "ward", Rows: 7, Count: account.Mean}
		f.budget = budget(t, relation)
		f.events = gradients(t, 4, f.budget)
		f.schema.Where, f.schema.Unit = "", dataset.Unit{Column: "ward", Rows: 7}
		if text := read(t, f).paragraph(); !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// TestNetworksHaveNoCoefficients tests the page's text about a model whose weights are no terms of a sum: a hidden layer of
// three units of d features, and four weights after it.
func TestNetworksHaveNoCoefficients(t *testing.T) {
	f := people(t, "p", 4)
	schema, err := dataset.New(f.schema)
	if err != nil {
		t.Fatal(err)
	}
	f.loss, f.dims = "network(3,tanh,logistic)", 3*schema.Dim()+4
	fit := read(t, f)
	s := fit.coefficients(fit.noise())
	want := Text(fmt.Sprintf("The model has %d weights, which are not the terms of a sum over features. The loss "+
		"network(3,tanh,logistic) defines their meaning.", f.dims))
	if len(s.Parts) != 1 || s.Parts[0] != Part(want) {
		t.Errorf("%v: must be %v", s.Parts, want)
	}
}

// TestMeansOfCurvesAreTold tests the note over pictures of curves: it says over which rows the mean of a curve is 0, those
// of the table if a run released their means, also where an interaction is the only one between bounds.
func TestMeansOfCurvesAreTold(t *testing.T) {
	const rows, bounds = "minus its mean over the rows, as computed", "minus its mean between the bounds, since no means over the rows were released."
	w := curvedBowl(t)
	weights, l := w.fit(rand.New(rand.NewPCG(2, 1)))
	released := w.fitted(t, weights, l)
	curve := people(t, "p", 4)
	curve.schema.Columns[0].Curve = 4
	pair := people(t, "p", 4)
	pair.schema.Interactions = []dataset.Interaction{{"p1", "p3"}}
	for _, c := range []struct {
		fit     *Fit
		is, not string
	}{{released, rows, bounds}, {read(t, curve), bounds, rows}, {read(t, pair), bounds, rows}} {
		s, ok := c.fit.curves(runNoise{why: errTest})
		if !ok {
			t.Fatal("no curves")
		}
		if text := fmt.Sprint(s.Parts[0]); !strings.Contains(text, c.is) || strings.Contains(text, c.not) {
			t.Errorf("%q: must say %q", text, c.is)
		}
	}
}

// TestLedgerSumToTheLetter tests the sum of a table's fits: two equal budgets are together one of sqrt(2) times the mu.
func TestLedgerSumToTheLetter(t *testing.T) {
	f := people(t, "p", 4)
	f.ledger = entries(f.budget, "/d/t.csv", "/d/t.csv")
	fit := read(t, f)
	mu := math.Sqrt2 * f.budget.Mu()
	want := root(0, 20, func(epsilon float64) float64 { return 1e-6 - profile(mu, epsilon) })
	for _, part := range fit.ledger(t.Context()) {
		if text := fmt.Sprint(part); strings.Contains(text, "All 2 fits of this table together cost ε = ") {
			_, rest, _ := strings.Cut(text, "ε = ")
			epsilon, rest, _ := strings.Cut(rest, " ")
			if got := number(t, epsilon); got < want || got > 1.003*want || !strings.HasPrefix(rest, "at δ = 10⁻⁶. This is") {
				t.Errorf("%s: epsilon must be %v", text, want)
			}
			return
		}
	}
	t.Error("no sum")
}

// TestPagesNumberTheirParts tests that sections and their parts are numbered from 1.
func TestPagesNumberTheirParts(t *testing.T) {
	plot := Plot{Title: "T", X: Axis{Label: "x"}, Y: Axis{Label: "y"}, Series: []Series{{Name: "s", X: []float64{1, 2}, Y: []float64{1, 2}}}}
	var b strings.Builder
	if err := (Page{Title: "P", Sections: []Section{{Title: "A", Parts: []Part{plot}}, {Title: "B",
		Parts: []Part{Text("t"), plot}}}}).Render(&b); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{`id="s1"`, `id="s2"`, `s1-1`, `s2-2`} {
		if !strings.Contains(b.String(), id) {
			t.Errorf("no %s on the page", id)
		}
	}
	for _, id := range []string{`id="s3"`, `s1-2`, `s2-3`, `id="s0"`} {
		if strings.Contains(b.String(), id) {
			t.Errorf("%s on the page", id)
		}
	}
}

// TestNumbersStandRight tests every table of a page: a column is set at its right end if and only if it has
// numbers, with a power of ten or as an interval.
func TestNumbersStandRight(t *testing.T) {
	is := regexp.MustCompile(`^[+−-]?(10|[0-9][0-9,.]*(×10)?)[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]*( ?%)?( to [−-]?[0-9,.]+)?$`)
	f := people(t, "p", 4)
	f.ledger = entries(f.budget, "/d/t.csv", "/d/t.csv")
	tables := 0
	for _, f := range []folder{f, withIntervals(t, .04, .01, 2)} {
		page, err := read(t, f).Page(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range page.Sections {
			for _, part := range s.Parts {
				table, ok := part.(Table)
				if !ok || len(table.Rows) == 0 {
					continue
				}
				tables++
				for j, c := range table.Columns {
					numbers := slices.ContainsFunc(table.Rows, func(r Row) bool { return is.MatchString(r.Cells[j]) })
					if numbers != c.Number && c.Name != "Bounds or values" { // of which some are names
						t.Errorf("%s: column %q is set as numbers: %v: first cell %q", table.Title, c.Name, c.Number, table.Rows[0].Cells[j])
					}
				}
			}
		}
	}
	if tables < 6 {
		t.Errorf("%d tables", tables)
	}
}

// TestHeatByTheLargestCell tests the colours of a heat map: their strength is .1, and .55 times the share of the cell of the
// largest absolute value, which is of a negative one here; cells that noise hides have none.
func TestHeatByTheLargestCell(t *testing.T) {
	text := string(Heat{Title: "t", Rows: []string{"a"}, Columns: []string{"p", "q", "r", "s"}, Cells: [][]HeatCell{{{Value: -2, Text: "-2"},
		{Value: 1, Text: "1"}, {Value: .5, Text: ".5", Faint: true}, {Value: 0, Text: "0"}}}}.draw("id"))
	var got []string
	for _, m := range regexp.MustCompile(`class="fill(\d)" fill-opacity="([0-9.]+)"`).FindAllStringSubmatch(text, -1) {
		got = append(got, m[1]+" "+m[2])
	}
	if want := []string{"1 0.65", "0 0.38", "0 0.1"}; !slices.Equal(got, want) {
		t.Errorf("%q: must be %q", got, want)
	}
}

// TestClipIsStatedToTheLetter tests the sentence about the clip of gradients: with what it holds back at the result, where
// that was released, and otherwise only for the Huber loss that it is left out.
func TestClipIsStatedToTheLetter(t *testing.T) {
	const unknown = " The deviations leave out the bias of clipped gradients. How large it is does not follow from the releases " +
		"of this fit."
	const known = " The deviations count how far the clip of gradients may move a coefficient, which follows from the released " +
		"second moment, the model and the last clip norm. If this is more than 1.5 deviations, no deviation is stated. In tests " +
		"with uncommon outcomes at uncommon levels, 90% or more of the stated coefficients, and 84% or more of those of levels, " +
		"were within two deviations of the fit of the same rows without privacy."
	for _, c := range []struct {
		loss        string
		held, noise float64
		want        string
	}{
		{"huber(0.1)", .0456, .0123, " At the result, squared gradient norms exceed the squared clip norm by 0.0456 of it on average " +
			"(noise 0.0123). The clip may therefore move coefficients by more than their deviation."},
		{"squared(1)", .0345, .0123, " At the result, squared gradient norms exceed the squared clip norm by 0.0345 of it on average " +
			"(noise 0.0123). This shows no bias by the clip."},
		{"huber(0.1)", 0, 0, " The deviations leave out the effect of the clip of gradients, which is not released here. With a " +
			"larger clip_scale this effect is smaller and the noise larger."},
		{"squared(1)", 0, 0, ""},
		{"poisson(1)", 0, 0, unknown},
		{"logistic", 0, 0, unknown},
	} {
		f := people(t, "p", 4)
		if c.loss != "logistic" {
			f.schema.Target = dataset.Target{Column: "height", Kind: dataset.Number, Low: 12.5, High: 345}
		}
		f.loss = c.loss
		fit := read(t, f)
		fit.plan.Trace = new(runrecord.Trace{}.WithClipped(c.held, c.noise))
		if got := fit.clipped(); got != c.want {
			t.Errorf("%s: %q: must be %q", c.loss, got, c.want)
		}
		if c.want != unknown {
			continue
		}
		fit.plan.Trace.Moment = momentOf(fit.Model.Schema().Dim(), 2)
		if got := fit.clipped(); got != known {
			t.Errorf("%s with a clip norm: %q: must be %q", c.loss, got, known)
		}
	}
}

// TestLongLedgersShowTheLast tests the table of a ledger of more reservations than it shows: it has the last, and marks this fit's.
func TestLongLedgersShowTheLast(t *testing.T) {
	f := people(t, "p", 4)
	f.ledger = entries(f.budget, "/d/t.csv")
	fit := read(t, f)
	one := fit.Reservations[0]
	for i := 1; i < mostRows+7; i++ {
		next := one
		next.Fit, next.Algorithm = i+1, fmt.Sprint("number ", i+1)
		fit.Reservations = append(fit.Reservations, next)
	}
	rows := partOf(t, Section{Parts: fit.ledger(t.Context())}, func(t Table) bool { return true }).Rows
	if len(rows) != mostRows || rows[0].Cells[1] != "number 8" || rows[mostRows-1].Cells[1] != fmt.Sprint("number ", mostRows+7) ||
		rows[mostRows-1].Cells[5] != "settled (this one)" || rows[mostRows-2].Cells[5] != "settled" {
		t.Errorf("%d rows, from %q to %q", len(rows), rows[0].Cells, rows[len(rows)-1].Cells)
	}
}

// TestOwnReservation tests which reservation is taken for that of the fit: the last with its epsilon, delta and relation.
func TestOwnReservation(t *testing.T) {
	f := people(t, "p", 4)
	f.ledger = entries(f.budget, "first.csv", "own.csv")
	fit := read(t, f)
	for name, change := range map[string]func(*Reservation){
		"epsilon":  func(r *Reservation) { r.Epsilon *= 2 },
		"delta":    func(r *Reservation) { r.Delta *= 2 },
		"relation": func(r *Reservation) { r.Relation = account.AddOrRemove },
	} {
		other := fit.Reservations[1]
		other.Data = "other.csv"
		change(&other)
		of := &Fit{Certificate: fit.Certificate, Reservations: append(slices.Clone(fit.Reservations), other)}
		if own, ok := of.own(); !ok || own.Data != "own.csv" {
			t.Errorf("a later reservation of another %s: %q, %v", name, own.Data, ok)
		}
		if _, ok := (&Fit{Certificate: fit.Certificate, Reservations: []Reservation{other}}).own(); ok {
			t.Errorf("a reservation of another %s is taken for that of the fit", name)
		}
	}
}

// TestConstantsLossFromThreeDeviations tests that the loss of the constant is told from three deviations of its noise on.
func TestConstantsLossFromThreeDeviations(t *testing.T) {
	f := read(t, people(t, "p", 4))
	for sigma, told := range map[float64]bool{.8 / 2.9: false, .8 / 3.1: true, .8 / 29: true, 0: false} {
		f.plan.Compared = &runrecord.Compared{Difference: .2, Sigma: .3, Least: -1.5, Most: 2.5, Constant: .8, ConstantSigma: sigma}
		s, ok := f.quality()
		if !ok {
			t.Fatal("no comparison")
		}
		if got := strings.Contains(fmt.Sprint(s.Parts), "Loss of the constant"); got != told {
			t.Errorf("a loss of .8 with noise of %v: told %v", sigma, got)
		}
	}
}
