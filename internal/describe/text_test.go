package describe_test

import (
	"regexp"
	"testing"

	"github.com/stillpoint-dp/stillpoint/internal/describe"
)

// told is a description with a value of each kind.
func told() describe.Description {
	v := func(x, low, high float64) describe.Value { return describe.Value{Estimate: x, Low: low, High: high} }
	p := func(x, low, high float64) *describe.Value { value := v(x, low, high); return &value }
	return describe.Description{
		Level: .9, Rows: v(1000, 1000, 1000), By: "sex",
		Columns: []describe.Column{
			{Name: "age", Kind: "number", Missing: p(.0123, 0, .0256), Within: []float64{10, 93.25}, Beyond: p(.004, 0, .021),
				Mean: p(38.61, 38.2, 39.02), Spread: p(13.625, 12.25, 14.75), Bounds: []float64{10, 89},
				Quantiles: []describe.Quantile{{Share: .05, Value: v(19.25, -1<<40, 20.5)}, {Share: .5, Value: v(37, 36.125, 38)}}},
			{Name: "seen", Kind: "date", Missing: p(0, 0, .01), Mean: p(18262.5, 18260, 18264), Within: []float64{18000, 19000}},
			{Name: "dose", Kind: "number", Missing: p(1, .9, 1)},
			{Name: "sex", Kind: "category", Levels: []describe.Level{
				{Name: "f", Share: v(.6, .55, .65), Count: v(600.4, 550, 650), Columns: []describe.Column{
					{Name: "age", Kind: "number", Mean: p(36.5, 36, 37)},
					{Name: "ill", Kind: "category", Levels: []describe.Level{{Name: "yes", Share: v(.25, .2, .3)}}}}},
				{Name: "m", Share: v(.4, .35, .45), Count: v(399.6, 350, 450), Columns: []describe.Column{
					{Name: "age", Kind: "number"},
					{Name: "ill", Kind: "category", Levels: []describe.Level{{Name: "yes", Share: v(.125, .1, .2)}}}}},
				{Name: "other", Share: v(0, 0, .01), Count: v(0, 0, 10)},
			}},
		},
	}
}

// TestDescriptionInWords: the text of a description has each value, its interval and its name, and says where an
// interval has no end and where a column has no number above the noise.
func TestDescriptionInWords(t *testing.T) {
	d := told()
	const want = `column  of it               value        90% interval
age     missing             1.2%         0.0% to 2.6%
        5% quantile         19.25        no end to 20.5
        median              37           36.12 to 38
        mean                38.61        38.2 to 39.02
        standard deviation  13.62        12.25 to 14.75
        clamped to          10 to 93.25
        far beyond          0.4%         0.0% to 2.1%
        bounds for a fit    10 to 89
seen    missing             0.0%                      0.0% to 1.0%
        mean                2020-01-01                2019-12-30 to 2020-01-03
        clamped to          2019-04-14 to 2022-01-08
dose    missing             100.0%                 90.0% to 100.0%
        numbers             none above the noise
sex     f                   600 (60.0%)  55.0% to 65.0%
        m                   400 (40.0%)  35.0% to 45.0%
        other               0 (0.0%)     0.0% to 1.0%

By sex
column  of it  sex = f             sex = m
rows           600 (550 to 650)    400 (350 to 450)
age     mean   36.5 (36 to 37)     -
ill     yes    25.0% (20.0% to 30.0%)  12.5% (10.0% to 20.0%)
`
	if got := d.Text(); words(got) != words(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// words returns a text with each run of spaces as one, so that widths of columns do not count.
func words(text string) string {
	return spaces.ReplaceAllString(text, " ")
}

var spaces = regexp.MustCompile(` +`)

// TestSmallSharesInWords: a share below .1% has three decimals, so that its interval is not shown from 0.0% to 0.0%.
func TestSmallSharesInWords(t *testing.T) {
	v := func(x, low, high float64) describe.Value { return describe.Value{Estimate: x, Low: low, High: high} }
	d := describe.Description{Level: .9, Columns: []describe.Column{{Name: "g", Kind: "category", Levels: []describe.Level{
		{Name: "a", Share: v(.00034, .00012, .00056)}, {Name: "b", Share: v(.0004996, 0, .00099)}, {Name: "c", Share: v(.001, .0009999, .00149)}}}}}
	const want = `column of it value 90% interval
g a 0 (0.034%) 0.012% to 0.056%
 b 0 (0.050%) 0.0% to 0.099%
 c 0 (0.1%) 0.100% to 0.1%
`
	if got := d.Text(); words(got) != want {
		t.Errorf("got\n%s\nwant\n%s", words(got), want)
	}
}
