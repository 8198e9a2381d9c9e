package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/stillpoint-dp/stillpoint/internal/inference"
	"github.com/stillpoint-dp/stillpoint/internal/report"
	"github.com/stillpoint-dp/stillpoint/internal/safetext"
	"github.com/stillpoint-dp/stillpoint/model"
)

type contrastCommand struct {
	Dir      string   `arg:"" help:"Output folder of a fit with inference: {level: 0.95}, or its model.json." placeholder:"DIR"`
	Contrast []string `arg:"" help:"Combinations of terms, such as \"region=north - region=south\" or \"10 age\"." placeholder:"CONTRAST"`
	Level    *float64 `help:"Level of the intervals and of the region; without it the level of the fit." placeholder:"P"`

	Simultaneous bool `help:"Widen the intervals so that all of them hold at once with the level (Bonferroni). The joint region stays."`

	JSON bool `help:"Print JSON." name:"json"`
}

// model reads the model of a fit's folder, and verifies the folder's certificate and model. If Dir is a file,
// model reads it as a model file without verification.
func (k *contrastCommand) model(ctx context.Context) (*model.Model, error) {
	if info, err := os.Stat(k.Dir); err == nil && !info.IsDir() {
		return model.Read(k.Dir)
	}
	fit, err := report.ReadFit(ctx, k.Dir)
	if err != nil {
		return nil, err
	}
	if fit.Model == nil {
		return nil, fmt.Errorf("%s: has no model", k.Dir)
	}
	return fit.Model, nil
}

func (k *contrastCommand) Run(ctx context.Context, c *console) error {
	m, err := k.model(ctx)
	if err != nil {
		return err
	}
	if m, err = report.AtLevel(m, k.Level, 0); err != nil {
		return fmt.Errorf("%s: %w", k.Dir, err)
	}
	each := m
	if k.Simultaneous {
		if each, err = report.AtLevel(m, nil, len(k.Contrast)); err != nil {
			return fmt.Errorf("%s: %w", k.Dir, err)
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
	if k.JSON {
		return printJSON(c.out, struct {
			Contrasts []*model.ContrastOf `json:"contrasts"`
			Joint     *inference.Joint    `json:"joint,omitempty"`
		}{list, joint})
	}
	text := contrastText(list, joint)
	if k.Simultaneous {
		text += simultaneous("the level beside it")
	}
	_, err = fmt.Fprint(c.out, text)
	return err
}

// contrastText describes in words the estimates and intervals of contrasts (linear combinations of terms). If
// joint is not nil, it also describes their joint region.
func contrastText(list []*model.ContrastOf, joint *inference.Joint) string {
	var b strings.Builder
	for _, v := range list {
		fmt.Fprintf(&b, "%s\n", safetext.Text(v.Text))
		switch v.State {
		case inference.Reported:
			fmt.Fprintf(&b,
				"  %.4g, %.5g%% interval %.4g to %.4g (%s), standard error %.2g, of which privacy makes %.0f%% of the width\n",
				v.Estimate, 100*v.Level, v.Low, v.High, safetext.Text(v.Unit), v.Error, 100*v.Privacy)
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
