package experiment_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/lab/experiment"
)

// TestStudyIsAPage tests the parts of the page: a plot for each problem with a curve for each
// algorithm over the sizes, the slopes, the comparisons at the last size, and the table.
func TestStudyIsAPage(t *testing.T) {
	s := parseSpec(t, powerSpec)
	records := powers(t, s)
	for i := range records {
		if records[i].Label == "a" {
			records[i].Outcome.Series = []experiment.Point{{Step: 1, Charged: .1, GradientNorm: 1},
				{Step: 5, Charged: .5, GradientNorm: .2}}
		}
	}
	summary, err := s.Summarize(records[:len(records)-1])
	if err != nil {
		t.Fatal(err)
	}
	study := summary.Study(s.Question, "make it so")
	if len(study.Curves) != 2 || len(study.Slopes.Items) != 4 || len(study.Comparisons) != 2 || len(study.Charges) != 2 ||
		len(study.Tables[0].Rows) != 12 {
		t.Fatalf("%+v", study)
	}
	for i, p := range study.Curves {
		if len(p.Series) != 2 || len(p.Series[1].X) != 3 || p.Series[1].Name != "b" || len(p.References) != 2 ||
			len(study.Charges[i].Series) != 1 {
			t.Errorf("%+v", p)
		}
		for k, x := range p.Series[1].X {
			if c := summary.Cells[i*6+k*2+1]; x != c.Effective || p.Series[1].Y[k] != c.GradientNorm.Median {
				t.Errorf("%s at %v: %v", p.Title, x, p.Series[1].Y[k])
			}
		}
		if b := study.Comparisons[i]; len(b.Items) != 1 || !strings.Contains(b.Title, "N = ") || b.Items[0].Value >= 1 {
			t.Errorf("%+v", b)
		}
	}
	page, err := study.Page()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := page.Render(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"powers", "huber-mean, d = 9, epsilon = 2", "make it so", "1 of 72 runs are missing"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}
