package coverage

import (
	"flag"
	"fmt"
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
