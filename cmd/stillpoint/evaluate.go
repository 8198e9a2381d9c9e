package main

import (
	"context"

	"github.com/stillpoint-dp/stillpoint/model"
)

type evaluateCommand struct {
	Model string `arg:"" help:"Model file." placeholder:"MODEL"`
	Data  string `arg:"" help:"Table (CSV, plain or compressed, or Parquet) with the model's columns and target." placeholder:"DATA"`
	Where string `help:"Use only the rows with column=value, for example split=test." placeholder:"COLUMN=VALUE"`
	JSON  bool   `help:"Print JSON." name:"json"`

	By           string   `help:"Also compare predictions with outcomes by the values of a column." placeholder:"COLUMN"`
	Horizon      *float64 `help:"Measure events up to TIME, of a model of the time to an event, in place of the end of the time that is modelled." placeholder:"TIME"`
	Stationarity bool     `help:"Also find the least eigenvalue of the objective's Hessian at the weights. NOT private either."`
	csvFlags
}

func (e *evaluateCommand) Run(ctx context.Context, c *console) error {
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
