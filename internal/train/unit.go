package train

import (
	"fmt"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

// units returns the loss of a record, given the loss of a row. If the schema has a privacy unit (a person, say), a
// record is all rows of a unit, and its loss is the mean or the sum of the rows' losses; otherwise a record is a row.
func (c *Config) units(row loss.Loss) (loss.Loss, error) {
	unit := c.Schema.Unit()
	if _, twice := row.(loss.Units); twice {
		return nil, fmt.Errorf("model.loss = %q: must be the loss of one row: schema.unit says whose rows are one record",
			row.Name())
	}
	switch counting := c.Model.Units; {
	case counting != "" && counting != string(account.Mean) && counting != string(account.Sum):
		return nil, fmt.Errorf("model.units = %q: must be %s or %s", counting, account.Mean, account.Sum)
	case unit == (dataset.Unit{}) && counting != "":
		return nil, fmt.Errorf("model.units = %q: must be left out where schema.unit is, and each row is a record",
			counting)
	case unit == (dataset.Unit{}):
		return row, nil
	}
	l, err := loss.NewUnits(row, unit.Rows, c.Model.Units == string(account.Sum))
	if err != nil {
		return nil, fmt.Errorf("model.loss: schema.unit: %w", err)
	}
	return l, nil
}

// rowsOf returns the problem p with Records set to the largest possible number of rows, to estimate
// the time of passes over the table.
func rowsOf(p optimize.Problem, s *dataset.Schema) optimize.Problem {
	p.Records *= float64(max(1, s.Unit().Rows))
	return p
}

// unitOf says which rows form one record under the loss l, in the certificate's form. It returns the zero
// Unit if each row is a record.
func unitOf(s *dataset.Schema, l loss.Loss) account.Unit {
	u, ok := l.(loss.Units)
	if !ok {
		return account.Unit{}
	}
	count := account.Mean
	if u.Summed() {
		count = account.Sum
	}
	return account.Unit{Column: s.Unit().Column, Rows: u.Rows(), Count: count}
}
