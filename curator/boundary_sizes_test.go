package curator_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator"
	"github.com/stillpoint-dp/stillpoint/curator/internal/session"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

func numbers(t *testing.T, n int) {
	for _, features := range []int{n, n - 1} { // with and without the intercept
		columns := numberColumns(features)
		table(t, loss.Logistic(), twoClasses(), columns, randomCells(rand.New(rand.NewPCG(1, uint64(n))), 9,
			columns)).asLogistic(t, fmt.Sprint(n, " numbers"))
	}
}

func groups(t *testing.T, n int) {
	columns := numberColumns(2)
	for i := range n {
		columns = append(columns, dataset.Column{Name: "c" + strconv.Itoa(i), Kind: dataset.Category,
			Categories: []string{"a", "b", "c"}[:1+i%3]})
	}
	slices.Reverse(columns)
	table(t, loss.Logistic(), twoClasses(), columns, randomCells(rand.New(rand.NewPCG(2, uint64(n))), 40,
		columns)).asLogistic(t, fmt.Sprint(n, " groups"))
}

func rows(t *testing.T, n int) {
	columns := numberColumns(2)
	d := table(t, loss.Logistic(), twoClasses(), columns, randomCells(rand.New(rand.NewPCG(3, uint64(n))), n, columns))
	d.asLogistic(t, fmt.Sprint(n, " rows"))
}

func wideRows(t *testing.T, n int) {
	columns := numberColumns(1000)
	d := table(t, loss.Logistic(), twoClasses(), columns, randomCells(rand.New(rand.NewPCG(4, uint64(n))), n, columns))
	d.Paths, d.Rows = []string{write(t, "wide.csv", d.csv(t))}, nil
	d.asLogistic(t, fmt.Sprint(n, " rows of 1000 numbers"))
}

// csv returns the configuration's table as text.
func (d tabled) csv(t *testing.T) string {
	var b strings.Builder
	b.WriteString(strings.Join(d.Rows.Header, ",") + "\n")
	for cells := range d.Rows.Cells {
		b.WriteString(strings.Join(cells, ",") + "\n")
	}
	return b.String()
}

func rowsOfFile(t *testing.T, n int) {
	columns := append(numberColumns(2), dataset.Column{Name: "h", Kind: dataset.Hash, Buckets: 5})
	d := table(t, loss.Logistic(), twoClasses(), columns, randomCells(rand.New(rand.NewPCG(5, uint64(n))), n, columns))
	d.Paths, d.Rows = []string{write(t, "rows.csv", d.csv(t))}, nil
	if got, err := curator.Count(context.Background(), d.Config); err != nil || got != n {
		t.Fatalf("%d rows of a file are counted as %d: %v", n, got, err)
	}
	d.asLogistic(t, fmt.Sprint(n, " rows of a file"))
}

// bytesOfFile makes a file in which a record ends n bytes after the beginning, among other records,
// some of them with quotes.
func bytesOfFile(t *testing.T, n int) {
	columns := append(numberColumns(1), dataset.Column{Name: "note", Kind: dataset.Ignore})
	cells := randomCells(rand.New(rand.NewPCG(6, uint64(n))), n/30, columns)
	d := table(t, loss.Logistic(), twoClasses(), columns, cells)
	var b bytes.Buffer
	b.WriteString("n0,note,y\n")
	for i, row := range cells {
		left := n - b.Len() - len(row[0]) - len(row[2]) - len(",\"\",\n")
		note := strings.Repeat("x", 20+i%9)
		if left > 0 && left <= 100 {
			note = strings.Repeat("z\n", left/2) + strings.Repeat("z", left%2)
		}
		fmt.Fprintf(&b, "%s,\"%s\",%s\n", row[0], note, row[2])
	}
	if b.Len() < n || !strings.HasPrefix(b.String()[n-1:], "\n") {
		t.Fatalf("no record of %d bytes ends after %d", b.Len(), n)
	}
	d.Paths, d.Rows = []string{write(t, "bytes.csv", b.String())}, nil
	d.asLogistic(t, fmt.Sprint("a record after ", n, " bytes"))
}

// weighed tests that weights give the same result for many records at a time as for one record at a time.
func weighed(t *testing.T, n int) {
	l, err := loss.NewWeighted(loss.Logistic(), loss.Weights{Classes: []float64{.5, 2}, Row: true})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(15, uint64(n)))
	z, y, got := make([]float64, n), make([]float64, n), make([]float64, n)
	var share, want []float64
	for i := range z {
		z[i], y[i], share = r.NormFloat64(), float64(2*r.IntN(2)-1), append(share, float64(r.IntN(9))/8)
		want = append(want, share[i]*[]float64{.5, 2}[int(y[i]+1)/2]*math.Log1p(math.Exp(-y[i]*z[i])))
		y[i] = loss.Carry(loss.Binary, y[i], share[i])
	}
	l.(loss.RankOne).Values(got, z, y)
	closeTo(t, fmt.Sprint(n, " records with weights"), got, want)
}

func members(t *testing.T, n int) {
	columns := numberColumns(2)
	d := table(t, loss.Logistic(), twoClasses(), columns, randomCells(rand.New(rand.NewPCG(7, uint64(n))), 2*n, columns))
	var last session.Exchange
	s := d.watched(t, func(x session.Exchange) (any, error) { last = x; return x.Released, nil })
	w := point(s.Dim())
	on, err := s.Draw(n)
	if err != nil {
		t.Fatal(err)
	}
	got := mean(t, s, query.GradientAt(on, w, 3))
	if len(last.Members) != n {
		t.Fatalf("%d of %d rows were drawn", len(last.Members), n)
	}
	_, want := d.logistic(w, asInts(last.Members))
	closeTo(t, fmt.Sprint(n, " rows of a cohort"), got, want)
}

func asInts(members []int32) (list []int) {
	for _, m := range members {
		list = append(list, int(m))
	}
	return list
}

// walked tests a pass of SGD over n records against a computation step by step.
func walked(t *testing.T, n int) {
	columns := numberColumns(3)
	d := table(t, loss.Logistic(), twoClasses(), columns, randomCells(rand.New(rand.NewPCG(8, uint64(n))), n, columns))
	var last session.Exchange
	s := d.watched(t, func(x session.Exchange) (any, error) { last = x; return x.Released, nil })
	on, err := s.Draw(n)
	if err != nil {
		t.Fatal(err)
	}
	p := query.Pass{Start: point(s.Dim()), Step: .5, Clip: 1, Lambda: .25}
	q, err := query.NewStable(1e-3, on, p)
	if err != nil {
		t.Fatal(err)
	}
	a, err := s.Stable(context.Background(), q)
	if err != nil {
		t.Fatal(err)
	}
	at, want := slices.Clone(p.Start), make([]float64, s.Dim())
	for _, i := range asInts(last.Members) {
		_, gradient := d.logistic(at, []int{i})
		for j := range at {
			want[j] += at[j] / float64(n)
			at[j] -= p.Gain()*gradient[j] + p.Step*p.Lambda*at[j]
		}
	}
	closeTo(t, fmt.Sprint("a pass over ", n), a.Mean, want)
}

func units64(t *testing.T, n int) {
	columns := numberColumns(2)
	d := table(t, loss.Logistic(), twoClasses(), columns, randomCells(rand.New(rand.NewPCG(9, uint64(n))), 2*n, columns))
	def := dataset.Definition{Columns: columns, Target: twoClasses(), Unit: dataset.Unit{Column: "person", Rows: 2}}
	s, err := dataset.New(def)
	if err != nil {
		t.Fatal(err)
	}
	l, err := loss.NewUnits(loss.Logistic(), 2, false)
	if err != nil {
		t.Fatal(err)
	}
	cells, i := [][]string(nil), 0
	for row := range d.Rows.Cells {
		cells = append(cells, append(slices.Clone(row), "p"+strconv.Itoa(i%n)))
		i++
	}
	of := d
	of.Schema, of.Loss, of.Rows = s, l, rowsOf(append(d.Rows.Header, "person"), cells)
	session := of.watched(t, released)
	if got := session.All().Size(); got != float64(n) {
		t.Fatalf("%v units: must be %d", got, n)
	}
	w := point(s.Dim())
	_, want := d.logistic(w, upTo(2*n))
	closeTo(t, fmt.Sprint(n, " units"), mean(t, session, query.GradientAt(session.All(), w, 3)), want)
}

// margins compares a session with softmax of n classes, which has n margins, with plain arithmetic.
func margins(t *testing.T, n int) {
	l, err := loss.Softmax(n)
	if err != nil {
		t.Fatal(err)
	}
	target := dataset.Target{Column: "y", Kind: dataset.Category}
	for k := range n {
		target.Classes = append(target.Classes, "k"+strconv.Itoa(k))
	}
	columns := append(numberColumns(3), dataset.Column{Name: "c", Kind: dataset.Category, Categories: []string{"a", "b"}})
	cells := randomCells(rand.New(rand.NewPCG(10, uint64(n))), 70, columns)
	for i := range cells {
		cells[i][len(columns)] = "k" + strconv.Itoa(i%n)
	}
	d := table(t, l, target, columns, cells)
	s := d.watched(t, released)
	w, want := point(n*s.Dim()), make([]float64, n*s.Dim())
	for i, x := range d.x {
		var total float64
		each := make([]float64, n)
		for k := range each {
			each[k] = math.Exp(dot(w[k*len(x):(k+1)*len(x)], x))
			total += each[k]
		}
		for k := range each {
			slope := each[k] / total
			if float64(k) == d.y[i] {
				slope--
			}
			for j, v := range x {
				want[k*len(x)+j] += slope * float64(v) / float64(len(d.x))
			}
		}
	}
	closeTo(t, fmt.Sprint(n, " margins"), mean(t, s, query.GradientAt(s.All(), w, 3)), want)
}

// above tests a two-layer network with n parameters above its first layer, and one with n+1.
func above(t *testing.T, n int) {
	for size := n; size <= n+1; size++ { // b (a+2) + 1 parameters for a first-layer and b second-layer units
		b := 2
		for (size-1)%b != 0 || (size-1)/b-2 > 1<<12 {
			b++
		}
		if a := (size-1)/b - 2; a < 1 || b > 1<<12 {
			continue // a prime: no network has this size
		} else {
			aboveOf(t, a, b)
		}
	}
}

func aboveOf(t *testing.T, a, b int) {
	l := named(t, fmt.Sprintf("network(%d-%d,tanh,logistic)", a, b))
	columns := numberColumns(1)
	d := table(t, l, twoClasses(), columns, randomCells(rand.New(rand.NewPCG(11, uint64(a))), 3, columns))
	s := d.watched(t, released)
	w := l.(interface{ Start(int) []float64 }).Start(s.Dim())
	want, each := make([]float64, len(w)), make([]float64, len(w))
	for i, x := range d.x {
		l.(loss.General).Gradient(each, w, x, d.y[i])
		for j, v := range each {
			want[j] += v / float64(len(d.x))
		}
	}
	closeTo(t, fmt.Sprint(len(w)-a*s.Dim(), " parameters above"), mean(t, s, query.GradientAt(s.All(), w, 3)), want)
}

// terms tests a query with the largest number of terms, each of which must count.
func terms(t *testing.T, n int) {
	columns := numberColumns(1)
	d := table(t, loss.Logistic(), twoClasses(), columns, randomCells(rand.New(rand.NewPCG(12, 1)), 2, columns))
	s := d.watched(t, released)
	w := point(s.Dim())
	list := slices.Repeat([]query.Term{query.GradientAt(s.All(), w, 3).Weighted(1 / float64(n))}, n)
	if _, err := query.New(1e-3, list...); (err == nil) != (n <= 1<<16) {
		t.Fatalf("%d terms: %v", n, err)
	} else if err != nil {
		return
	}
	_, want := d.logistic(w, upTo(len(d.x)))
	closeTo(t, fmt.Sprint(n, " terms"), mean(t, s, list...), want)
}

// codes compares a session over rows with two one-hot groups, which have n features together, with
// plain arithmetic.
func codes(t *testing.T, n int) {
	columns := []dataset.Column{
		{Name: "c", Kind: dataset.Category, Categories: []string{"a"}}, {Name: "h", Kind: dataset.Hash, Buckets: n - 3},
		{Name: "n", Kind: dataset.Number, Low: -1, High: 1},
	}
	cells := randomCells(rand.New(rand.NewPCG(13, uint64(n))), 20, columns)
	cells[7][1] = "" // a missing value, which has the largest code
	d := table(t, loss.Logistic(), twoClasses(), columns, cells)
	d.asLogistic(t, fmt.Sprint(n, " features of groups"))
}

// noisy tests that every coordinate has noise of its own. Noise of at least 2^32 grid steps is 0,
// or equal to another coordinate's, with probability below 2^-32; the seed is fixed.
func noisy(t *testing.T, n int) {
	columns := []dataset.Column{{Name: "h", Kind: dataset.Hash, Buckets: n - 2}}
	d := table(t, loss.Logistic(), twoClasses(), columns, randomCells(rand.New(rand.NewPCG(14, 1)), 5, columns))
	d.Workers = 3
	var last session.Exchange
	s, err := curator.OpenNoisy(context.Background(), d.Config, 5, func(x session.Exchange) (any,
		error) {
		last = x
		return x.Released, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if s.Dim() != n {
		t.Fatalf("%d features: must be %d", s.Dim(), n)
	}
	answer := mean(t, s, query.GradientAt(s.All(), make([]float64, n), 3))
	var squares float64
	for j := range answer {
		noise := last.Noisy[j] - last.Exact[j]
		squares += math.Pow(math.Ldexp(float64(noise), -last.Bits), 2)
		for _, before := range []int{1, 64, 1 << 14} {
			if noise == 0 || j >= before && noise == last.Noisy[j-before]-last.Exact[j-before] {
				t.Fatalf("%d coordinates: the noise of %d is %d, as %d before: must be its own", n, j, noise, before)
			}
		}
	}
	// A mean of n >= 63 squared normals is outside 1 +- 8 sqrt(2/n) with probability below 1e-6.
	if off := math.Abs(squares/float64(n) - 1); off > 8*math.Sqrt(2/float64(n)) {
		t.Errorf("%d coordinates: their noise has %v of its variance", n, squares/float64(n))
	}
}

// TestEveryBlockOfASchedule: each step must have the noise multiplier and the sampling probability of
// its own block of equal steps. After the last block there must be no more steps.
func TestEveryBlockOfASchedule(t *testing.T) {
	blocks := []account.SampledSteps{
		{NoiseMultiplier: 2, Sampling: .5, Count: 2}, {NoiseMultiplier: 3, Sampling: .25, Count: 1},
		{NoiseMultiplier: 5, Sampling: .125, Count: 3}, {NoiseMultiplier: 4, Sampling: .75, Count: 2},
	}
	columns := numberColumns(2)
	d := table(t, loss.Logistic(), twoClasses(), columns, randomCells(rand.New(rand.NewPCG(16, 1)), 4000, columns))
	schedule, err := account.NewSchedule(context.Background(), d.Budget, 0, blocks...)
	if err != nil {
		t.Fatal(err)
	}
	var last session.Exchange
	s := d.watched(t, func(x session.Exchange) (any, error) { last = x; return x.Released, nil })
	if err := s.Follow(schedule); err != nil {
		t.Fatal(err)
	}
	w := point(s.Dim())
	for i, b := range blocks {
		for k := range b.Count {
			on, err := s.Sample()
			if err != nil {
				t.Fatal(err)
			}
			mean(t, s, query.GradientAt(on, w, 3))
			n, multiplier := float64(len(d.x)), last.Event.Sigma/last.Event.Sensitivity
			if last.Event.Sampling != b.Sampling || !(math.Abs(multiplier/b.NoiseMultiplier-1) <= 1e-5) ||
				on.Size() != b.Sampling*n {
				t.Errorf("block %d, step %d: sampling %v of %v records, noise multiplier %v: must be %+v", i, k,
					last.Event.Sampling, on.Size(), multiplier, b)
			}
			// A binomial count is more than 6 standard deviations from its mean with probability
			// 2e-9.
			if off := math.Abs(float64(len(last.Members)) - b.Sampling*n); off > 6*math.Sqrt(n*b.Sampling*(1-b.Sampling)) {
				t.Errorf("block %d, step %d: %d records were sampled: must be about %v", i, k, len(last.Members), b.Sampling*n)
			}
		}
	}
	if _, err := s.Sample(); err == nil {
		t.Error("a sample was drawn that is in no block")
	}
}
