package mechanism

import (
	"math"
	"math/rand/v2"
	"testing"
)

// patterns calls visit with every set of k numbers from 0 to n-1 of which any two differ by at
// least apart.
func patterns(n, k, apart int, visit func([]int)) {
	var chosen []int
	var choose func(from int)
	choose = func(from int) {
		if len(chosen) == k {
			visit(chosen)
			return
		}
		for i := from; i < n; i++ {
			chosen = append(chosen, i)
			choose(i + apart)
			chosen = chosen[:len(chosen)-1]
		}
	}
	choose(0)
}

// refPrefix returns the largest squared norm of a sum of columns of a matrix, over all allowed
// participations. The matrix is given by its rows.
func refPrefix(rows [][]float64, s PrefixSums) float64 {
	var most float64
	patterns(s.Items, s.Participations, s.Separation, func(items []int) {
		var sum float64
		for _, row := range rows {
			var c float64
			for _, i := range items {
				c += row[i]
			}
			sum += c * c
		}
		most = max(most, sum)
	})
	return most
}

func treeRows(n int) (rows [][]float64) {
	for block := 1; block <= n; block *= 2 {
		for from := 0; from+block <= n; from += block {
			row := make([]float64, n)
			for i := range block {
				row[from+i] = 1
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// toeplitzRows returns the matrix of the square-root mechanism. If all bands are kept, its square
// is the matrix of ones on and below the diagonal, which the test verifies.
func toeplitzRows(n, bands int) (rows [][]float64) {
	e := []float64{1}
	for k := 1; k < n; k++ {
		e = append(e, e[k-1]*(1-1/(2*float64(k))))
	}
	for i := range n {
		row := make([]float64, n)
		for j := max(0, i-bands+1); j <= i; j++ {
			row[j] = e[i-j]
		}
		rows = append(rows, row)
	}
	return rows
}

func TestPrefixSumsAgainstEveryPattern(t *testing.T) {
	r := rand.New(rand.NewPCG(53, 1))
	for range trials(300) {
		s := PrefixSums{Items: 1 + r.IntN(14)}
		s.Separation = 1 + r.IntN(s.Items)
		s.Participations = 1 + r.IntN(min(4, 1+(s.Items-1)/s.Separation))
		want := refPrefix(treeRows(s.Items), s)
		got := s.treeSquare()
		if got < want {
			t.Errorf("tree %+v: %v, below %v", s, got, want)
		}
		whole := s.Separation&(s.Separation-1) == 0 && s.Items&(s.Items-1) == 0 && s.Participations*s.Separation <= s.Items
		if (s.Participations == 1 || whole) && got != want {
			t.Errorf("tree %+v: %v, want %v", s, got, want)
		}
		s.Bands = 1 + r.IntN(s.Items)
		want = refPrefix(toeplitzRows(s.Items, s.Bands), s)
		if got := s.toeplitzSquare(); got < want*(1-1e-13) || got > want*(1+1e-12) {
			t.Errorf("toeplitz %+v: %v, want %v", s, got, want)
		}
	}
	rows := toeplitzRows(9, 9)
	for i := range rows {
		for j := range i + 1 {
			var sum float64
			for k := range rows {
				sum += rows[i][k] * rows[k][j]
			}
			if !(math.Abs(sum-1) <= 1e-14) {
				t.Errorf("square of the matrix at %d, %d: %v", i, j, sum)
			}
		}
	}
}

// TestPrefixSumsAreGaussian tests that for a single participation a tree of n items has as many
// levels as n has bits (dp_accounting's ceil(log2(n+1))), and that the mechanism is the Gaussian
// mechanism of that norm.
func TestPrefixSumsAreGaussian(t *testing.T) {
	one := PrefixSums{Participations: 1, Separation: 1}
	for n, levels := range map[int]float64{1: 1, 2: 2, 3: 2, 4: 3, 1023: 10, 1024: 11, 1 << 20: 21} {
		for relation, factor := range map[Relation]float64{AddOrRemove: 1, ReplaceOne: 2} {
			s := one
			s.Items = n
			m, err := newTree(8, s, relation)
			m = mustMechanism(t, m, err)
			b := epsilonOf(t, m, 3, 1e-6)
			want := mustGaussian(t, GaussianEpsilon, factor*math.Sqrt(3*levels)/8, 1e-6)
			if b.Upper < want || b.Upper > want*(1+1e-9) {
				t.Errorf("%v: %v, want %v", m, b, want)
			}
			g, err := Group(m, 5)
			g = mustMechanism(t, g, err)
			if got, want := epsilonOf(t, g, 3, 1e-6).Upper,
				mustGaussian(t, GaussianEpsilon, 5*factor*math.Sqrt(3*levels)/8, 1e-6); got < want || got > want*(1+1e-9) {
				t.Errorf("%v: %v, want %v", g, got, want)
			}
			if g.relation() != relation {
				t.Errorf("%v: under %v", g, g.relation())
			}
		}
	}
	// The largest sums take bounded memory and keep their precision. A Toeplitz column of n entries
	// has the squared norm of the partial sums of binom(2k, k)^2/16^k = (ln n +
	// 2.7726+.5772+...)/pi; here it is compared with a plain sum.
	s := PrefixSums{Items: prefixMost, Participations: 1, Separation: 1, Bands: prefixMost}
	var want float64
	for k, e := 0, 1.0; k < s.Items; k++ {
		want += e * e
		e *= float64(2*k+1) / float64(2*k+2)
	}
	if got := s.toeplitzSquare(); !(math.Abs(got/want-1) <= 1e-9) {
		t.Errorf("toeplitz %+v: %v, want %v", s, got, want)
	}
}

func TestPrefixSumsLimits(t *testing.T) {
	for _, c := range []struct {
		s    PrefixSums
		want string
	}{
		{PrefixSums{0, 1, 1, 0}, "items = 0: must be"}, {PrefixSums{1<<20 + 1, 1, 1, 0}, "items = 1048577"},
		{PrefixSums{8, 0, 1, 0}, "participations = 0: must be"}, {PrefixSums{8, 9, 1, 0}, "participations = 9: must be"},
		{PrefixSums{8, 1, 0, 0}, "separation = 0: must be"}, {PrefixSums{8, 1, 9, 0}, "separation = 9"},
		{PrefixSums{8, 3, 4, 0}, "participations = 3: must be at most 2"}, {PrefixSums{8, 1, 1, 1}, "bands = 1: must be 0"},
	} {
		_, err := newTree(1, c.s, AddOrRemove)
		wantError(t, err, c.want)
	}
	for bands, want := range map[int]string{0: "bands = 0: must be within", 9: "bands = 9: must be within"} {
		_, err := newToeplitz(1, PrefixSums{8, 1, 1, bands}, AddOrRemove)
		wantError(t, err, want)
	}
	_, err := newTree(0, PrefixSums{8, 1, 1, 0}, AddOrRemove)
	wantError(t, err, "noise multiplier = 0")
	_, err = newTree(1, PrefixSums{8, 1, 1, 0}, 0)
	wantError(t, err, "relation")
}
