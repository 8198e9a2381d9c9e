package coverage

import (
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint"
	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/inference"
	"github.com/stillpoint-dp/stillpoint/loss"
)

// knotted is a population of two classes with several numbers in [0, 10], which are uniform or normal.
type knotted struct {
	records, numbers int
	normal           bool
	epsilon          float64
	chose            bool // the constants of the rule
}

var knottedDesigns = []knotted{
	{20_000, 2, false, 1, true}, {20_000, 2, true, 1, true}, {60_000, 6, false, 1, true}, {200_000, 2, true, 1, true},
	{60_000, 2, true, 2, false}, {100_000, 3, true, 2, false}, {30_000, 4, false, 4, false}, {50_000, 3, false, .5, false},
	{400_000, 5, true, 2, false}, {5_000, 2, false, 2, false},
}

// TestKnotsLong prints in how many fits with intervals each knot of each curve has one, whose number follows from the rule, by
// hand: -long.fits.
func TestKnotsLong(t *testing.T) {
	if *longFits == 0 {
		t.Skip("by hand: -long.fits")
	}
	named := regexp.MustCompile(*longDesign)
	fmt.Println("| records | numbers | rows | epsilon | knots | fits | all knots | knots with an interval |\n|---|---|---|---|---|---|---|---|")
	for _, d := range knottedDesigns {
		rows := map[bool]string{true: "normal", false: "uniform"}[d.normal]
		if !named.MatchString(fmt.Sprintf("knots, %d records", d.records)) {
			continue
		}
		knots, whole, stated, all := 0, 0, 0, 0
		for i := range *longFits {
			fit, err := d.fit(t, rand.New(rand.NewPCG(uint64(i), 0x4B07)))
			if err != nil {
				t.Fatal(err)
			}
			list, err := fit.Model.Coefficients()
			if err != nil {
				t.Fatal(err)
			}
			knots = fit.Model.Schema().Columns()[0].Curve
			of, n := 0, 0
			for _, c := range list.List {
				if strings.Contains(c.Term, "@") {
					if n++; c.State == inference.Reported {
						of++
					}
				}
			}
			if stated, all = stated+of, all+n; of == n {
				whole++
			}
		}
		fmt.Printf("| %d | %d | %s%s | %v | %d | %d | %d | %.2f |\n", d.records, d.numbers, rows, map[bool]string{true: ", chose"}[d.chose],
			d.epsilon, knots, *longFits, whole, float64(stated)/float64(all))
	}
}

type knottedRow struct {
	x []float64
	y int
}

func (d knotted) fit(t *testing.T, r *rand.Rand) (*stillpoint.Result, error) {
	rows := make([]knottedRow, d.records)
	for i := range rows {
		x := make([]float64, d.numbers)
		for j := range x {
			if x[j] = 10 * r.Float64(); d.normal {
				x[j] = min(max(5+2*r.NormFloat64(), 0), 10)
			}
		}
		rows[i].x = x
		if r.Float64() < 1/(1+math.Exp(1-.3*(x[0]-5)+.2*(x[1]-5))) {
			rows[i].y = 1
		}
	}
	of := dataset.Definition{Target: dataset.Target{Column: "y", Kind: dataset.Category, Classes: []string{"0", "1"}}}
	columns := []stillpoint.Column[knottedRow]{stillpoint.Text("y", func(r knottedRow) string { return strconv.Itoa(r.y) })}
	for j := range d.numbers {
		name := "x" + strconv.Itoa(j)
		of.Columns = append(of.Columns, dataset.Column{Name: name, Kind: dataset.Number, High: 10, Curve: dataset.CurveAuto})
		columns = append(columns, stillpoint.Number(name, func(r knottedRow) float64 { return r.x[j] }))
	}
	schema, err := dataset.New(of)
	if err != nil {
		return nil, err
	}
	return stillpoint.Fit(t.Context(), stillpoint.Spec{Table: stillpoint.Rows(rows, columns...), Schema: schema,
		Loss: loss.Logistic(), Anyway: true, Inference: &stillpoint.Inference{Level: level},
		Budget: stillpoint.Budget{Epsilon: d.epsilon, Delta: 1e-6, Relation: account.ReplaceOne}})
}
