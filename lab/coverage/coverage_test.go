package coverage

import (
	"flag"
	"fmt"
	"math"
	"os"
	"regexp"
	"testing"
)

var (
	longFits   = flag.Int("long.fits", 0, "how often TestLong fits each design; 0 leaves it out")
	longDesign = flag.String("long.design", "", "a regular expression of the names of TestLong's designs")
	longTables = flag.String("long.tables", "", "the folder of public tables; without it TestLong leaves out their designs")
	longOut    = flag.String("long.out", "", "a file to which TestLong appends its table")
)

// TestLong makes the table of all designs, by hand.
func TestLong(t *testing.T) {
	if *longFits == 0 {
		t.Skip("by hand: -long.fits")
	}
	tables = *longTables
	named := regexp.MustCompile(*longDesign)
	for _, d := range designs {
		if !named.MatchString(d.Name) || d.File && tables == "" {
			continue
		}
		j, err := d.Run(t.Context(), *longFits)
		if err != nil {
			t.Error(err)
			continue
		}
		fmt.Print(j.Rows())
		if *longOut == "" {
			continue
		}
		f, err := os.OpenFile(*longOut, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(j.Rows()); err != nil {
			t.Error(err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestLevels prints the share of the intervals of other levels that hold the truth, over the designs with intervals that
// -long.design names, by hand: -long.fits.
func TestLevels(t *testing.T) {
	if *longFits == 0 {
		t.Skip("by hand: -long.fits")
	}
	named := regexp.MustCompile(*longDesign)
	levels, held, stated := []float64{.8, .9, .95, .99, .998}, make([]int, 5), 0
	for _, d := range designs {
		if !d.Intervals || !named.MatchString(d.Name) {
			continue
		}
		j, err := d.Run(t.Context(), *longFits)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range j.Terms {
			stated += len(k.all)
			for i, v := range k.all {
				for l, level := range levels {
					if math.Abs(v) <= math.Sqrt2*math.Erfinv(level)*k.Stated[i] {
						held[l]++
					}
				}
			}
		}
	}
	for l, level := range levels {
		fmt.Printf("%d of %d intervals at %v hold the truth\n", held[l], stated, level)
	}
}
