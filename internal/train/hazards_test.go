package train_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/curator"
	"github.com/stillpoint-dp/stillpoint/internal/train"
	"github.com/stillpoint-dp/stillpoint/model"
)

// timesConfig returns the configuration of a fit of the time to an event of n simulated records with the hazard .3
// exp(1.2 sex + .7 age), observed for 1 to 3 years. In its text each first string of two changes is replaced by the
// second.
func timesConfig(t *testing.T, n int, epsilon float64, more string, changes ...string) *train.Config {
	t.Helper()
	path := filepath.Join(t.TempDir(), "people.yaml")
	text := fmt.Sprintf(`
data: people.csv
schema:
  columns:
    age: {number: [-3, 3]}
    sex: {category: [f, m]}
  target: {time: years, event: died, cuts: [0.5, 1, 2, 3]}
model: {family: lines}
privacy: {epsilon: %v, delta: 1e-6, relation: replace-one}
%s`, epsilon, more)
	if err := os.WriteFile(path, []byte(strings.NewReplacer(changes...).Replace(text)), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := train.ReadConfig(path)
	if err != nil {
		t.Fatal(err)
	}
	c.Data = nil
	c.Rows = &curator.Rows{Header: []string{"age", "sex", "years", "died"}, Cells: func(yield func([]string, error) bool) {
		r := rand.New(rand.NewPCG(1, 2))
		for i := range n {
			age, sex := math.Max(-3, math.Min(3, r.NormFloat64())), float64(i%2)
			at := r.ExpFloat64() / (.3 * math.Exp(1.2*sex+.7*age))
			until := 1 + 2*r.Float64()
			died := "0"
			if at < until {
				until, died = at, "1"
			}
			if !yield([]string{fmt.Sprint(age), []string{"f", "m"}[i%2], fmt.Sprint(until), died}, nil) {
				return
			}
		}
	}}
	return c
}

// TestHazardRatios fits the time to an event with hardly any noise, 63% of the records having the event. The log hazard
// ratios must be within .04 of the true ones, and the baseline hazard within .012 of a constant one. Without the pilot
// fit the ratios are 1.11 and .65, and the hazard of the first interval is .04 too large. With 20,000 records the
// standard errors of the ratios are .019 and .010, and the noise is far smaller, so that a failure has probability
// below 1e-6 only where the table is fixed, which it is.
func TestHazardRatios(t *testing.T) {
	c := timesConfig(t, 20000, 100, "")
	fitted, err := c.Fit(context.Background(), train.Options{Software: "test v1"})
	if err != nil {
		t.Fatal(err)
	}
	for _, term := range fitted.Model.Schema().Terms(true) {
		want, checked := map[string]float64{"age": .7, "sex=m": 1.2}[term.Name]
		if got := term.Of(fitted.Model.Weights()); checked && !(math.Abs(got-want) <= .04) {
			t.Errorf("%s: %v: want %v", term.Name, got, want)
		}
	}
	if c, b := fitted.Compared, fitted.Base; c == nil || !(math.Abs(c.Happened-.63) <= .03) || c.Happened != b.Sums[0] ||
		c.HappenedSigma != b.Sigma || !c.Counts || !c.Events {
		t.Errorf("compared %+v: about .63 events happen to a record", c)
	}
	target := fitted.Model.Schema().Target()
	for j, want := range []float64{1. / 6, 1. / 6, 1. / 3, 1. / 3} {
		if got := target.Hazards[j]; !(math.Abs(got-want) <= .012) {
			t.Errorf("hazard of interval %d: %v: want %v", j, got, want)
		}
	}
}

// TestGroupedTimes fits times in whole years with hardly any noise. With grouped the log hazard ratios must be within
// .05 of the true ones, and they are much too small without it, where an event counts as one at the end of its interval.
func TestGroupedTimes(t *testing.T) {
	for _, more := range []string{"grouped: true, cuts: [1, 2, 3]", "grouped: false, cuts: [1, 2, 3]"} {
		c := timesConfig(t, 20000, 100, "", "cuts: [0.5, 1, 2, 3]", more)
		of := c.Rows.Cells
		c.Rows.Cells = func(yield func([]string, error) bool) {
			of(func(cells []string, err error) bool {
				years, _ := strconv.ParseFloat(cells[2], 64)
				if years = math.Floor(years); cells[3] == "1" {
					years++
				}
				return yield([]string{cells[0], cells[1], fmt.Sprint(years), cells[3]}, err)
			})
		}
		fitted, err := c.Fit(t.Context(), train.Options{Software: "test v1"})
		if err != nil {
			t.Fatal(err)
		}
		for _, term := range fitted.Model.Schema().Terms(true) {
			want, checked := map[string]float64{"age": .7, "sex=m": 1.2}[term.Name]
			got := term.Of(fitted.Model.Weights())
			if checked && strings.Contains(more, "true") && !(math.Abs(got-want) <= .05) || checked && strings.Contains(more, "false") && got > want-.1 {
				t.Errorf("%s %s: %v: want %v", more, term.Name, got, want)
			}
		}
	}
}

// TestLogitHazards fits times in whole years with logit hazards and hardly any noise, with 79% of the records having the event.
// The log odds ratios must be within .06 of the true ones, of which the sampling makes .05, and the baseline odds near the true ones, which rise to twice the
// first. After one pilot fit in place of two they are too small. The published risk of a record must be
// that of the true odds, also without the last intervals.
func TestLogitHazards(t *testing.T) {
	c := timesConfig(t, 20000, 100, "", "cuts: [0.5, 1, 2, 3]", "grouped: logit, cuts: [1, 2, 3, 4]")
	odds, survived := []float64{.3, .4, .5, .6}, 0
	c.Rows.Cells = func(yield func([]string, error) bool) {
		r := rand.New(rand.NewPCG(8, 9))
		for i := range 20000 {
			age, sex := math.Max(-3, math.Min(3, r.NormFloat64())), float64(i%2)
			years, died := 0, "0"
			for _, o := range odds[:3+r.IntN(2)] {
				o *= math.Exp(1.2*sex + .7*age)
				if years++; r.Float64() < o/(1+o) {
					died = "1"
					break
				}
				survived++
			}
			if !yield([]string{fmt.Sprint(age), []string{"f", "m"}[i%2], fmt.Sprint(years), died}, nil) {
				return
			}
		}
	}
	c.Rows.Cells(func([]string, error) bool { return true })
	atRisk := float64(survived) / 20000
	fitted, err := c.Fit(t.Context(), train.Options{Software: "test v1"})
	if err != nil {
		t.Fatal(err)
	}
	schema, w := fitted.Model.Schema(), fitted.Model.Weights()
	for _, term := range schema.Terms(true) {
		want, checked := map[string]float64{"age": .7, "sex=m": 1.2, "(intercept)": math.Log(1.8)}[term.Name]
		if got := term.Of(w); checked && !(math.Abs(got-want) <= .06) {
			t.Errorf("%s: %v: want %v", term.Name, got, want)
		}
	}
	for j, got := range schema.Target().Hazards {
		if want := odds[j] / 1.8; !(math.Abs(got-want) <= .012) {
			t.Errorf("odds of interval %d: %v: want %v", j, got, want)
		}
	}
	if b := fitted.Base; b == nil || !(math.Abs(b.Sums[0]-.795) <= .01) || !(math.Abs(b.Sums[1]-atRisk) <= .02) || fitted.Compared == nil || !(fitted.Compared.Difference < -.1) {
		t.Errorf("base %+v of %v survived intervals, compared %+v", b, atRisk, fitted.Compared)
	}
	path := filepath.Join(t.TempDir(), "one.csv")
	if err := os.WriteFile(path, []byte("age,sex,years,died\n0,f,1,0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := fitted.Model.Predict(t.Context(), path, &out, model.PredictOptions{Horizons: []float64{2, 4}}); err != nil {
		t.Fatal(err)
	}
	line := strings.Split(strings.Split(out.String(), "\n")[1], ",")
	for j, want := range []float64{1 - 1/(1.3*1.4), 1 - 1/(1.3*1.4*1.5*1.6)} {
		if got, _ := strconv.ParseFloat(line[j], 64); !(math.Abs(got-want) <= .02) {
			t.Errorf("risk %v of %v: want %v", line[j], line, want)
		}
	}
}

// TestChangingHazardRatios fits a column whose hazard ratio is 2 until .5, 1 until 2 and .4 after that, with hardly any
// noise. The logarithms of the ratios of all intervals must be within .19 of the true ones, and the coefficient of the other
// column within .04. In 100 fits of this table the ratio that is farthest off, the last, had a mean of .117 and a deviation
// of .0094, so that a run exceeds .19 with a probability below 1e-13. With one baseline hazard all ratios would be the same.
func TestChangingHazardRatios(t *testing.T) {
	c := timesConfig(t, 20000, 100, "", "cuts", "changing: sex, cuts")
	c.Rows.Cells = func(yield func([]string, error) bool) {
		r := rand.New(rand.NewPCG(3, 4))
		for i := range 20000 {
			age, sex := math.Max(-3, math.Min(3, r.NormFloat64())), i%2
			left, at, from := r.ExpFloat64(), 9., 0.
			for j, to := range []float64{.5, 2, 3} {
				rate := .3 * math.Exp(.7*age)
				if sex == 1 {
					rate *= []float64{2, 1, .4}[j]
				}
				if at == 9 && left <= rate*(to-from) {
					at = from + left/rate
				}
				left -= rate * (to - from)
				from = to
			}
			until := 2 + 2*r.Float64()
			if !yield([]string{fmt.Sprint(age), []string{"f", "m"}[sex], fmt.Sprint(min(at, until)), fmt.Sprint(min(1, int(until/at)))},
				nil) {
				return
			}
		}
	}
	fitted, err := c.Fit(t.Context(), train.Options{Software: "test v1"})
	if err != nil {
		t.Fatal(err)
	}
	target, log := fitted.Model.Schema().Target(), 0.
	for _, term := range fitted.Model.Schema().Terms(true) {
		switch got := term.Of(fitted.Model.Weights()); term.Name {
		case "sex=m":
			log = got
		case "age":
			if !(math.Abs(got-.7) <= .04) {
				t.Errorf("age: %v: want .7", got)
			}
		}
	}
	for j, want := range []float64{2, 1, 1, .4} {
		got := log + math.Log(target.Hazards[4+j]/target.Hazards[j])
		e := math.Hypot(target.HazardErrors[4+j], target.HazardErrors[j])
		if !(math.Abs(got-math.Log(want)) <= .19) || !(e > .02 && e < .1) {
			t.Errorf("interval %d: log hazard ratio %v with error %v: want %v", j, got, e, math.Log(want))
		}
	}
}

// TestRareEventsCount fits events of 4% of the records four times, at epsilon 5. The mean predicted risk over the share of
// events had a mean of .993 and a deviation of .035 in 60 fits. That of four fits must be within .13 of 1, seven deviations
// beside .007, which a run exceeds with a probability below 1e-8. The log hazard ratio of age, .63 with a deviation of .016
// in these fits, must be within .25 of .7. A clip norm of 3 root mean squares, which shortens the gradient of each event,
// gives a risk that is 20% too small.
func TestRareEventsCount(t *testing.T) {
	const n = 20000
	c := timesConfig(t, n, 5, "")
	var table strings.Builder
	rows := func(yield func([]string, error) bool) {
		r := rand.New(rand.NewPCG(5, 6))
		for i := range n {
			age := math.Max(-3, math.Min(3, r.NormFloat64()))
			at, until := r.ExpFloat64()/(.015*math.Exp(.7*age)), 1+2*r.Float64()
			cells := []string{fmt.Sprint(age), []string{"f", "m"}[i%2], fmt.Sprint(min(at, until)), fmt.Sprint(min(1, int(until/at)))}
			if !yield(cells, nil) {
				return
			}
		}
	}
	path := filepath.Join(t.TempDir(), "people.csv")
	table.WriteString("age,sex,years,died\n")
	rows(func(cells []string, _ error) bool {
		table.WriteString(strings.Join(cells, ",") + "\n")
		return true
	})
	if err := os.WriteFile(path, []byte(table.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	predicted, observed := 0., 0.
	for range 4 {
		c.Rows.Cells = rows
		fitted, err := c.Fit(t.Context(), train.Options{Software: "test v1"})
		if err != nil {
			t.Fatal(err)
		}
		for _, term := range fitted.Model.Schema().Terms(true) {
			if got := term.Of(fitted.Model.Weights()); term.Name == "age" && !(got > .45 && got < .95) {
				t.Errorf("age: %v: want .7", got)
			}
		}
		m, err := fitted.Model.Evaluate(t.Context(), path, "", "")
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range m.Calibration.Bins {
			predicted, observed = predicted+b.Predicted*float64(b.N), observed+b.Observed*float64(b.N)
		}
	}
	if !(math.Abs(predicted/observed-1) <= .13) {
		t.Errorf("predicted %v of %v events", predicted, observed)
	}
}

// TestTimesUnderEveryFamily fits curves, effects and units of two rows of the table of TestHazardRatios, with a column whose
// hazard ratios change and without. The predictions of each must be near those of the true hazard: the concordance of the
// true log hazard ratios on this table is .71.
func TestTimesUnderEveryFamily(t *testing.T) {
	for name, changes := range map[string][]string{
		"curves": {"lines", "curves"}, "effects": {"lines", "effects"},
		"changing curves":  {"lines", "curves", "cuts", "changing: sex, cuts"},
		"changing effects": {"lines", "effects", "cuts", "changing: sex, cuts"},
		"units":            {"  target", "  unit: {column: person, rows: 2}\n  target"},
		"changing units":   {"  target", "  unit: {column: person, rows: 2}\n  target", "cuts", "changing: sex, cuts"},
	} {
		c := timesConfig(t, 8000, 4, "", changes...)
		var table strings.Builder
		cells, unit := c.Rows.Cells, strings.Contains(name, "units")
		if unit {
			c.Rows.Header = append(c.Rows.Header, "person")
		}
		table.WriteString(strings.Join(c.Rows.Header, ",") + "\n")
		c.Rows.Cells = func(yield func([]string, error) bool) {
			i := 0
			cells(func(row []string, err error) bool {
				if i++; unit {
					row = append(row, fmt.Sprint(i/2))
				}
				table.WriteString(strings.Join(row, ",") + "\n")
				return yield(row, err)
			})
		}
		f, err := c.Fit(t.Context(), train.Options{Software: "test v1"})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		path := filepath.Join(t.TempDir(), "people.csv")
		if err := os.WriteFile(path, []byte(table.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		m, err := f.Model.Evaluate(t.Context(), path, "", "")
		if err != nil || !(*m.Concordance > .68) {
			t.Errorf("%s: %v, %v: must have a concordance above .68", name, err, m)
		}
	}
}

// TestTimesUnderEveryLoss: the time to an event with any loss, of one interval or several, with the numbers that follow
// from the target or without them, is refused by a plan in words of the time, or it can be fitted.
func TestTimesUnderEveryLoss(t *testing.T) {
	last, fitted := regexp.MustCompile(`,[^,()]*\)$`), 0
	for _, l := range train.Losses() {
		for text := l.Text; ; {
			for _, cuts := range []string{"[0.5, 1, 2, 3]", "[3]"} {
				c := timesConfig(t, 300, 10, "", "{family: lines}", "{family: lines, loss: \""+text+"\"}", "[0.5, 1, 2, 3]", cuts)
				if _, err := c.Plan(t.Context()); err != nil {
					if !strings.Contains(err.Error(), "model.loss") {
						t.Errorf("%s, cuts %s: %v: must name the loss", text, cuts, err)
					}
					continue
				}
				fitted++
				if _, err := c.Fit(t.Context(), train.Options{Software: "test v1"}); err != nil {
					t.Errorf("%s, cuts %s: %v", text, cuts, err)
				}
			}
			shorter := last.ReplaceAllString(text, ")")
			if shorter == text {
				break
			}
			text = shorter
		}
	}
	if fitted == 0 {
		t.Error("no loss was fitted")
	}
}

// TestTimesStateTheirBaseRate: a stated share of records with an event sets the effective size, and a stated rate, of
// events from time 0 to the last cut, is where a fit begins.
func TestTimesStateTheirBaseRate(t *testing.T) {
	for share, ratio := range map[string]float64{"3]": 1, "3], share: 0.1": .4, "3], share: 0.5": 1} {
		p, err := timesConfig(t, 20_000, 1, "", "3]}\nmodel", share+"}\nmodel").Plan(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		o := p.Outlook()
		if want := ratio * p.Summary.Effective; !(math.Abs(o.Size-want) <= 1e-6*want) {
			t.Errorf("%s: size %v: must be %v", share, o.Size, want)
		}
		if said := strings.Contains(o.Assumed, "an event for a quarter"); said != (share == "3]") {
			t.Errorf("%s: assumes %q", share, o.Assumed)
		}
	}
	f, err := timesConfig(t, 20_000, 1, "", "lines}", "lines, start: {rate: 0.5}}").Fit(t.Context(), train.Options{Software: "test"})
	if err != nil {
		t.Fatal(err)
	}
	if f.Compared == nil || !f.Compared.Events {
		t.Errorf("compared %+v: must say that events are counted", f.Compared)
	}
	if f.Base == nil || !f.Base.Public || !(math.Abs(f.Base.Margins[0]-math.Log(.5)) <= 1e-12) {
		t.Errorf("begins at %+v: must begin at the logarithm of .5", f.Base)
	}
}

// TestLogitHazardsHaveNoNetwork tests that a network whose output loss is that of logit hazards is refused: it does not
// know the odds of the intervals, and would take all of them for one, without a word.
func TestLogitHazardsHaveNoNetwork(t *testing.T) {
	for of, refused := range map[string]bool{"logit, cuts: [1, 2, 3, 4]": true, "true, cuts: [1, 2, 3, 4]": false} {
		output := map[bool]string{true: "logit-hazard", false: "cloglog"}[refused] + "(3,1.52587890625e-05)"
		c := timesConfig(t, 300, 100, "", "cuts: [0.5, 1, 2, 3]", "grouped: "+of, "model: {family: lines}",
			`model: {loss: {network: {hidden: [4], output: "`+output+`"}}}`)
		_, err := c.Fit(t.Context(), train.Options{Software: "test v1"})
		if named := err != nil && strings.Contains(err.Error(), "must be logit-hazard itself"); named != refused {
			t.Errorf("%s with target.grouped = %s: error %v", output, of, err)
		}
	}
}

// TestIntervalsOfTimesAreForeseenByEvents: the forecast of intervals of the time to an event is by the share of the records
// with an event, which the schema states or the text names.
func TestIntervalsOfTimesAreForeseenByEvents(t *testing.T) {
	plan := func(share string) *train.Expected {
		t.Helper()
		p, err := timesConfig(t, 20_000, 1, "inference: {level: 0.95}\n", "3]}\nmodel", share+"}\nmodel").Plan(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return p.Intervals
	}
	unknown, quarter, rare := plan("3]"), plan("3], share: 0.25"), plan("3], share: 0.01")
	if unknown.HalfWidth != quarter.HalfWidth || unknown.Reported != quarter.Reported ||
		unknown.Assumed != "an event for a quarter of the records" || quarter.Assumed != "" {
		t.Errorf("%+v: must be %+v", unknown, quarter)
	}
	if rare.HalfWidth < 4*quarter.HalfWidth || rare.Reported >= quarter.Reported {
		t.Errorf("%+v: must be far less precise than %+v", rare, quarter)
	}
}
