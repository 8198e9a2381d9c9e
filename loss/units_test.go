package loss_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/loss"
)

// cubic is a General loss with Hessian products, such as a user may write: u - atan(u) for u =
// <w,x> - y. Its slope is u^2/(1+u^2), its curvature 2u/(1+u^2)^2.
type cubic struct{}

func (cubic) Name() string { return "cubic" }
func (cubic) Constants() loss.Constants {
	return loss.Constants{Lipschitz: 1, Curvature: loss.CurvatureInterval{Lo: -.65, Hi: .65}, HessianLipschitz: 2,
		InitialGap: 100}
}
func (cubic) Target() loss.Target { return loss.Real }

func (cubic) margin(w []float64, x []float32, y float64) (u float64) {
	for i, v := range x {
		u += w[i] * float64(v)
	}
	return u - y
}

func (c cubic) Value(w []float64, x []float32, y float64) float64 {
	u := c.margin(w, x, y)
	return u - math.Atan(u)
}

func (c cubic) Gradient(dst, w []float64, x []float32, y float64) {
	u := c.margin(w, x, y)
	for i, v := range x {
		dst[i] = u * u / (1 + u*u) * float64(v)
	}
}

func (c cubic) HessianVector(dst, w, v []float64, x []float32, y float64) {
	u := c.margin(w, x, y)
	along := c.margin(v, x, 0)
	for i, a := range x {
		dst[i] = 2 * u / (1 + u*u) / (1 + u*u) * along * float64(a)
	}
}

// rowLosses are the losses of one row that units are tested with.
func rowLosses(t *testing.T) []loss.Loss {
	list := []loss.Loss{cubic{}}
	for _, name := range []string{
		"logistic", "huber(0.1)", "squared(1)", "tanh", "hinge", "softmax(3)", "poisson-rate(1,0.5)",
		"weighted(logistic,1,3)", "weighted(softmax(3),row)", "network(2,tanh,logistic)", "network(2-1,relu,softmax(3))",
	} {
		l, err := loss.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, l)
	}
	return list
}

// general returns any loss as a General loss.
func general(l loss.Loss) loss.General {
	switch l := l.(type) {
	case loss.General:
		return l
	case loss.Margins:
		return loss.Joint(l)
	}
	return one{l.(loss.RankOne)}
}

// one gives a RankOne loss the methods of a General loss.
type one struct{ loss.RankOne }

func (l one) of(f func(dst, z, y []float64), w []float64, x []float32, y float64) float64 {
	dst := []float64{0}
	f(dst, loss.MarginsAt(w, x), []float64{y})
	return dst[0]
}

func (l one) Value(w []float64, x []float32, y float64) float64 { return l.of(l.Values, w, x, y) }

func (l one) Gradient(dst, w []float64, x []float32, y float64) {
	s := l.of(l.Slopes, w, x, y)
	for i, v := range x {
		dst[i] = s * float64(v)
	}
}

func (l one) HessianVector(dst, w, v []float64, x []float32, y float64) {
	s := l.of(l.Curvatures, w, x, y) * loss.MarginsAt(v, x)[0]
	for i, a := range x {
		dst[i] = s * float64(a)
	}
}

// unitRows draws rows of norm at most 1, and targets for a loss.
func unitRows(coin *rand.Rand, l loss.Loss, n, features int) (x [][]float32, y []float64) {
	for range n {
		row := make([]float32, features)
		for i := range row {
			row[i] = float32((2*coin.Float64() - 1) / math.Sqrt(float64(features)))
		}
		target := 2*coin.Float64() - 1
		switch l.Target() {
		case loss.Binary:
			target = float64(2*coin.IntN(2) - 1)
		case loss.Classes:
			target = float64(coin.IntN(loss.ClassCount(l)))
		}
		if loss.RowWeighted(l) || loss.LeastExposure(l) > 0 {
			target = loss.Carry(l.Target(), target, .5+.5*coin.Float64())
		}
		x, y = append(x, row), append(y, target)
	}
	return x, y
}

// TestUnitsAreTheirRows tests, for every possible number of rows, that value, gradient and Hessian
// products of a record are the weighted sums of its rows' results, to 12 digits, and that they keep
// the declared constants.
func TestUnitsAreTheirRows(t *testing.T) {
	coin := rand.New(rand.NewPCG(19, 5))
	const features = 5
	for _, row := range rowLosses(t) {
		for _, most := range []int{1, 3, 8} {
			for _, summed := range []bool{false, true} {
				l, err := loss.NewUnits(row, most, summed)
				if err != nil {
					t.Fatal(err)
				}
				if back, err := loss.Parse(l.Name()); (err != nil || back.Name() != l.Name()) && row.Name() != "cubic" {
					t.Errorf("%s: came back as %v, %v", l.Name(), back, err)
				}
				width := loss.RecordFeatures(l, features)
				dim, err := loss.Check(l, width)
				if err != nil || dim != loss.Parameters(row, features) || loss.RowFeatures(l, width) != features {
					t.Fatalf("%s: %d parameters, rows of %d features, %v", l.Name(), dim, loss.RowFeatures(l, width), err)
				}
				for n := 1; n <= most; n++ {
					x, y := unitRows(coin, row, n, features)
					w, v := make([]float64, dim), make([]float64, dim)
					for j := range w {
						w[j], v[j] = 2*coin.NormFloat64(), coin.NormFloat64()
					}
					divisor := n
					if summed {
						divisor = most
					}
					sameAsRows(t, l, x, y, w, v, float64(divisor))
				}
			}
		}
	}
}

func sameAsRows(t *testing.T, l loss.Units, x [][]float32, y, w, v []float64, divisor float64) {
	t.Helper()
	row, c := general(l.Row()), l.Constants()
	record, m := loss.JoinRows(l, x, y)
	name := fmt.Sprintf("%s of %d rows", l.Name(), len(x))
	close := func(what string, got, want float64) {
		if !(math.Abs(got-want) <= 1e-12*(1+math.Abs(want))) {
			t.Fatalf("%s: %s is %v: must be %v", name, what, got, want)
		}
	}
	var value float64
	gradient, part := make([]float64, len(w)), make([]float64, len(w))
	for i := range x {
		value += row.Value(w, x[i], y[i]) / divisor
		row.Gradient(part, w, x[i], y[i])
		for j, g := range part {
			gradient[j] += g / divisor
		}
	}
	close("the value", l.Value(w, record, m), value)
	got := make([]float64, len(w))
	l.Gradient(got, w, record, m)
	var square float64
	for j := range got {
		close("the gradient", got[j], gradient[j])
		square += got[j] * got[j]
	}
	if size := math.Sqrt(square); size > c.Lipschitz*(1+1e-9) {
		t.Errorf("%s: a gradient of norm %v: must be at most %v", name, size, c.Lipschitz)
	}
	zero := make([]float64, len(w))
	if fall := l.Value(zero, record, m) - l.Value(w, record, m); !c.ZeroMean && fall > c.InitialGap*(1+1e-9) {
		t.Errorf("%s: falls by %v: must be at most %v", name, fall, c.InitialGap)
	}
	twice, ok := l.(loss.Twice)
	if of, does := row.(loss.Twice); ok != does {
		t.Errorf("%s: tells products of its Hessian: %v, and a row's does: %v", name, ok, does)
	} else if ok {
		product := make([]float64, len(w))
		for i := range x {
			of.HessianVector(part, w, v, x[i], y[i])
			for j, h := range part {
				product[j] += h / divisor
			}
		}
		twice.HessianVector(got, w, v, record, m)
		var along, long float64
		for j := range got {
			close("a product", got[j], product[j])
			along, long = along+v[j]*got[j], long+v[j]*v[j]
		}
		if lo, hi := min(c.Curvature.Lo, 0), max(c.Curvature.Hi, 0); !(along >= lo*long-1e-9 && along <= hi*long+1e-9) {
			t.Errorf("%s: a curvature of %v: must be in [%v, %v]", name, along/long, lo, hi)
		}
	}
	for _, none := range []float64{0, -1, 1.5, float64(l.Rows() + 1), math.NaN(), math.Inf(1)} {
		l.Gradient(got, w, record, none)
		if v := l.Value(w, record, none); v == v || got[0] == got[0] {
			t.Errorf("%s: %v rows are taken for a record: %v, %v", name, none, v, got)
		}
	}
}

// TestWhatIsNoLossOfUnits tests that NewUnits returns an error for row losses and numbers of rows that it
// does not allow.
func TestWhatIsNoLossOfUnits(t *testing.T) {
	logistic := loss.Logistic()
	units, err := loss.NewUnits(logistic, 2, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		l    loss.Loss
		rows int
		want string
	}{
		{logistic, 0, "rows = 0: must be between 1 and 1024"}, {logistic, 1025, "rows = 1025: must be between"},
		{units, 2, "units(logistic,2): must be a loss of one row"},
	} {
		if l, err := loss.NewUnits(c.l, c.rows, false); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, %v: must say %q", l, err, c.want)
		}
	}
	for name, want := range map[string]string{
		"units(logistic)": "must be units(loss,rows)", "units(logistic,2": "must be units(loss,rows)",
		"units(logistic,2,mean)":     "must be units(loss,rows)",
		"units(logistic,two)":        `rows = "two": must be a whole number`,
		"units(units(logistic,2),2)": "must be a loss of one row", "units(logi,2)": "must be one of",
	} {
		if l, err := loss.Parse(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v: must say %q", name, l, err, want)
		}
	}
	// A width that is not the width of any record has no parameters, and no session opens for it.
	if _, err := loss.Check(units, 7); err == nil || !strings.Contains(err.Error(), "parameters = 0 for 7 features") {
		t.Errorf("7 features for 2 rows: %v", err)
	}
}

// lazy is a loss that leaves slopes, values and curvatures unwritten where the target is -1.
type lazy struct{ loss.RankOne }

func (lazy) Name() string { return "lazy" }

func (lazy) Slopes(dst, z, y []float64)     { write(dst, y) }
func (lazy) Values(dst, z, y []float64)     { write(dst, y) }
func (lazy) Curvatures(dst, z, y []float64) { write(dst, y) }

func write(dst, y []float64) {
	for i, v := range y {
		if v > 0 {
			dst[i] = 1
		}
	}
}

// TestUnitsForget tests that if the row loss leaves a result unwritten, the unit's result is NaN,
// so that the unit counts as malformed. It must not be a result left over from another unit.
func TestUnitsForget(t *testing.T) {
	u, err := loss.NewUnits(lazy{loss.Logistic()}, 2, false)
	if err != nil {
		t.Fatal(err)
	}
	g := u.(loss.Twice)
	w, v, d := []float64{1}, []float64{1}, make([]float64, 1)
	for range 10 { // units share scratch memory, so a result of another unit could be left in it
		other, otherY := loss.JoinRows(u, [][]float32{{.1}}, []float64{1})
		x, y := loss.JoinRows(u, [][]float32{{1}}, []float64{-1})
		for name, of := range map[string]func(x []float32, y float64) float64{
			"gradient":        func(x []float32, y float64) float64 { g.Gradient(d, w, x, y); return d[0] },
			"value":           func(x []float32, y float64) float64 { return g.Value(w, x, y) },
			"Hessian product": func(x []float32, y float64) float64 { g.HessianVector(d, w, v, x, y); return d[0] },
		} {
			of(other, otherY)
			if got := of(x, y); !math.IsNaN(got) {
				t.Fatalf("%s is %v: another's", name, got)
			}
		}
	}
}
