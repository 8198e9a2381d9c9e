package audit_test

import (
	"context"
	"math"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/simulate"
	"github.com/stillpoint-dp/stillpoint/lab/audit/testdata/naive"
	"github.com/stillpoint-dp/stillpoint/query"
)

// TestArithmeticNumberOfRecords tests sums under add-or-remove, where the number of records is secret. A
// naive mean divides by this number and uses clip/n as its sensitivity: the scale of its noise reveals the
// number, and a record moves the mean by up to twice clip/n. A session divides by the declared number. Its
// sigma and its charge do not depend on the record, and the record moves the sum by at most the clip norm.
func TestArithmeticNumberOfRecords(t *testing.T) {
	x := []float64{1, 1, 1, 1}
	mean, sigma := naive.MeanOfThose(x, 1, 2)
	other, another := naive.MeanOfThose(append(x, -1), 1, 2)
	if sigma == another {
		t.Errorf("noise %v with and without a record: want the fault, two numbers", sigma)
	}
	if moved := mean - other; moved < 1.5*.25 {
		t.Errorf("a record moved the mean by %v: want the fault, above %v", moved, .25)
	}

	const declared, clip = 4, .5
	b := auditBudget(t, 1, account.AddOrRemove)
	for _, with := range []float64{1, -1} {
		var answers []query.Release
		var events []account.Event
		for n := range 7 {
			targets, rows := make([]float64, n), make([][]float32, n)
			for i := range rows {
				rows[i], targets[i] = []float32{1}, 1
			}
			if n > 0 {
				targets[n-1] = with
			} else {
				rows, targets = [][]float32{{0}}, []float64{0} // a faulty record, which contributes zero
			}
			s, err := simulate.Open(simulate.Config{Rows: rows, Targets: targets, Loss: linear{}, Budget: b, Declared: declared,
				Noiseless: true, Workers: 1})
			if err != nil {
				t.Fatal(err)
			}
			q, err := query.New(b.Charge(), query.GradientAt(s.All(), []float64{0}, clip))
			if err != nil {
				t.Fatal(err)
			}
			r, err := s.Ask(context.Background(), q)
			if err != nil {
				t.Fatal(err)
			}
			answers, events = append(answers, r), append(events, s.Ledger().Events()[0])
		}
		for n, a := range answers {
			if a.Sigma != answers[0].Sigma || a.Charge != answers[0].Charge || events[n] != events[0] {
				t.Errorf("%d records: release %+v, event %+v: want the sigma and event of none, %+v", n, a, events[n], events[0])
			}
			// The sum has n-1 contributions equal to clip and one equal to with.
			want := 0.
			if n > 0 {
				want = clip * (float64(n-1) + with) / declared
			}
			if math.Abs(a.Mean[0]-want) > 1e-6 {
				t.Errorf("%d records: mean %v: want %v, by the declared number", n, a.Mean[0], want)
			}
		}
		if e := events[0]; e.Sensitivity < clip || e.Sensitivity > clip*(1+1e-5) {
			t.Errorf("sensitivity %v: want the clip norm, %v, hardly more", e.Sensitivity, clip)
		}
	}
}
