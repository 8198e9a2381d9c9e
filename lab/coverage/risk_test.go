package coverage

import (
	"fmt"
	"math"
	"regexp"
	"testing"

	"github.com/stillpoint-dp/stillpoint"
)

// TestRisks prints the share of the intervals of risks by the last of five years that hold the true risk, at the levels .9
// and .95, by hand: -long.fits. The designs are those of times in whole years.
func TestRisks(t *testing.T) {
	if *longFits == 0 {
		t.Skip("by hand: -long.fits")
	}
	named := regexp.MustCompile(*longDesign)
	for _, d := range designs {
		if d.Cuts == nil || !named.MatchString(d.Name) {
			continue
		}
		for _, size := range []struct {
			records int
			epsilon float64
		}{{4000, 2}, {4000, 4}, {20_000, 2}} {
			d.Records, d.Epsilon = size.records, size.epsilon
			held, stated, far, wide := 0, 0, 0., 0.
			for i := range *longFits {
				s, err := d.spec(d.rows(uint64(1000+i), d.Records))
				if err != nil {
					t.Fatal(err)
				}
				s.Inference.Level = .9
				r, err := stillpoint.Fit(t.Context(), s)
				if err != nil {
					t.Fatal(err)
				}
				rows := d.rows(3, 20)
				s, err = d.spec(rows)
				if err != nil {
					t.Fatal(err)
				}
				at := 0
				for p, err := range stillpoint.Predictions(t.Context(), r.Model, s.Table) {
					if err != nil {
						t.Fatal(err)
					}
					x := rows[at].x
					at++
					if p.Interval == nil {
						continue
					}
					z := -1.5 + .6*x[0] - .4*x[1] + .5*x[2]
					risk := 1 - math.Exp(-5*math.Exp(z))
					if d.Loss[0] == 'l' {
						risk = 1 - math.Pow(1+math.Exp(z), -5)
					}
					stated++
					if p.Interval.Low <= risk && risk <= p.Interval.High {
						held++
					}
					far += (p.Value - risk) * (p.Value - risk)
					wide += math.Pow((p.Interval.High-p.Interval.Low)/2/1.645, 2)
				}
			}
			fmt.Printf("%s, %d rows, epsilon %v: %d of %d intervals hold the risk (%.3f) of %d fits; stated over error %.2f, error %.4f\n", d.Name,
				d.Records, d.Epsilon, held, stated, float64(held)/float64(stated), *longFits, math.Sqrt(wide/far),
				math.Sqrt(far/float64(stated)))
		}
	}
}
