package main

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"

	"github.com/stillpoint-dp/stillpoint"
	"github.com/stillpoint-dp/stillpoint/internal/inference"
	"github.com/stillpoint-dp/stillpoint/internal/runfolder"
	"github.com/stillpoint-dp/stillpoint/model"
)

type predictCommand struct {
	Model string `arg:"" help:"Model file, or an output folder." placeholder:"MODEL"`
	Data  string `arg:"" help:"Table (CSV, plain or compressed, or Parquet) with the model's columns; the target may be absent." placeholder:"DATA"`
	Where string `help:"Score only the rows with column=value; others get empty predictions." placeholder:"COLUMN=VALUE"`
	Out   string `help:"Write to FILE instead of standard output: Parquet if it ends in .parquet, Arrow (Feather) if it ends in .arrow or .feather, else CSV." placeholder:"FILE"`

	Intervals bool      `help:"Add lower and upper: the confidence interval of each prediction, for a fit with inference: {level: 0.95}."`
	Horizon   []float64 `help:"Times by which a model of the time to an event predicts the risk, in place of the end of the time that is modelled." placeholder:"TIME,..."`
	Margin    bool      `help:"Add the margins, behind the other columns."`
	csvFlags
}

func (p *predictCommand) Run(ctx context.Context, c *console) error {
	if p.Horizon != nil && len(p.Horizon) == 0 {
		return errors.New("predict: --horizon: must list a time or more, or be left out")
	}
	p.Model = inFolder(p.Model, runfolder.ModelFile)
	m, err := model.Read(p.Model)
	if err != nil {
		return err
	}
	rows := stillpoint.File(p.Data).Written(p.csv())
	predict := func(w io.Writer) error {
		return stillpoint.Predict(ctx, m, rows, w,
			stillpoint.PredictOptions{Where: p.Where, Margins: p.Margin, Intervals: p.Intervals,
				Horizons: p.Horizon, Format: formatOf(p.Out)})
	}
	if p.Intervals {
		list, err := m.Coefficients()
		if err != nil {
			return err
		}
		if text := withoutIntervals(list); text != "" {
			c.note("warning", text)
		}
	}
	if p.Out == "" {
		// The names of classes have no control or invisible characters (package dataset). A program that
		// reads predictions from a pipe gets them unchanged.
		if w, is := terminal(c.out); !is {
			return predict(w)
		}
		return predict(c.out)
	}
	return writeFile(p.Out, []string{p.Model, p.Data}, predict)
}

// formatOf returns the format of predictions in the file named path.
func formatOf(path string) string {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".parquet":
		return "parquet"
	case ".arrow", ".feather":
		return "arrow"
	}
	return "csv"
}

// withoutIntervals says why no row has an interval, or which rows have none because the formula of the fit lacks terms that
// were asked for. It returns "" if the formula lacks no such term.
func withoutIntervals(list *model.Coefficients) string {
	for _, r := range list.Reasons {
		if list.Method == string(inference.NotIdentified) && r.State == inference.Unidentified {
			return "warning: no prediction has an interval: " + r.Text
		}
	}
	if !list.Short {
		return ""
	}
	return "warning: predictions of rows that depend on these terms have no interval, since the formula of the fit lacks " +
		"the terms: " + strings.Join(list.Changes, "; ")
}

type evaluateCommand struct {
	Model string `arg:"" help:"Model file, or an output folder." placeholder:"MODEL"`
	Data  string `arg:"" help:"Table (CSV, plain or compressed, or Parquet) with the model's columns and target." placeholder:"DATA"`
	Where string `help:"Use only the rows with column=value, for example split=test." placeholder:"COLUMN=VALUE"`
	JSON  bool   `help:"Print JSON." name:"json"`

	By           string   `help:"Also compare predictions with outcomes by the values of a column." placeholder:"COLUMN"`
	Horizon      *float64 `help:"Measure events up to TIME, of a model of the time to an event, in place of the end of the time that is modelled." placeholder:"TIME"`
	Stationarity bool     `help:"Also find the least eigenvalue of the objective's Hessian at the weights. NOT private either."`
	csvFlags
}

func (e *evaluateCommand) Run(ctx context.Context, c *console) error {
	e.Model = inFolder(e.Model, runfolder.ModelFile)
	m, err := model.Read(e.Model)
	if err != nil {
		return err
	}
	m = m.ReadAs(e.csv())
	evaluate := m.Evaluate
	if e.Stationarity {
		evaluate = m.EvaluateStationarity
	}
	var horizon []float64
	if e.Horizon != nil {
		horizon = append(horizon, *e.Horizon)
	}
	metrics, err := evaluate(ctx, e.Data, e.Where, e.By, horizon...)
	if err != nil {
		return err
	}
	return c.answer(e.JSON, metrics, metrics)
}
