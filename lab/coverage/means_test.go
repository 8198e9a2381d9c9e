package coverage

import (
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"strconv"
	"testing"

	"github.com/stillpoint-dp/stillpoint"
	"github.com/stillpoint-dp/stillpoint/internal/means"
)

// lacking is a population with a level z of g so rare that fits leave it out. Its means over populations in which z is more common
// are judged against those of the whole model.
type lacking struct {
	name    string
	loss    string
	records int
	epsilon float64
	share   float64 // of z among the records
	effect  float64 // of z
	along   float64 // the share of z's rows with h=q; of other rows it is .4
	low     float64 // the intercept
	twin    float64 // the correlation of a number w of effect .5 with x; 0 without w
}

func (d lacking) score(x []float64) float64 {
	z := d.low + .6*x[0]
	z += []float64{0, .5, d.effect}[int(x[1])]
	if d.twin > 0 {
		z += .5 * x[3]
	}
	return z - .4*x[2]
}

// mean returns the mean of the target.
func (d lacking) mean(x []float64) float64 {
	z := d.score(x)
	switch d.loss[0] {
	case 'l':
		return 1 / (1 + math.Exp(-z))
	case 'p':
		return math.Exp(z)
	case 'o':
		return 1/(1+math.Exp(-z)) + 1/(1+math.Exp(1.2-z))
	}
	return z
}

func (d lacking) features(r *rand.Rand, share float64) []float64 {
	x := []float64{min(max(r.NormFloat64(), -3), 3), 0, 0}
	q := .4
	switch u := r.Float64(); {
	case u < share:
		x[1], q = 2, d.along
	case u < share+.3*(1-share):
		x[1] = 1
	}
	if r.Float64() < q {
		x[2] = 1
	}
	if d.twin > 0 {
		x = append(x, min(max(d.twin*x[0]+math.Sqrt(1-d.twin*d.twin)*r.NormFloat64(), -3), 3))
	}
	return x
}

func (d lacking) design() Design {
	out := Design{Name: d.name, Records: d.records, Epsilon: d.epsilon, Loss: d.loss, Intervals: true,
		Columns: []Column{Number("x", -3, 3), Category("g", "a", "b", "z"), Category("h", "p", "q")}}
	if d.twin > 0 {
		out.Columns = append(out.Columns, Number("w", -3, 3))
	}
	switch d.loss[0] {
	case 'l':
		out.Classes = []string{"no", "yes"}
	case 'o':
		out.Classes = []string{"none", "some", "much"}
	case 'p':
		out.Most = 12
	default:
		out.Least, out.Most = -5, 5
	}
	out.Draw = func(r *rand.Rand) ([]float64, float64) {
		x := d.features(r, d.share)
		y := 0.
		switch m := d.mean(x); d.loss[0] {
		case 'l':
			if r.Float64() < m {
				y = 1
			}
		case 'o':
			u, z := r.Float64(), d.score(x)
			if u < 1/(1+math.Exp(-z)) {
				y++
			}
			if u < 1/(1+math.Exp(1.2-z)) {
				y++
			}
		case 'p':
			for at := r.ExpFloat64(); at < m && y < 12; at += r.ExpFloat64() {
				y++
			}
		default:
			y = min(max(m+r.NormFloat64(), -5), 5)
		}
		return x, y
	}
	return out
}

var lackingDesigns = []lacking{
	{"logistic", "logistic", 20_000, 1, .003, 1, .4, -.5, 0},
	{"logistic, 4,000", "logistic", 4_000, 2, .01, 1, .4, -.5, 0},
	{"logistic, strong, with q", "logistic", 20_000, 2, .003, 2, .9, -1.5, 0},
	{"logistic, 100,000", "logistic", 100_000, 1, .0005, 1, .4, -.5, 0},
	{"squared", "squared(1)", 20_000, 1, .003, 1, .4, 0, 0},
	{"squared, 4,000", "squared(1)", 4_000, 2, .01, 1, .4, 0, 0},
	{"poisson", "poisson(0.5)", 20_000, 1, .003, .5, .4, 0, 0},
	{"ordered", "ordered(3)", 20_000, 2, .003, 1, .4, 0, 0},
	{"confirm, logistic, effect 3", "logistic", 30_000, 1, .001, 3, .1, -2.5, 0},
	{"confirm, squared, effect -2", "squared(1)", 10_000, 1, .005, -2, .7, .5, 0},
	{"confirm, poisson, effect 1.2", "poisson(0.5)", 20_000, 2, .002, 1.2, .2, -1, 0},
	{"confirm, ordered, effect -2", "ordered(3)", 20_000, 1, .003, -2, .4, .5, 0},
	{"logistic, twins", "logistic", 20_000, 1, 0, 1, .4, -.5, .95},
	{"poisson, twins", "poisson(0.5)", 20_000, 1, 0, 1, .4, -1.5, .95},
}

// TestMeansLong prints how often intervals of means hold those of the whole model, by the share of the population's rows that
// the formula lacks, by hand: -long.fits.
func TestMeansLong(t *testing.T) {
	if *longFits == 0 {
		t.Skip("by hand: -long.fits")
	}
	named := regexp.MustCompile(*longDesign)
	for _, d := range lackingDesigns {
		if !named.MatchString(d.name) {
			continue
		}
		type count struct {
			n, stated, held int
			far, half, size float64
		}
		shares := []float64{d.share, .01, .03, .05, .09, .2}
		counts := map[[2]int]*count{}
		names := []string{"mean", "effect of x", "g=a", "g=b", "g=z", "g=b less g=a", "g=z less g=a", "h=p", "h=q", "h=q less h=p"}
		lacked := 0
		for i := range *longFits {
			design := d.design()
			s, err := design.spec(design.rows(uint64(1000+i), d.records))
			if err != nil {
				t.Fatal(err)
			}
			r, err := stillpoint.Fit(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			for k, share := range shares {
				rnd := rand.New(rand.NewPCG(uint64(i), 0x3EA5))
				people := means.Population{Header: []string{"x", "g", "h", "w"}}
				var rows [][]float64
				for range 1000 {
					x := d.features(rnd, share)
					rows = append(rows, x)
					people.Rows = append(people.Rows, []string{strconv.FormatFloat(x[0], 'g', -1, 64), []string{"a", "b", "z"}[int(x[1])],
						[]string{"p", "q"}[int(x[2])], strconv.FormatFloat(x[len(x)-1], 'g', -1, 64)})
				}
				got, err := means.Of(t.Context(), r.Model, people, nil)
				if err != nil {
					t.Fatal(err)
				}
				if k == 1 && got.Short {
					lacked++
				}
				truth := func(a means.Answer) float64 {
					sum := 0.
					for _, row := range rows {
						set := func(level string) []float64 {
							x := append([]float64(nil), row...)
							switch {
							case a.Column == "g" && level != "":
								x[1] = float64(map[string]int{"a": 0, "b": 1, "z": 2}[level])
							case a.Column == "h" && level != "":
								x[2] = float64(map[string]int{"p": 0, "q": 1}[level])
							}
							return x
						}
						switch {
						case a.Column == "x":
							low, high := set(""), set("")
							low[0], high[0] = row[0]-.003, row[0]+.003
							sum += (d.mean(high) - d.mean(low)) / .006 / float64(len(rows))
						case a.Against != "":
							sum += (d.mean(set(a.Level)) - d.mean(set(a.Against))) / float64(len(rows))
						default:
							sum += d.mean(set(a.Level)) / float64(len(rows))
						}
					}
					return sum
				}
				if !got.Short {
					continue
				}
				for j, a := range append([]means.Answer{got.Mean}, got.List...) {
					c := counts[[2]int{k, j}]
					if c == nil {
						c = new(count)
						counts[[2]int{k, j}] = c
					}
					c.n++
					if a.Low == nil {
						continue
					}
					of := truth(a)
					c.stated++
					c.half += (*a.High - *a.Low) / 2
					c.far += *a.Estimate - of
					c.size += of
					if *a.Low <= of && of <= *a.High {
						c.held++
					}
				}
			}
		}
		fmt.Printf("%s: %d of %d formulas are short\n", d.name, lacked, *longFits)
		for j, name := range names {
			for k, share := range shares {
				c := counts[[2]int{k, j}]
				if c == nil || c.stated == 0 {
					continue
				}
				n := float64(c.stated)
				fmt.Printf("| %s | %s | %v | %d of %d | %.3f | bias %.4f | half %.4f | truth %.3f\n", d.name, name, share, c.stated, c.n, float64(c.held)/n,
					c.far/n, c.half/n, c.size/n)
			}
		}
	}
}
