package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/mathext"

	"github.com/stillpoint-dp/stillpoint/internal/inference"
	"github.com/stillpoint-dp/stillpoint/internal/safetext"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
	"github.com/stillpoint-dp/stillpoint/model"
)

// CoefficientText formats coefficients with confidence intervals as a plain-text table.
func CoefficientText(c *model.Coefficients) string {
	var b strings.Builder
	if c.Short {
		fmt.Fprintf(&b, "Formula asked for:  %s\n", oneLine(c.Asked))
		fmt.Fprintf(&b, "SHORT formula:      %s\n", oneLine(c.Formula))
		b.WriteString("The intervals belong to the SHORT formula. They do not cover terms that are left out or count as another level:\n")
		for _, line := range c.Changes {
			fmt.Fprintf(&b, "  %s\n", oneLine(line))
		}
	} else {
		fmt.Fprintf(&b, "Formula:  %s\n", oneLine(c.Formula))
		for _, line := range c.Changes {
			fmt.Fprintf(&b, "  %s (cells that are missing or not listed)\n", oneLine(line))
		}
	}
	fmt.Fprintf(&b, "\nCoefficients (%s):\n", oneLine(c.Unit))
	ratio := ratioOf(c)
	level := fmt.Sprintf("%g%% interval", 100*c.Level)
	head := []string{"term", "against or unit", "estimate", "std. error", level, "privacy"}
	if ratio != "" {
		head = append(head, ratio, level)
	}
	rows := slices.Concat(rowsOf(c.List, "", ratio != ""), rowsOf(c.Thresholds, firstThreshold, ratio != ""))
	b.WriteString(safetext.Table(head, vector.Map(rows, func(r Row) []string { return r.Cells })))
	fmt.Fprintf(&b, "\n%d of %d coefficients have an interval.", c.Reported, c.Counted)
	b.WriteString(" The column privacy is the share of an interval's width that comes from the privacy noise.\n")
	b.WriteString(safetext.Lines(oneLine(c.Meaning+states(c)), "", 100))
	return b.String()
}

// states explains for readers why some coefficients have no interval. It names a few of them for each reason.
func states(c *model.Coefficients) (text string) {
	for _, r := range c.Reasons {
		text += fmt.Sprintf(" %s%s (%s): %s.", strings.ToUpper(string(r.State[:1])), r.State[1:], safetext.Few(r.Terms), r.Text)
	}
	wider, largest := 0, 0.
	for _, k := range slices.Concat(c.List, c.Thresholds) {
		if k.State == inference.Reported && k.Remainder > 0 {
			wider, largest = wider+1, max(largest, k.Remainder)
		}
	}
	if wider > 0 {
		text += fmt.Sprintf(" A bound on the error of the last Newton step is part of %s: it widens each by %.0f%% at most.",
			count(wider, "interval", "intervals"), 100*largest)
	}
	return text
}

// named returns the name of a term, with what the term also carries.
func named(t model.Coefficient) string {
	if t.State == inference.Reported && t.Reason != "" {
		return t.Term + ", " + t.Reason
	}
	return t.Term
}

// ratioOf returns the name of the ratio that coefficients state beside their estimate, such as "odds
// ratio". It returns "" if no coefficient states a ratio.
func ratioOf(c *model.Coefficients) string {
	for _, t := range c.List {
		if r, name := t.Ratio(); r != nil {
			return name
		}
	}
	return ""
}

// cells returns the numbers of a coefficient as text: estimate, standard error, interval, and the share of the
// interval's width that is due to privacy noise. If ratio is true, the odds ratio or rate ratio and its interval
// follow. A coefficient without an interval has its state in place of the interval and a dash for every number.
func cells(t model.Coefficient, ratio bool) []string {
	out := []string{"-", "-", string(t.State), "-"}
	if t.State == inference.Reported {
		step := t.Error / 20
		out = []string{rounded(t.Estimate, step), digits(t.Error, 2), rounded(t.Low, step) + " to " + rounded(t.High, step),
			fmt.Sprintf("%.0f%%", 100*t.Privacy)}
	}
	if !ratio {
		return out
	}
	r, _ := t.Ratio()
	if r == nil {
		return append(out, "-", "-")
	}
	step := r.Estimate * t.Error / 20
	return append(out, rounded(r.Estimate, step), rounded(r.Low, step)+" to "+rounded(r.High, step))
}

// rounded formats v with the fewest decimals (at most 9) whose unit is at most step: step .02 gives two decimals. If
// step is not a positive finite number or is below 1e-9, or if v is above 1e9, it uses four significant digits.
func rounded(v, step float64) string {
	if !(step > 0) || math.IsInf(step, 0) || math.Abs(v) > 1e9 || math.Abs(step) < 1e-9 {
		return fmt.Sprintf("%.4g", v)
	}
	places := int(min(max(math.Ceil(-math.Log10(step)), 0), 9))
	text := fmt.Sprintf("%.*f", places, v)
	if strings.Trim(text, "-0.") == "" {
		text = strings.TrimPrefix(text, "-")
	}
	return text
}

// inference returns the released numbers from which the model's intervals are computed; nil for a model without
// intervals.
func (f *Fit) inference() *inference.Fit {
	fit, _ := inference.Parse(f.Model.Inference()) // the model has checked them
	return fit
}

// intervals makes the section of the page about the coefficients with confidence intervals. It returns
// false if the model was fitted without confidence intervals.
func (f *Fit) intervals() (Section, bool) {
	if f.Model == nil || f.Model.Inference() == nil {
		return Section{}, false
	}
	c, err := f.Model.Coefficients()
	if err != nil {
		return Section{}, false
	}
	s := Section{Title: fmt.Sprintf("Effects, with %g%% private confidence intervals", 100*c.Level)}
	formula := Fact{Name: "Formula that was fitted", Value: c.Formula, Note: "as asked for"}
	if c.Short {
		formula.Name, formula.Note = "SHORT formula that was fitted",
			"asked for: "+c.Asked+". Intervals are for the short formula, of which the list below says how it differs"
	}
	facts := Facts{formula, {Name: "Reported", Value: fmt.Sprintf("%d of %d", c.Reported, c.Counted),
		Note: "others are hidden by noise or left out of the formula"}}
	if share, ok := typicalPrivacy(c); ok {
		facts = append(facts, Fact{Name: "What privacy costs",
			Value: fmt.Sprintf("intervals %.2g × as wide", 1/max(1-share, 1e-3)),
			Note:  "as without privacy, for the median coefficient; estimated from released numbers"})
	}
	s.Parts = append(s.Parts, facts)
	if c.Short {
		s.Parts = append(s.Parts, Note("The intervals belong to the SHORT formula: "+strings.Join(c.Changes, "; ")+"."))
	}
	s.draw(forest(c))
	s.Parts = append(s.Parts, effects(c), Text(c.Meaning+states(c)))
	return s, true
}

// typicalPrivacy returns the median, over the coefficients with an interval, of the share of the interval's width that
// is due to privacy noise. Intercepts are left out. It returns false if no coefficient has an interval.
func typicalPrivacy(c *model.Coefficients) (float64, bool) {
	var list []float64
	for _, t := range c.List {
		if t.State == inference.Reported && !t.Intercept {
			list = append(list, t.Privacy)
		}
	}
	if len(list) == 0 {
		return 0, false
	}
	slices.Sort(list)
	return list[len(list)/2], true
}

// forest makes a forest plot (estimates with their intervals) of the first mostCoefficients coefficients
// with an interval. Intercepts are left out.
func forest(c *model.Coefficients) Bars {
	title := "Effects"
	if c.Short {
		title = "Effects in the SHORT formula"
	}
	b := Bars{
		Title: title, Dots: true, X: Axis{Label: "effect (" + c.Unit + ")"},
		Caption: fmt.Sprintf("Lines with ends are %g%% private confidence intervals, sampling and privacy noise together. "+
			"For a number, the change from its lower to its upper bound; for a level, the difference from the level it is "+
			"compared with.", 100*c.Level),
		Marks: []Mark{{Name: "no effect", Value: 0}},
	}
	for _, t := range c.List {
		if t.Intercept || t.State != inference.Reported || len(b.Items) == mostCoefficients {
			continue
		}
		name := named(t)
		if t.Reference != "" {
			name += " against " + t.Reference
		}
		b.Items = append(b.Items, Bar{Name: name, Value: t.Estimate * t.Span,
			Interval: Interval{t.Low * t.Span, t.High * t.Span}})
	}
	return b
}

// effects makes the table of the coefficients with their intervals.
func effects(c *model.Coefficients) Table {
	ratio := ratioOf(c)
	level := fmt.Sprintf("%g%% interval", 100*c.Level)
	t := Table{
		Title: "Effects (" + c.Unit + ")",
		Columns: []Column{{"Term", false}, {"Against or unit", false}, {"Effect", true}, {"Std. error", true}, {level, true},
			{"Privacy", true}},
		Caption: "Privacy is the share of an interval's width that comes from the privacy noise. Formula: " + c.Formula + ".",
	}
	if ratio != "" {
		t.Columns = append(t.Columns, Column{strings.ToUpper(ratio[:1]) + ratio[1:], true}, Column{level, true})
	}
	t.Rows = append(rowsOf(c.List[:min(len(c.List), mostRows-1)], "", ratio != ""),
		rowsOf(c.Thresholds[:min(len(c.Thresholds), mostRows)], firstThreshold, ratio != "")...)
	return t
}

// firstThreshold names the threshold with which others are compared.
const firstThreshold = "threshold 1"

// rowsOf returns the rows of coefficients in a table. against is the name of that with which all are compared; "" if each
// states its own.
func rowsOf(list []model.Coefficient, against string, ratio bool) []Row {
	return vector.Map(list, func(v model.Coefficient) Row {
		return Row{
			Cells: append([]string{named(v), cmp.Or(against, v.Reference, v.Per)}, cells(v, ratio)...),
			Faint: against == "" && (v.State != inference.Reported || v.Low <= 0 && 0 <= v.High),
		}
	})
}

// Every, as a number of intervals, is all coefficients of the formula but the intercept.
const Every = -1

// AtLevel returns the model with intervals of another level, for which the released covariance is enough; nil is that
// of the fit. If together is not 0, as many intervals hold at once with this level: by Bonferroni's inequality each of k
// intervals gets the level 1 - (1 - level)/k.
func AtLevel(m *model.Model, asked *float64, together int) (*model.Model, error) {
	if asked == nil && together == 0 {
		return m, nil
	}
	if _, err := m.Coefficients(); err != nil {
		return nil, err
	}
	f, err := inference.Parse(m.Inference())
	if err != nil {
		return nil, err
	}
	level := f.Level
	if asked != nil {
		level = *asked
	}
	if err := inference.CheckLevel(level); err != nil {
		return nil, err
	}
	if f.Method == inference.Region && (level != f.Level || together != 0) {
		return nil, fmt.Errorf("level = %v: must be that of the fit, %v, since the intervals are projections of a Fieller region",
			level, f.Level)
	}
	if f.Level = level; together != 0 {
		k, of := together, "intervals"
		if together == Every {
			k, of = max(len(f.Columns)-1, 1), "coefficients"
		}
		f.Level = 1 - (1-level)/float64(k)
		if inference.CheckLevel(f.Level) != nil {
			return nil, fmt.Errorf("level = %v: %v %s together need %.5g each: must be at most 0.999", level, k, of, f.Level)
		}
	}
	file, err := m.Bytes()
	if err != nil {
		return nil, err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(file, &members); err != nil {
		return nil, err
	}
	if members["inference"], err = f.JSON(); err != nil {
		return nil, err
	}
	if file, err = json.Marshal(members); err != nil {
		return nil, err
	}
	return model.Parse(file)
}

// Test is the joint Wald test of a column: of the hypothesis that all its coefficients in the fit's formula are 0, all
// levels of a category, all pairs of levels of an interaction, or the line and all knots of a curve.
type Test struct {
	Column string `json:"column"`
	// Terms is the number of coefficients, the statistic's degrees of freedom. Without are those that the formula lacks.
	Terms     int      `json:"terms"`
	Without   []string `json:"without,omitempty"`
	Statistic float64  `json:"statistic,omitempty"`
	// P is the p-value, and Holm the p-value with Holm's adjustment for all tests of the list. They are nil if no test
	// is stated, and Reason says why. Beside a p-value Reason says why coefficients lack, and of which others also carry.
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
	schema := m.Schema()
	parts := schema.Terms(false)
	terms, why, carried := map[string][]string{}, map[string][]model.Reason{}, map[string][]string{}
	for i, c := range all.List {
		if c.Intercept {
			continue
		}
		feature, column := parts[i*len(parts)/len(all.List)].Parts[0].Feature, c.Column // a term has a coefficient of each class
		for _, p := range schema.Interactions() {
			if name := schema.Features()[feature]; c.Column == "(interactions)" && strings.HasPrefix(name, p[0]+"=") &&
				strings.Contains(name, " & "+p[1]+"=") {
				column = p[0] + " & " + p[1]
			}
		}
		if _, known := terms[column]; !known {
			list = append(list, Test{Column: column})
			terms[column] = nil
		}
		switch at := slices.IndexFunc(why[column], func(r model.Reason) bool { return r.Text == c.Reason }); {
		case c.State != inference.Absent:
			if terms[column] = append(terms[column], c.Term); strings.HasPrefix(c.Reason, "also carries ") {
				carried[column] = append(carried[column], c.Term+" "+c.Reason)
			}
		case schema.IsOther(feature): // cells that are missing or not listed: many tables have none
		case at < 0:
			why[column] = append(why[column], model.Reason{Text: c.Reason, Terms: []string{c.Term}})
		default:
			why[column][at].Terms = append(why[column][at].Terms, c.Term)
		}
	}
	for i := range list {
		t := &list[i]
		lacking, of, split := why[t.Column], string(inference.Absent)+": ", ". "
		if t.Terms = len(terms[t.Column]); t.Terms > 0 {
			of, split = "tested without ", ". Tested without "
		}
		var reasons []string
		for _, r := range lacking {
			t.Without = append(t.Without, r.Terms...)
			if t.Terms > 0 || len(lacking) > 1 {
				r.Text = safetext.Few(r.Terms) + ": " + r.Text
			}
			reasons = append(reasons, r.Text)
		}
		if len(reasons) > 0 {
			reasons = []string{of + strings.Join(reasons, split)}
		}
		if t.Reason = strings.Join(append(reasons, carried[t.Column]...), ". "); t.Terms == 0 {
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
		t.P = new(mathext.GammaIncRegComp(float64(t.Terms)/2, t.Statistic/2))
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
	slices.SortStableFunc(stated, func(a, b *Test) int { return cmp.Compare(*a.P, *b.P) })
	least := 0.
	for i, t := range stated {
		least = max(least, min(*t.P*float64(len(stated)-i), 1))
		t.Holm = new(least)
	}
}

// TestText formats tests as a plain-text table.
func TestText(list []Test) string {
	var b strings.Builder
	columns, order := map[string][]string{}, []string(nil)
	var rows [][]string
	for _, t := range list {
		row := []string{t.Column, strconv.Itoa(t.Terms), "-", "-", "-"}
		if t.P != nil {
			row = append(row[:2], fmt.Sprintf("%.4g", t.Statistic), small(*t.P), small(*t.Holm))
		}
		rows = append(rows, row)
		if t.Reason != "" {
			why := t.Reason
			if t.P == nil {
				why = "no test: " + why
			}
			if columns[why] == nil {
				order = append(order, why)
			}
			columns[why] = append(columns[why], t.Column)
		}
	}
	b.WriteString(safetext.Table([]string{"column", "coefficients", "statistic", "p-value", "adjusted (Holm)"}, rows))
	for _, why := range order {
		b.WriteString(safetext.Lines(oneLine(strings.Join(columns[why], ", ")+": "+why+"."), "", 100))
	}
	b.WriteString(safetext.Lines("Each test is of the hypothesis that all coefficients of the column in the formula are 0, by the "+
		"covariance of sampling and privacy noise together. A column of an interaction is tested at the reference level of the "+
		"other column. Adjusted p-values hold for all columns at once.", "", 100))
	return b.String()
}

// small writes a p-value.
func small(p float64) string {
	if p < 1e-4 {
		return "< 0.0001"
	}
	return fmt.Sprintf("%.4f", p)
}
