package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/inference"
	"github.com/stillpoint-dp/stillpoint/internal/means"
	"github.com/stillpoint-dp/stillpoint/internal/report"
	"github.com/stillpoint-dp/stillpoint/internal/safetext"
	"github.com/stillpoint-dp/stillpoint/internal/table"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
	"github.com/stillpoint-dp/stillpoint/model"
)

type contrastCommand struct {
	Dir      string   `arg:"" help:"Output folder of a fit with inference: {level: 0.95}, or its model.json." placeholder:"DIR"`
	Contrast []string `arg:"" help:"Combinations of terms, such as \"region=north - region=south\" or \"10 age\"." placeholder:"CONTRAST"`
	Level    *float64 `help:"Level of the intervals and of the region; without it the level of the fit." placeholder:"P"`

	Simultaneous bool `help:"Widen the intervals so that all of them hold at once with the level (Bonferroni). The joint region stays."`

	JSON bool `help:"Print JSON." name:"json"`
}

// modelAt reads the model of a fit's folder, and verifies the folder's certificate and model. If path is a file, modelAt
// reads it as a model file without verification. The model has intervals of the given level; nil is that of the fit.
func modelAt(ctx context.Context, path string, level *float64) (m *model.Model, err error) {
	if info, bad := os.Stat(path); bad == nil && !info.IsDir() {
		m, err = model.Read(path)
	} else if fit, bad := report.ReadFit(ctx, path); bad != nil {
		err = bad
	} else if m = fit.Model; m == nil {
		err = fmt.Errorf("%s: has no model", path)
	}
	if err != nil {
		return nil, err
	}
	return atLevel(path, m, level, 0)
}

// atLevel is report.AtLevel for the model at path.
func atLevel(path string, m *model.Model, level *float64, together int) (*model.Model, error) {
	m, err := report.AtLevel(m, level, together)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

func (k *contrastCommand) Run(ctx context.Context, c *console) error {
	m, err := modelAt(ctx, k.Dir, k.Level)
	if err != nil {
		return err
	}
	each := m
	if k.Simultaneous {
		if each, err = atLevel(k.Dir, m, nil, len(k.Contrast)); err != nil {
			return err
		}
	}
	var list []*model.ContrastOf
	for _, text := range k.Contrast {
		one, err := each.Contrast(text)
		if err != nil {
			return fmt.Errorf("%s: %w", k.Dir, err)
		}
		list = append(list, one)
	}
	var joint *inference.Joint
	if len(list) > 1 {
		region, err := m.Joint(k.Contrast)
		if err != nil {
			return fmt.Errorf("%s: %w", k.Dir, err)
		}
		joint = &region
	}
	text := contrastText(list, joint)
	if k.Simultaneous {
		text += simultaneous("the level beside it")
	}
	return c.answer(k.JSON, struct {
		Contrasts []*model.ContrastOf `json:"contrasts"`
		Joint     *inference.Joint    `json:"joint,omitempty"`
	}{list, joint}, text)
}

// contrastText describes in words the estimates and intervals of contrasts (linear combinations of terms). If
// joint is not nil, it also describes their joint region.
func contrastText(list []*model.ContrastOf, joint *inference.Joint) string {
	var b strings.Builder
	for _, v := range list {
		fmt.Fprintf(&b, "%s\n", safetext.Text(v.Text))
		switch v.State {
		case inference.Reported:
			fmt.Fprintf(&b, "  %.4g, %.5g%% interval %.4g to %.4g (%s), standard error %.2g, of which privacy makes %.0f%% "+
				"of the width\n", v.Estimate, 100*v.Level, v.Low, v.High, safetext.Text(v.Unit), v.Error, 100*v.Privacy)
			if r, name := v.Ratio(); r != nil {
				fmt.Fprintf(&b, "  %s %.4g, %.5g%% interval %.4g to %.4g\n", name, r.Estimate, 100*v.Level, r.Low, r.High)
			}
			if v.Reason != "" {
				b.WriteString(safetext.Lines(safetext.Text(v.Reason), "  ", 100))
			}
		default:
			why := fmt.Sprintf("%s, no interval is stated: %s", v.State, safetext.Text(v.Reason))
			b.WriteString(safetext.Lines(why, "  ", 100))
		}
	}
	name := "formula"
	if list[0].Short {
		name = "SHORT formula, to which the intervals belong"
	}
	fmt.Fprintf(&b, "%s: %s\n", name, safetext.Text(list[0].Formula))
	if joint == nil {
		return b.String()
	}
	switch {
	case joint.State != inference.Reported:
		fmt.Fprintf(&b, "joint region: %s\n", joint.State)
		b.WriteString(safetext.Lines(safetext.Text(joint.Reason), "  ", 100))
	case *joint.Zero:
		fmt.Fprintf(&b, "joint region (limit %.4g of the squared distance): holds 0 for all of them\n", joint.Limit)
	default:
		fmt.Fprintf(&b, "joint region (limit %.4g of the squared distance): does not hold 0 for all of them\n", joint.Limit)
	}
	return b.String()
}

type meansCommand struct {
	Dir     string   `arg:"" help:"Output folder of a fit, or its model.json." placeholder:"DIR"`
	Of      []string `help:"Columns whose means or effects are printed; without it all categories and numbers." sep:"none" placeholder:"COLUMN"`
	Over    string   `help:"PUBLIC table (CSV or Parquet) that is the reference population." placeholder:"FILE"`
	Profile []string `help:"A row of the reference population in place of a table: age=40,sex=f. May be given several times." sep:"none" placeholder:"PROFILE"`
	Level   *float64 `help:"Level of the intervals; without it the level of the fit." placeholder:"P"`

	Simultaneous bool `help:"Widen the intervals so that all of them hold at once with the level (Bonferroni)."`

	JSON bool `help:"Print JSON." name:"json"`
}

func (k *meansCommand) Run(ctx context.Context, c *console) error {
	m, err := modelAt(ctx, k.Dir, k.Level)
	if err != nil {
		return err
	}
	var people means.Population
	switch {
	case (k.Over == "") == (len(k.Profile) == 0):
		return errors.New("population: must be given: one of --over FILE and --profile")
	case k.Over != "":
		people, err = publicRows(ctx, k.Over)
	default:
		if people, err = profiles(k.Profile); err == nil {
			err = checkProfiles(m.Schema(), people)
		}
	}
	if err != nil {
		return err
	}
	answers, predicted, err := k.answers(ctx, m, people)
	if err == nil && k.Simultaneous {
		if m, err = atLevel(k.Dir, m, nil, 1+len(answers.List)+len(predicted)); err != nil {
			return err
		}
		answers, predicted, err = k.answers(ctx, m, people)
	}
	if err != nil {
		return err
	}
	text := meansText(answers, predicted)
	if k.Simultaneous {
		text += simultaneous("the level in the head of the table")
	}
	return c.answer(k.JSON, struct {
		*means.Answers
		Profiles []profilePrediction `json:"profiles,omitempty"`
	}{answers, predicted}, text)
}

// answers returns the means and effects, and the predictions for profiles.
func (k *meansCommand) answers(ctx context.Context, m *model.Model, people means.Population) (*means.Answers, []profilePrediction, error) {
	answers, err := means.Of(ctx, m, people, k.Of)
	if err != nil {
		return nil, nil, err
	}
	predicted, err := k.predictions(ctx, m, people)
	return answers, predicted, err
}

// publicRows reads a public table.
func publicRows(ctx context.Context, path string) (people means.Population, err error) {
	r, err := table.Open([]string{path}, dataset.CSV{})
	if err != nil {
		return people, err
	}
	defer r.Close()
	people.Header = slices.Clone(r.Header())
	for ctx.Err() == nil {
		cells, more, err := r.Next()
		if err != nil || !more {
			return people, err
		}
		people.Rows = append(people.Rows, slices.Clone(cells))
	}
	return people, ctx.Err()
}

// profiles parses profiles such as age=40,sex=f. All must name the same columns.
func profiles(texts []string) (people means.Population, err error) {
	for i, text := range texts {
		var names, cells []string
		for _, part := range strings.Split(text, ",") {
			name, cell, ok := strings.Cut(part, "=")
			if !ok {
				return people, fmt.Errorf("profile = %s: must be column=value, several joined by commas", strconv.Quote(text))
			}
			names, cells = append(names, strings.TrimSpace(name)), append(cells, cell)
		}
		if i == 0 {
			people.Header = names
		}
		if !slices.Equal(names, people.Header) {
			return people, fmt.Errorf("profile = %s: must name the columns of the first profile, in its order", strconv.Quote(text))
		}
		people.Rows = append(people.Rows, cells)
	}
	return people, nil
}

// checkProfiles returns an error if a profile has a value that is not of its column: in a table such a value counts as
// missing, as the level other or as a bound, but one that was written by hand is a slip.
func checkProfiles(schema *dataset.Schema, people means.Population) error {
	for _, c := range schema.Columns() {
		at := slices.Index(people.Header, c.Name)
		if at < 0 {
			continue
		}
		for _, cells := range people.Rows {
			cell, rule := strings.TrimSpace(cells[at]), ""
			switch v, err := strconv.ParseFloat(cell, 64); {
			case cell == "" || slices.Contains(schema.Missing(), cell):
			case c.Kind == dataset.Category && cell != "other" && !slices.Contains(c.Categories, cell):
				rule = "must be a level of the model, other, or empty"
			case c.Kind == dataset.Number && !(err == nil && v >= c.Low && v <= c.High):
				rule = fmt.Sprintf("must be a number from %v to %v, or empty", c.Low, c.High)
			}
			if rule != "" {
				return fmt.Errorf("profile: %s = %s: %s", strconv.Quote(c.Name), strconv.Quote(cell), rule)
			}
		}
	}
	return nil
}

// profilePrediction is the prediction for one profile.
type profilePrediction struct {
	Profile    string   `json:"profile"`
	Prediction float64  `json:"prediction"`
	Low        *float64 `json:"low,omitempty"`
	High       *float64 `json:"high,omitempty"`
}

// predictions returns the predictions for the profiles.
func (k *meansCommand) predictions(ctx context.Context, m *model.Model, people means.Population) (
	list []profilePrediction, err error) {
	if o, err := m.Output(); err != nil || len(k.Profile) == 0 || o == model.Probabilities { // no prediction of one number
		return nil, err
	}
	rows := func(yield func([]string, error) bool) {
		for _, cells := range people.Rows {
			if !yield(cells, nil) {
				return
			}
		}
	}
	for p, err := range m.Predictions(ctx, model.Source{Header: people.Header, Cells: rows}) {
		if err != nil {
			return nil, err
		}
		one := profilePrediction{Profile: k.Profile[len(list)], Prediction: p.Value}
		if len(p.Probabilities) == 2 {
			one.Prediction = p.Probabilities[1]
		}
		if p.Interval != nil {
			one.Low, one.High = &p.Interval.Low, &p.Interval.High
		}
		list = append(list, one)
	}
	return list, nil
}

// meansText shows answers as a table of text.
func meansText(a *means.Answers, predicted []profilePrediction) string {
	var b strings.Builder
	interval := func(low, high *float64) string {
		if low == nil {
			return "-"
		}
		return fmt.Sprintf("%.4g to %.4g", *low, *high)
	}
	reasons, order := map[string][]string{}, []string(nil)
	fmt.Fprintf(&b, "Mean prediction (%s) over %d rows of the population: %.4g\n", safetext.Text(a.Of), a.Rows, *a.Mean.Estimate)
	head := "interval"
	if a.Level > 0 {
		head = fmt.Sprintf("%.5g%% interval", 100*a.Level)
	}
	if predicted != nil {
		b.WriteString("\n" + safetext.Table([]string{"profile", "prediction", head},
			vector.Map(predicted, func(p profilePrediction) []string {
				return []string{p.Profile, fmt.Sprintf("%.4g", p.Prediction), interval(p.Low, p.High)}
			})))
	}
	var rows [][]string
	for _, r := range append([]means.Answer{a.Mean}, a.List...) {
		name, of := r.Column, "mean for "+r.Level
		switch {
		case r.Column == "":
			name, of = "all", "mean"
		case r.Level == "":
			of = "effect of one unit more"
		case r.Against != "":
			of = r.Level + " less " + r.Against
		}
		if why := r.Reason; why != "" {
			if r.Low == nil {
				why = "no interval: " + why
			}
			if reasons[why] == nil {
				order = append(order, why)
			}
			reasons[why] = append(reasons[why], strings.TrimSuffix(name+" "+of, " effect of one unit more"))
		}
		estimate := "-"
		if r.Estimate != nil {
			estimate = fmt.Sprintf("%.4g", *r.Estimate)
		}
		rows = append(rows, []string{name, of, estimate, interval(r.Low, r.High)})
	}
	b.WriteString("\n" + safetext.Table([]string{"column", "of it", "estimate", head}, rows))
	if a.Short {
		text := "The formula of the fit is SHORT: levels that it lacks count as the reference level, pairs of levels as no " +
			"interaction, and numbers that it lacks are left out. "
		if a.Mean.Low != nil {
			text += "The intervals of means hold for all predictions that rows with these may have. "
		}
		b.WriteString(safetext.Lines(text+"Differences and effects are those of the SHORT formula.", "", 100))
	}
	for _, why := range order {
		b.WriteString(safetext.Lines(safetext.Text(safetext.Few(reasons[why])+": "+why), "", 100))
	}
	return b.String()
}
