package audit

import (
	"cmp"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/targetpair"
	"github.com/stillpoint-dp/stillpoint/internal/train"
)

// drawn generates n random rows that fit a schema, and encodes them as the schema encodes a row of a file.
// Most cells are within the public bounds and lists of the schema; a few are outside them or missing.
func drawn(s *dataset.Schema, n int, seed uint64) (Table, error) {
	target, columns := s.Target(), s.Columns()
	header := []string{target.Column}
	beside := target.Weight + target.Exposure.Column // at most one of the two column names is not empty
	if beside != "" {
		header = append(header, beside)
	}
	event, occurred, _ := strings.Cut(target.Event, "=")
	for _, name := range []string{event, target.Entry} {
		if name != "" {
			header = append(header, name)
		}
	}
	for _, c := range columns {
		header = append(header, c.Name)
	}
	if unit := s.Unit(); unit != (dataset.Unit{}) {
		header = append(header, unit.Column)
	}
	m, err := s.Bind(header)
	if err != nil {
		return Table{}, err
	}
	r := rand.New(rand.NewPCG(seed, uint64(n)))
	t := Table{Rows: make([][]float32, n), Targets: make([]float64, n)}
	for i := range n {
		cells := []string{outcome(r, target)}
		switch e := target.Exposure; {
		case e.Column != "":
			cells = append(cells, number(r, e.Low, e.High))
		case beside != "":
			cells = append(cells, number(r, 0, 1))
		}
		if event != "" {
			cells = append(cells, []string{"0", cmp.Or(occurred, "1")}[r.IntN(2)])
		}
		if target.Entry != "" {
			cells = append(cells, number(r, 0, target.High/2))
		}
		for _, c := range columns {
			cells = append(cells, cell(r, c))
		}
		// The cell that names the row's unit stays empty, since units are assigned later.
		cells = append(cells, make([]string, len(header)-len(cells))...)
		t.Rows[i] = make([]float32, s.Dim())
		// A row whose target is not valid becomes a row of zeros with target 0. A session treats it as a record.
		if t.Targets[i], _ = m.Encode(t.Rows[i], cells); event != "" {
			t.Targets[i] = targetpair.Times{Cuts: target.Cuts, Increments: target.Hazards, Grouped: target.Grouped}.Carried(t.Targets[i])
		}
	}
	return t, nil
}

// shorten replaces each row by the row with fewer features that the configuration's reduction makes of it.
// Without a reduction, the rows stay as they are.
func (t *Table) shorten(c *train.Config) error {
	reduce, err := c.Reduction()
	if err != nil || reduce == nil {
		return err
	}
	sums := make([]float64, reduce.Size())
	for i, x := range t.Rows {
		t.Rows[i] = make([]float32, reduce.Size())
		reduce.Map(t.Rows[i], sums, x)
	}
	return nil
}

func outcome(r *rand.Rand, t dataset.Target) string {
	if t.Kind == dataset.Category {
		return t.Classes[r.IntN(len(t.Classes))]
	}
	return number(r, t.Low, t.High)
}

func cell(r *rand.Rand, c dataset.Column) string {
	switch {
	case c.Kind == dataset.Ignore || c.Kind == dataset.Public || r.IntN(20) == 0:
		return ""
	case c.Kind == dataset.Category:
		return c.Categories[r.IntN(len(c.Categories))]
	case c.Kind == dataset.Hash:
		return strconv.Itoa(r.IntN(2 * c.Buckets))
	case c.Kind == dataset.Date:
		return day(r, c)
	case r.IntN(20) == 0:
		return number(r, c.High, 2*c.High-c.Low)
	}
	return number(r, c.Low, c.High)
}

// day returns a random day as the text of a cell of a date column, in the column's layout. A few
// days are later than the last day that the column allows.
func day(r *rand.Rand, c dataset.Column) string {
	t := time.Unix(0, 0).UTC().AddDate(0, 0, int(c.Low+math.Floor(1.05*r.Float64()*(c.High-c.Low+1))))
	layout := c.Layout
	layout = cmp.Or(layout, "%Y-%m-%d")
	return strings.NewReplacer("%Y", t.Format("2006"), "%m", t.Format("01"), "%d", t.Format("02"), "%H", "00", "%M", "00",
		"%S", "00").Replace(layout)
}

func number(r *rand.Rand, low, high float64) string {
	u := r.Float64()
	return strconv.FormatFloat(low*(1-u)+high*u, 'g', -1, 64)
}
