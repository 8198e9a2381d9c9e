package report

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/runrecord"
	"github.com/stillpoint-dp/stillpoint/model"
)

// TestCurvatureOfRows compares the second derivative that tilt computes from moments with the mean over drawn rows, of
// which 30% are not read, for log loss with rare ones and a strong effect. Without the correction the mean over drawn
// rows must differ by more than half along the effect.
func TestCurvatureOfRows(t *testing.T) {
	const shared, read, n = .5, .7, 400_000
	logistic := func(z float64) float64 { p := 1 / (1 + math.Exp(-z)); return p * (1 - p) }
	w := mat.NewVecDense(3, []float64{2.4, -1, 3.2})
	r := rand.New(rand.NewPCG(5, 5))
	second, want := mat.NewSymDense(3, nil), mat.NewSymDense(3, nil)
	for range int(read * n) {
		a := r.NormFloat64()
		x := mat.NewVecDense(3, []float64{a, .5*a + .8*r.NormFloat64() + .3, shared})
		second.SymRankOne(second, 1./n, x)
		want.SymRankOne(want, logistic(mat.Dot(x, w))/n, x)
	}
	var product mat.VecDense
	product.MulVec(second, w)
	mean := product.AtVec(2) / (read * shared)
	spread := mat.Dot(&product, w)/read - mean*mean
	m := &margins{mean: []float64{mean}, spread: [][]float64{{spread}}, curvature: func(mean []float64) (*mat.SymDense, bool) {
		sum := 0.
		const points = 4001
		for i := range points {
			u := 16*float64(i)/(points-1) - 8
			sum += 16. / (points - 1) * math.Exp(-u*u/2) / math.Sqrt(2*math.Pi) * logistic(mean[0]+math.Sqrt(spread)*u)
		}
		return mat.NewSymDense(1, []float64{sum}), true
	}}
	at, _ := m.curvature(m.mean)
	curved := mat.NewSymDense(3, nil)
	curved.ScaleSym(at.At(0, 0), second)
	plain := mat.Inner(w, curved, w)
	m.tilt(curved, second, w.RawVector().Data, []float64{1}, read*shared, read, nil)
	for i := range 3 {
		for j := range 3 {
			if got, want := curved.At(i, j), want.At(i, j); !(math.Abs(got-want) <= .03*math.Abs(want)+2e-4) {
				t.Errorf("entry %d, %d: %v: want %v", i, j, got, want)
			}
		}
	}
	if along := mat.Inner(w, want, w); plain < 1.5*along {
		t.Errorf("the mean second derivative alone gives %v along the effect, rows have %v: this test shows nothing", plain, along)
	}
}

// TestStructureOfReadRows: the equations of a schema must leave the second moment of rows as it is, of which a part is
// not read.
func TestStructureOfReadRows(t *testing.T) {
	s, err := dataset.New(dataset.Definition{Columns: []dataset.Column{{Name: "a", Kind: dataset.Number, Low: 0, High: 1},
		{Name: "c", Kind: dataset.Category, Categories: []string{"u", "v"}}},
		Target: dataset.Target{Column: "y", Kind: dataset.Category, Classes: []string{"no", "yes"}}})
	if err != nil {
		t.Fatal(err)
	}
	x, _ := structureOf(s)
	d, c := s.Dim(), 1/s.Scale()
	g := mat.NewSymDense(d, nil)
	r := rand.New(rand.NewPCG(6, 6))
	const n = 50_000
	for range int(.6 * n) {
		row := make([]float64, d)
		level := r.IntN(2)
		row[0], row[1+level], row[d-1] = c*(2*r.Float64()-1), c, c
		g.SymRankOne(g, 1./n, mat.NewVecDense(d, row))
	}
	share := readShare(g.At(d-1, d-1)/(c*c), 1e-4)
	if !(math.Abs(share-.6) <= 1e-6) || readShare(.9999, 1e-4) != 1 || readShare(1.2, 1e-4) != 1 ||
		readShare(.0199, .01) != 1 || readShare(.0201, .01) != .0201 {
		t.Errorf("share %v: want .6, and 1 where noise explains the rest", share)
	}
	x.shared *= math.Sqrt(share)
	imposed := mat.NewSymDense(d, nil)
	imposed.CopySym(g)
	x.impose(imposed, 1e-6)
	for i := range d {
		for j := range d {
			if !(math.Abs(imposed.At(i, j)-g.At(i, j)) <= 1e-4) {
				t.Errorf("entry %d, %d: %v: was %v", i, j, imposed.At(i, j), g.At(i, j))
			}
		}
	}
}

// TestPartsOfRows: where the share s of the rows is read, the mean of squares over all rows is s times that over those, and the
// same steps in its metric with the root of s times the noise leave the same noise in the weights and have the same rest of the
// way. Each part of the covariance must be for the rows that are read.
func TestPartsOfRows(t *testing.T) {
	w := newBowl(t, 0)
	d := w.schema.Dim()
	f := folder{schema: dataset.Definition{Columns: w.schema.Columns(), Target: dataset.Target{Column: "y", Kind: dataset.Category,
		Classes: []string{"no", "yes"}}}, software: "test", budget: budget(t, account.ReplaceOne)}
	m, err := model.Parse(f.model(t))
	if err != nil {
		t.Fatal(err)
	}
	c := 1 / w.schema.Scale()
	weights, eye := make([]float64, d), make([][]float64, d)
	for j := range d {
		weights[j] = 8 * w.best.AtVec(j)
		eye[j] = make([]float64, d)
		eye[j][j] = 1
	}
	results := func(share float64) []*mat.SymDense {
		const sigma = 1e-6
		square := math.Round(c * c / 1e-6)
		l := w.law
		released := &moment{Features: d, Step: share * c * c / square, Sigma: share * sigma, Ridge: share * .002, Slope: .2}
		for j := range d {
			var row []string
			for k := j; k < d; k++ {
				row = append(row, fmt.Sprint(int64(math.Round(w.second.At(j, k)/(c*c)*square))))
			}
			released.Rows = append(released.Rows, strings.Join(row, " "))
		}
		l.Moment, l.WeightNoise, l.Scales = (*runrecord.Moment)(released), 1, make([]float64, d)
		l.Noise = nil
		for _, v := range w.law.Noise {
			l.Noise = append(l.Noise, math.Sqrt(share)*v)
		}
		x, _ := structureOf(m.Schema())
		of, err := l.covariance(m, weights, make([]float64, d), c, 0, &x)
		if err != nil {
			t.Fatal(err)
		}
		average := mat.NewSymDense(d, nil)
		for j, v := range of.ways[0].seen[0].average().RawVector().Data {
			average.SetSym(j, j, v)
		}
		return []*mat.SymDense{of.of(eye), of.rest(eye, 1), average}
	}
	all := results(1)
	for _, share := range []float64{.9, .6, .3} {
		for n, got := range results(share) {
			for i := range d {
				for j := range d {
					within := 1e-3*math.Sqrt(math.Abs(all[n].At(i, i)*all[n].At(j, j))) + 1e-12
					if !(math.Abs(got.At(i, j)-all[n].At(i, j)) <= within) {
						t.Errorf("of a share of %v the %s of weights %d and %d is %v: of all rows it is %v", share,
							[]string{"noise", "rest", "way"}[n], i, j, got.At(i, j), all[n].At(i, j))
					}
				}
			}
		}
	}
}

// TestCurvatureOfLevels: the entry of a level with itself is the share of its rows times the second derivative at their mean
// margin, and two levels of a column have no rows in common. By hand, for a second derivative of exp(z/2) times .1.
func TestCurvatureOfLevels(t *testing.T) {
	const shared, p, q = .5, .1, .3
	const scale = shared * shared
	// Columns: two levels with the shares p and q and margins 2 and -1, and the intercept with margin 0.
	rows := mat.NewSymDense(3, []float64{p * scale, 0, p * scale, 0, q * scale, q * scale, p * scale, q * scale, scale})
	w := []float64{2 / shared, -1 / shared, 0}
	mean := p*2 - q
	spread := p*4 + q - mean*mean
	f := func(z float64) float64 { return .1 * math.Exp(z/2) }
	m := &margins{mean: []float64{mean}, spread: [][]float64{{spread}}, curvature: func(mean []float64) (*mat.SymDense, bool) {
		return mat.NewSymDense(1, []float64{f(mean[0])}), true
	}}
	for _, c := range []struct {
		known *structure
		want  [3]float64 // entries of the first level, of the second, and of both
	}{
		{&structure{levels: []bool{true, true, false}, groups: []dataset.Group{{First: 0, Width: 2}}},
			[3]float64{p * scale * f(min(2, mean+3*math.Sqrt(spread))), q * scale * f(-1), 0}},
	} {
		curved := mat.NewSymDense(3, nil)
		curved.ScaleSym(f(mean), rows)
		m.tilt(curved, rows, w, []float64{1}, shared, 1, c.known)
		for i, got := range []float64{curved.At(0, 0), curved.At(1, 1), curved.At(0, 1)} {
			if math.Abs(got-c.want[i]) > 1e-12 {
				t.Errorf("entry %d: %v: want %v", i, got, c.want[i])
			}
		}
	}
	// A level far away: its distance counts up to three deviations.
	rows = mat.NewSymDense(2, []float64{.001 * scale, .001 * scale, .001 * scale, scale})
	mean = .001 * 20
	spread = .001*400 - mean*mean
	m.mean, m.spread = []float64{mean}, [][]float64{{spread}}
	curved := mat.NewSymDense(2, nil)
	curved.ScaleSym(f(mean), rows)
	m.tilt(curved, rows, []float64{20 / shared, 0}, []float64{1}, shared, 1, &structure{levels: []bool{true, false}})
	if got, want := curved.At(0, 0), .001*scale*f(mean+3*math.Sqrt(spread)); math.Abs(got-want) > 1e-12 {
		t.Errorf("far away: %v: want %v", got, want)
	}
	// A level of more than two fifths of the rows counts as a normal feature does.
	for _, share := range []float64{.399, .401} {
		rows := mat.NewSymDense(2, []float64{share * scale, share * scale, share * scale, scale})
		m.mean, m.spread = []float64{share * 2}, [][]float64{{share * (1 - share) * 4}}
		entries := make([]float64, 2)
		for i, known := range []*structure{nil, {levels: []bool{true, false}}} {
			curved := mat.NewSymDense(2, nil)
			curved.ScaleSym(f(share*2), rows)
			m.tilt(curved, rows, []float64{2 / shared, 0}, []float64{1}, shared, 1, known)
			entries[i] = curved.At(0, 0)
		}
		if want := share * scale * f(2); (entries[1] == entries[0]) != (share > .4) || share < .4 && !(math.Abs(entries[1]-want) <= 1e-12) {
			t.Errorf("a level of %v of the rows: %v, and %v as a normal feature", share, entries[1], entries[0])
		}
	}
}

// TestCurvatureOfHats: an uncommon hat has the second derivative at the mean margin of the rows where it is not 0, and two
// neighbours have the geometric mean of theirs for their product. A common hat counts as a normal feature does. By hand, for
// a second derivative of exp(z/2) times .1.
func TestCurvatureOfHats(t *testing.T) {
	const shared = .5
	// Columns: three hats with the means below, a column with the margin, and the intercept. The third hat is common.
	means, margins0 := []float64{.06, .1, .5}, []float64{-.8, -.5, .3} // mean margins of the rows of each hat
	products := [3][3]float64{{.05, .02, 0}, {.02, .08, .03}, {0, .03, .6}}
	rows := mat.NewSymDense(5, nil)
	for j := range 3 {
		for k := range 3 {
			rows.SetSym(j, k, products[j][k]*shared*shared)
		}
		rows.SetSym(j, 3, means[j]*margins0[j]*shared*shared)
		rows.SetSym(j, 4, means[j]*shared*shared)
	}
	const mean, spread = -.1, .4
	rows.SetSym(3, 3, (spread+mean*mean)*shared*shared)
	rows.SetSym(3, 4, mean*shared*shared)
	rows.SetSym(4, 4, shared*shared)
	f := func(z float64) float64 { return .1 * math.Exp(z/2) }
	m := &margins{mean: []float64{mean}, spread: [][]float64{{spread}}, curvature: func(mean []float64) (*mat.SymDense, bool) {
		return mat.NewSymDense(1, []float64{f(mean[0])}), true
	}}
	entries := func(known *structure) *mat.SymDense {
		curved := mat.NewSymDense(5, nil)
		curved.ScaleSym(f(mean), rows)
		m.tilt(curved, rows, []float64{0, 0, 0, 1 / shared, 0}, []float64{1}, shared, 1, known)
		return curved
	}
	got := entries(&structure{levels: make([]bool, 5), hats: []dataset.Hats{{First: 0, Width: 3}}})
	normal := entries(nil)
	for j := range 5 {
		for k := range 5 {
			want := normal.At(j, k)
			if j < 2 && k < 2 {
				want = rows.At(j, k) * math.Sqrt(f(margins0[j])*f(margins0[k]))
			}
			if !(math.Abs(got.At(j, k)-want) <= 1e-12) {
				t.Errorf("entry %d, %d: %v: want %v", j, k, got.At(j, k), want)
			}
		}
	}
}
