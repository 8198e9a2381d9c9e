package train

import (
	"fmt"

	"github.com/stillpoint-dp/stillpoint/certificate"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

// units turns the loss of one row into the loss of all rows of a unit, if the schema has a unit.
func (c *Config) units(row loss.Loss) (loss.Loss, error) {
	unit := c.Schema.Unit()
	if _, twice := row.(loss.Units); twice {
		return nil, fmt.Errorf("model.loss = %q: must be the loss of one row: schema.unit says whose rows are one record", row.Name())
	}
	switch counting := c.Model.Units; {
	case counting != "" && counting != string(certificate.Mean) && counting != string(certificate.Sum):
		return nil, fmt.Errorf("model.units = %q: must be %s or %s", counting, certificate.Mean, certificate.Sum)
	case unit == (dataset.Unit{}) && counting != "":
		return nil, fmt.Errorf("model.units = %q: must be left out where schema.unit is, and each row is a record", counting)
	case unit == (dataset.Unit{}):
		return row, nil
	}
	l, err := loss.NewUnits(row, unit.Rows, c.Model.Units == string(certificate.Sum))
	if err != nil {
		return nil, fmt.Errorf("model.loss: schema.unit: %w", err)
	}
	return l, nil
}

// rowsOf returns the problem with the largest possible number of rows as its records, for estimates of
// the cost of passes.
func rowsOf(p optimize.Problem, s *dataset.Schema) optimize.Problem {
	p.Records *= float64(max(1, s.Unit().Rows))
	return p
}

// unitOf says whose rows form one record under a loss, in the form of certificates.
func unitOf(s *dataset.Schema, l loss.Loss) certificate.Unit {
	u, ok := l.(loss.Units)
	if !ok {
		return certificate.Unit{}
	}
	count := certificate.Mean
	if u.Summed() {
		count = certificate.Sum
	}
	return certificate.Unit{Column: s.Unit().Column, Rows: u.Rows(), Count: count}
}
