package report

import "fmt"

const publicTitle = "Measured on a public table"

// public makes the section of the page with the model's quality on a table that is public or that the
// reader may see. These numbers are not private.
func (f *Fit) public() Section {
	m := f.Public
	s := Section{Title: publicTitle, Parts: []Part{
		Note("NOT private: these figures are exact facts about the rows of a table. Publish them only if its rows are " +
			"public, or accounted for."),
	}}
	facts := Facts{{Name: "Rows", Value: Number(float64(m.N)),
		Note: count(int(m.Skipped), "row was", "rows were") + " not scored"}}
	for _, x := range []struct {
		name  string
		value *float64
		note  string
	}{
		{"Accuracy", m.Accuracy, "share of rows whose class is predicted"},
		{"AUC", m.AUC, ""},
		{"Root mean square error", m.RMSE, "in the target's units"},
		{"Mean absolute error", m.MAE, "in the target's units"},
		{"Mean loss", m.Objective, "the regularizer included"},
		{"Gradient norm", m.GradientNorm, "0 at a stationary point of these rows"},
	} {
		if x.value != nil {
			facts = append(facts, Fact{Name: x.name, Value: Number(*x.value), Note: x.note})
		}
	}
	if e := m.LeastEigenvalue; e != nil {
		note := "of the Hessian"
		if r := m.EigenvalueResidual; r != nil {
			note += fmt.Sprintf(", up to %s", Number(*r))
		}
		if *e < 0 {
			note += "; below zero the loss still falls along its direction"
		} else {
			note += "; the loss falls along no direction to second order"
		}
		facts = append(facts, Fact{Name: "Least eigenvalue", Value: Number(*e), Note: note})
	}
	if why := m.NoEigenvalue; why != "" {
		facts = append(facts, Fact{Name: "Least eigenvalue", Value: "none", Note: why})
	}
	s.Parts = append(s.Parts, facts)
	return s
}
