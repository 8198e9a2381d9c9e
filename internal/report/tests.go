package report

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/mathext"

	"github.com/stillpoint-dp/stillpoint/internal/inference"
	"github.com/stillpoint-dp/stillpoint/internal/safetext"
	"github.com/stillpoint-dp/stillpoint/model"
)

// Test is the joint Wald test of a column: of the hypothesis that all its coefficients in the fit's formula are 0, all
// levels of a category or the line and all knots of a curve.
type Test struct {
	Column string `json:"column"`
	// Terms is the number of coefficients, the degrees of freedom of the statistic's chi-squared distribution.
	Terms     int     `json:"terms"`
	Statistic float64 `json:"statistic,omitempty"`
	// P is the p-value, and Holm the p-value with Holm's adjustment for all tests of the list. They are nil if no test
	// is stated, and Reason says why.
	P      *float64 `json:"p,omitempty"`
	Holm   *float64 `json:"p_holm,omitempty"`
	Reason string   `json:"reason,omitempty"`
}

// Tests returns the joint tests of a model's columns, or an error if the model has no intervals. Sampling and privacy
// noise are both in the covariance of the coefficients.
func Tests(m *model.Model) ([]Test, error) {
	all, err := m.Coefficients()
	if err != nil {
		return nil, err
	}
	var list []Test
	terms := map[string][]string{}
	for _, c := range all.List {
		if c.Intercept {
			continue
		}
		if _, known := terms[c.Column]; !known {
			list = append(list, Test{Column: c.Column})
			terms[c.Column] = nil
		}
		if c.State != inference.Absent { // the formula has no such coefficient
			terms[c.Column] = append(terms[c.Column], c.Term)
		}
	}
	for i := range list {
		t := &list[i]
		if t.Terms = len(terms[t.Column]); t.Terms == 0 {
			t.Reason = string(inference.Absent)
			continue
		}
		joint, err := m.Joint(terms[t.Column])
		if err != nil {
			return nil, err
		}
		if joint.State != inference.Reported {
			t.Reason = joint.Reason
			continue
		}
		t.Statistic = distance(joint.Estimate, joint.Covariance)
		p := mathext.GammaIncRegComp(float64(t.Terms)/2, t.Statistic/2)
		t.P = &p
	}
	holm(list)
	return list, nil
}

// distance returns x' C^-1 x for a vector and a positive definite matrix.
func distance(x []float64, covariance [][]float64) float64 {
	v, c := mat.NewVecDense(len(x), x), mat.NewDense(len(x), len(x), nil)
	for i, row := range covariance {
		c.SetRow(i, row)
	}
	var solved mat.VecDense
	if solved.SolveVec(c, v) != nil {
		return 0 // a covariance of which nothing follows
	}
	return max(mat.Dot(v, &solved), 0)
}

// holm sets the adjusted p-values (Holm 1979): the i-th smallest of k is multiplied by k - i, i from 0, and is no less
// than those before it.
func holm(list []Test) {
	var stated []*Test
	for i := range list {
		if list[i].P != nil {
			stated = append(stated, &list[i])
		}
	}
	slices.SortStableFunc(stated, func(a, b *Test) int {
		if *a.P < *b.P {
			return -1
		}
		return 1
	})
	least := 0.
	for i, t := range stated {
		least = max(least, min(*t.P*float64(len(stated)-i), 1))
		p := least
		t.Holm = &p
	}
}

// TestText formats tests as a plain-text table.
func TestText(list []Test) string {
	var b strings.Builder
	var without []string
	why := ""
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "column\tcoefficients\tstatistic\tp-value\tadjusted (Holm)")
	for _, t := range list {
		if t.P == nil {
			fmt.Fprintf(w, "%s\t%d\t-\t-\t-\n", oneLine(t.Column), t.Terms)
			if without = append(without, t.Column); why == "" {
				why = t.Reason
			}
			continue
		}
		fmt.Fprintf(w, "%s\t%d\t%.4g\t%s\t%s\n", oneLine(t.Column), t.Terms, t.Statistic, small(*t.P), small(*t.Holm))
	}
	_ = w.Flush() // writing to a strings.Builder never fails
	if len(without) > 0 {
		b.WriteString(safetext.Lines(oneLine("No test is stated of "+strings.Join(without, ", ")+". The reason for the first: "+
			why+"."), "", 100))
	}
	b.WriteString(safetext.Lines("Each test is of the hypothesis that all coefficients of the column are 0, by the "+
		"covariance of sampling and privacy noise together. Adjusted p-values hold for all columns at once.", "", 100))
	return b.String()
}

// small writes a p-value.
func small(p float64) string {
	if p < 1e-4 {
		return "< 0.0001"
	}
	return fmt.Sprintf("%.4f", p)
}
