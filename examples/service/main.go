// Command service shows how a Go service trains on records that it holds in
// memory: it silences crashes, states the schema in Go, opens a session over its own
// structs, lets the planner choose, trains, writes a model and a certificate,
// verifies what it wrote and predicts. The records here are made up.
//
//	go run ./examples/service DIR
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/certificate"
	"github.com/stillpoint-dp/stillpoint/curator"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/model"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/choose"
	"github.com/stillpoint-dp/stillpoint/silence"
)

const software = "stillpoint example service"

// patient is a record as the service has it.
type patient struct {
	age      float64 // years; NaN if unknown
	ward     string
	returned bool // came back within a month
}

// schema says what everybody may know of a record. Bounds and categories come from
// public knowledge, never from looking at the records.
func schema() (*dataset.Schema, error) {
	return dataset.New(dataset.Definition{
		Columns: []dataset.Column{
			{Name: "age", Kind: dataset.Number, Low: 18, High: 100},
			{Name: "ward", Kind: dataset.Category, Categories: []string{"heart", "lung"}},
		},
		Target: dataset.Target{Column: "returned", Kind: dataset.Category, Classes: []string{"no", "yes"}},
	})
}

// rows says how a record becomes the cells of a row: one for each record, whatever
// the record holds.
func rows(patients []patient) *curator.Rows {
	return curator.RowsOf(patients,
		curator.Number("age", func(p patient) float64 { return p.age }),
		curator.Text("ward", func(p patient) string { return p.ward }),
		curator.Text("returned", func(p patient) string {
			if p.returned {
				return "yes"
			}
			return "no"
		}),
	)
}

func main() {
	// First of all: a crash from here on shows nothing of the records.
	stderr, err := silence.Crashes()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if len(os.Args) != 2 {
		fmt.Fprintln(stderr, "usage: service DIR")
		os.Exit(2)
	}
	if err := run(context.Background(), os.Args[1], invented(20_000)); err != nil {
		fmt.Fprintln(stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, dir string, patients []patient) error {
	s, err := schema()
	if err != nil {
		return err
	}
	// The whole of what these records may ever be charged. Training on them again
	// costs a second budget, and to remember that is the service's part.
	budget, err := account.NewBudget(1, 1e-6, account.ReplaceOne)
	if err != nil {
		return err
	}
	session, err := curator.Open(ctx, curator.Config{Rows: rows(patients), Schema: s, Loss: loss.Logistic(), Budget: budget})
	if err != nil {
		return err
	}
	defer session.Close()

	problem, err := optimize.NewProblem(loss.Logistic(), budget, session)
	if err != nil {
		return err
	}
	plan, err := choose.Auto{WithoutSamples: true}.Plan(ctx, problem)
	if err != nil {
		return err
	}
	result, err := plan.Run(ctx, session, nil)
	if err != nil {
		return err
	}
	if err := session.Close(); err != nil {
		return err
	}
	if err := publish(dir, s, session, plan, result); err != nil {
		return err
	}
	if err := verify(ctx, dir); err != nil {
		return err
	}
	return predict(dir, patient{age: 81, ward: "heart"})
}

// paths are where the two files go.
func paths(dir string) (modelPath, certificatePath string) {
	return filepath.Join(dir, "model.json"), filepath.Join(dir, "certificate.json")
}

// publish writes the model, and the certificate that names it by its digest.
func publish(dir string, s *dataset.Schema, session *curator.Session, plan optimize.Plan, result optimize.Result) error {
	modelPath, certificatePath := paths(dir)
	budget, filter := session.Ledger().Budget(), certificate.Filter(s.Filter())
	m, err := model.New(model.Params{
		Software: software, Complete: result.Complete, Loss: loss.Logistic(), Regularizer: loss.None(), Schema: s, Weights: result.W,
		Privacy: model.Privacy{
			Epsilon: budget.Epsilon(), Delta: budget.Delta(), Relation: budget.Relation().String(),
			Neighbour: filter.Neighbour(budget.Relation()), Certificate: filepath.Base(certificatePath),
		},
	})
	if err != nil {
		return err
	}
	digest, err := m.Write(modelPath)
	if err != nil {
		return err
	}
	summary, err := json.Marshal(plan.Summary())
	if err != nil {
		return err
	}
	// Records, unit, budget and releases are the session's, which is closed by now: what
	// it could still release would not be covered.
	c, err := certificate.New(session, certificate.Params{
		Software: software, Algorithm: certificate.Algorithm{Name: plan.Summary().Algorithm, Plan: summary},
		Complete: result.Complete, ModelSHA256: digest,
	})
	if err != nil {
		return err
	}
	return c.Write(certificatePath)
}

// verify does what anybody can do with the two files, without the records.
func verify(ctx context.Context, dir string) error {
	modelPath, certificatePath := paths(dir)
	c, err := certificate.Read(certificatePath)
	if err != nil {
		return err
	}
	report, err := c.Verify(ctx)
	if err != nil {
		return err
	}
	if err := certificate.VerifyModel(c, modelPath); err != nil {
		return err
	}
	fmt.Printf("verified: (%v, %v)-differentially private under %v, %d records\n", report.Epsilon, report.Delta, report.Relation, report.Records)
	return nil
}

// predict uses the published model on a record that is not among the others.
func predict(dir string, p patient) error {
	path, _ := paths(dir)
	m, err := model.Read(path)
	if err != nil {
		return err
	}
	table := rows([]patient{p})
	bound, err := m.Schema().BindUnlabelled(table.Header)
	if err != nil {
		return err
	}
	x := make([]float32, m.Dim())
	for cells := range table.Cells {
		bound.Encode(x, cells)
		fmt.Printf("a patient of %v in the %s ward comes back with probability %.2f\n", p.age, p.ward, 1/(1+math.Exp(-m.Margin(x))))
	}
	return nil
}

// invented makes up patients: old ones of the heart ward come back.
func invented(n int) []patient {
	patients := make([]patient, n)
	for i := range patients {
		p := patient{age: float64(18 + i*37%83), ward: []string{"heart", "lung", "unknown"}[i%3]}
		if i%50 == 0 {
			p.age = math.NaN()
		}
		p.returned = p.age > 60 && p.ward == "heart" || i%10 == 0
		patients[i] = p
	}
	return patients
}
