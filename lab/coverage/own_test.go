package coverage

import (
	"compress/gzip"
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/stillpoint-dp/stillpoint"
	"github.com/stillpoint-dp/stillpoint/internal/report"
)

// adult is the example's folder.
const adult = "../../examples/adult/"

// TestAdult fits the example of the first tutorial, by hand (-long.fits), and compares each term with the fit without
// privacy of the same features. It prints the table of the results by the share of the way. Terms whose fit without
// privacy has a standard error of 1 or more by sampling are counted apart: most of them have no minimum.
func TestAdult(t *testing.T) {
	if *longFits == 0 {
		t.Skip("by hand: -long.fits")
	}
	f, err := os.Open(adult + "adult.csv.gz")
	if err != nil {
		t.Fatal(err)
	}
	text, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(text).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	header, split := rows[0], slices.Index(rows[0], "split")
	rows = slices.DeleteFunc(rows[1:], func(r []string) bool { return r[split] != "train" })
	type count struct{ stated, held, alone, unsure int }
	counts, all, late := map[int]count{}, 0, 0
	for range *longFits {
		config, err := stillpoint.ReadConfig(adult + "adult.yaml")
		if err != nil {
			t.Fatal(err)
		}
		r, err := stillpoint.Fit(t.Context(), stillpoint.Spec{Config: config})
		if err != nil {
			t.Fatal(err)
		}
		terms, err := said(t, r)
		if err != nil {
			t.Fatal(err)
		}
		l, err := own(r.Model.Schema(), header, rows)
		if err != nil {
			t.Fatal(err)
		}
		for i, term := range r.Model.Schema().Terms(false) {
			k := terms.Terms[i]
			all++
			if k.Deviation == nil {
				late++
				continue
			}
			value, deviation := l.of(term)
			c := counts[int(10**k.Share)]
			if deviation >= 1 {
				c.unsure++
			} else {
				c.stated++
				noise := k.Deviation
				if k.Steps != nil {
					noise = k.Steps
				}
				if math.Abs(*k.Value-value) <= 2**k.Deviation {
					c.held++
				}
				if math.Abs(*k.Value-value) <= 2**noise {
					c.alone++
				}
			}
			counts[int(10**k.Share)] = c
		}
	}
	fmt.Printf("%d fits, %d terms, of which %d have not arrived\n", *longFits, all, late)
	fmt.Println("| share of the way | stated | within two deviations | within two of the noise alone | without a minimum |")
	for i := range 11 {
		if c := counts[i]; c != (count{}) {
			fmt.Printf("| .%d | %d | %.3f | %.3f | %d |\n", i, c.stated, float64(c.held)/float64(c.stated),
				float64(c.alone)/float64(c.stated), c.unsure)
		}
	}
}

// said returns what a fit states of its terms.
func said(t *testing.T, r *stillpoint.Result) (*report.Coefficients, error) {
	t.Helper()
	cert, err := r.Certificate.Bytes()
	if err != nil {
		return nil, err
	}
	model, err := r.Model.Bytes()
	if err != nil {
		return nil, err
	}
	f, err := report.NewFit(t.Context(), cert, model)
	if err != nil {
		return nil, err
	}
	return f.Coefficients()
}
