package session

import (
	"iter"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/internal/coin"
	"github.com/stillpoint-dp/stillpoint/curator/internal/engine"
	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// record is an encoded row with its target.
type record struct {
	x  []float32
	y  float64
	ok bool
}

// inOrder iterates over a map in the order of its keys. The input to a seeded generator must not
// depend on Go's map order.
func inOrder[V any](m map[string]V) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			if !yield(k, m[k]) {
				return
			}
		}
	}
}

func tableOf(t testing.TB, records []record, blockRows int) *row.Table {
	t.Helper()
	table, err := row.NewTable(len(records[0].x), blockRows)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		table.Append(r.x, r.y, r.ok)
	}
	return table
}

// engineOver returns an engine over rows.
func engineOver(t testing.TB, rows row.Source, l loss.Loss) engine.Engine {
	t.Helper()
	e, err := engine.New(rows, l, 2)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func parse(t testing.TB, name string) loss.Loss {
	t.Helper()
	l, err := loss.Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func budget(t testing.TB, epsilon, delta float64, r account.Relation) account.Budget {
	t.Helper()
	b, err := account.NewBudget(epsilon, delta, r)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func question(t testing.TB, charge float64, terms ...query.Term) query.Question {
	t.Helper()
	q, err := query.New(charge, terms...)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// open returns a session with simulated random bits over records.
func open(t testing.TB, records []record, l loss.Loss, b account.Budget, change func(*Config)) *Session {
	t.Helper()
	c := Config{Engine: engineOver(t, tableOf(t, records, 0), l), Budget: b, Workers: 2,
		Coins: coin.Simulated([32]byte{1})}
	if b.Relation() == account.AddOrRemove {
		c.Declared = float64(len(records))
	}
	if change != nil {
		change(&c)
	}
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// randomRecords returns records with rows of norm at most 1, most of them of norm 1.
func randomRecords(r *rand.Rand, n, d int) []record {
	records := make([]record, n)
	for i := range records {
		records[i] = record{x: unit(r, d), y: float64(2*r.IntN(2) - 1), ok: true}
	}
	return records
}

func unit(r *rand.Rand, d int) []float32 {
	v := make([]float64, d)
	var sum float64
	for j := range v {
		v[j] = r.NormFloat64()
		sum += v[j] * v[j]
	}
	return scaled(v, 1/math.Sqrt(sum))
}

func scaled(v []float64, f float64) []float32 {
	x := make([]float32, len(v))
	for j := range v {
		x[j] = float32(v[j] * f)
	}
	return x
}

func point(r *rand.Rand, d int, size float64) []float64 {
	w := make([]float64, d)
	for j := range w {
		w[j] = size * r.NormFloat64() / math.Sqrt(float64(d))
	}
	return w
}

// steep is a rank-one loss whose slope and value exceed its declared constants a thousandfold, so
// that only clipping limits the sum.
type steep struct{ loss.RankOne }

func (s steep) Slopes(dst, z, y []float64) {
	for i := range dst {
		dst[i] = 1000*math.Cos(7*z[i]) + 500*z[i]*y[i]
	}
}

func (s steep) Values(dst, z, y []float64) {
	for i := range dst {
		dst[i] = 1000 * z[i] * y[i]
	}
}

func (s steep) Curvatures(dst, z, y []float64) {
	for i := range dst {
		dst[i] = 1000 * math.Cos(9*z[i]+y[i])
	}
}

// wild is a general loss whose gradient and value exceed its declared constants a thousandfold, so
// that only clipping limits the sum.
type wild struct{ loss.Loss }

func (wild) Value(w []float64, x []float32, y float64) float64 { return 1e6 * float64(x[0]) * y }

func (wild) Gradient(dst, w []float64, x []float32, y float64) {
	for j := range dst {
		dst[j] = 1e5*float64(x[j])*y + 1e4*w[j]*float64(x[(j+1)%len(x)])
	}
}

func (wild) HessianVector(dst, w, v []float64, x []float32, y float64) {
	for j := range dst {
		dst[j] = 1e5*v[j]*y + 1e4*w[j]*float64(x[(j+1)%len(x)])
	}
}

// mild is a loss that exceeds its declared constants slightly.
type mild struct{ loss.Loss }

func (mild) Value(w []float64, x []float32, y float64) float64 { return 1.6 * float64(x[0]) * y }

func (mild) Gradient(dst, w []float64, x []float32, y float64) {
	for j := range dst {
		dst[j] = 1.6 * float64(x[j]) * y
	}
}
