package session

import (
	"fmt"
	"math"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/internal/coin"
)

// joins[k][i] reports whether record i is in draw k.
type joins [][]bool

func joined(n int, members []int32) []bool {
	in := make([]bool, n)
	for _, i := range members {
		in[i] = true
	}
	return in
}

// looked are the records of 130 that tests look at. Coins come in words of 64: of each of three words these are
// some records, many of them in the same place of their word.
var looked = []int{0, 1, 2, 5, 31, 32, 62, 63, 64, 65, 66, 69, 95, 96, 125, 126, 127, 128, 129}

// lookedAt returns which of the looked at records are members.
func lookedAt(members []int32) []bool {
	in, of := joined(130, members), make([]bool, len(looked))
	for k, i := range looked {
		of[k] = in[i]
	}
	return of
}

// poisson fails the test unless every record joins every draw independently with probability p. It
// checks how often each record joins, how often any two records join together, how often a record
// is in two draws at several distances, and the variance of the sizes. All of these are sums of
// independent (or, between draws, uncorrelated) bounded terms of known variance. The tolerance of 7
// deviations is exceeded by chance with probability below 1e-11 for each check, including the
// skewness at these counts. There are fewer than 2000 checks, so correct code fails with
// probability below 1e-7. Drawing in turns, drawing a fixed size and drawing shuffled epochs pass
// the first check and fail another one.
func poisson(t *testing.T, name string, x joins, p float64, apart []int) {
	t.Helper()
	draws, n := float64(len(x)), len(x[0])
	v := p * (1 - p)
	check := func(what string, sum, variance float64) {
		if !(math.Abs(sum) <= 7*math.Sqrt(variance)) {
			t.Errorf("%s: %s: off by %.1f deviations", name, what, sum/math.Sqrt(variance))
		}
	}
	centred := func(in bool) float64 {
		if in {
			return 1 - p
		}
		return -p
	}
	for i := range n {
		var own float64
		for _, in := range x {
			own += centred(in[i])
		}
		check(fmt.Sprint("joins of record ", i), own, draws*v)
		for j := range i {
			var both float64
			for _, in := range x {
				both += centred(in[i]) * centred(in[j])
			}
			check(fmt.Sprint("records ", i, " and ", j), both, draws*v*v)
		}
	}
	for _, lag := range apart {
		var again float64
		for k := lag; k < len(x); k++ {
			for i := range n {
				again += centred(x[k][i]) * centred(x[k-lag][i])
			}
		}
		check(fmt.Sprint("draws ", lag, " apart"), again, (draws-float64(lag))*float64(n)*v*v)
	}
	var spread float64
	for _, in := range x {
		var size float64
		for _, b := range in {
			size += centred(b)
		}
		spread += size*size - float64(n)*v
	}
	// The fourth cumulant of a Bernoulli variable is v(1 - 6v). For a size it is n times this.
	check("variance of sizes", spread, draws*(2*float64(n*n)*v*v+float64(n)*v*(1-6*v)))
}

// TestSamplesArePoisson tests that the samples of a schedule are Poisson samples.
func TestSamplesArePoisson(t *testing.T) {
	const n, draws, p = 130, 8000, .25
	b := budget(t, 8, 1e-3, account.ReplaceOne)
	records := make([]record, n)
	for i := range records {
		records[i] = record{[]float32{1}, 1, true}
	}
	s := open(t, records, parse(t, "logistic"), b, nil)
	if err := s.Follow(schedule(t, b, account.SampledSteps{NoiseMultiplier: 60, Sampling: p, Count: draws})); err != nil {
		t.Fatal(err)
	}
	x := make(joins, draws)
	for k := range x {
		if _, err := s.Sample(); err != nil {
			t.Fatal(err)
		}
		x[k] = lookedAt(s.sample.members)
	}
	poisson(t, "samples", x, p, []int{1, 2, 3, 4, 5, 7, 8, 63, 64, 65, n - 1, n, n + 1, draws / 2})
}

// TestCohortsByCoinsArePoisson tests that two cohorts are Poisson samples: the first cohort that
// records join by random bits, and the second such cohort among the records left.
func TestCohortsByCoinsArePoisson(t *testing.T) {
	const n, draws, p, second = 130, 6000, .3, .5
	coins := coin.Simulated([32]byte{3})
	first, later := make(joins, draws), make(joins, draws)
	for k := range first {
		c := cohorts{records: n, repeat: 1, unjoined: n}
		c.join(p, coins)
		former := joined(n, c.order[:c.ends[0]])
		first[k] = lookedAt(c.order[:c.ends[0]])
		c.join(second, coins)
		later[k] = lookedAt(c.order[c.ends[0]:c.ends[1]])
		for _, i := range c.order[c.ends[0]:c.ends[1]] {
			if former[i] {
				t.Fatalf("record %d is in two cohorts", i)
			}
		}
	}
	poisson(t, "first cohort", first, p, []int{1, 2, n})
	poisson(t, "second cohort", later, (1-p)*second, []int{1, 2, n})
}

// TestDrawsAreShuffles tests that cohorts drawn by number are equally likely to be any records in
// any order. Passes of SGD rely on this. The test counts all 120 ways to draw one, three and one of
// five records. Each count must be within 6.5 deviations, which correct code fails with probability
// below 120e-10.
func TestDrawsAreShuffles(t *testing.T) {
	const n, draws, ways = 5, 60000, 120
	coins := coin.Simulated([32]byte{4})
	count := map[string]float64{}
	for range draws {
		c := cohorts{records: n, repeat: 1}
		for _, size := range []int{1, 3, 1} {
			c.draw(size, coins)
		}
		count[fmt.Sprint(c.order)]++
	}
	if len(count) != ways {
		t.Errorf("%d orders, want %d", len(count), ways)
	}
	for order, k := range count {
		if !(math.Abs(k-draws/ways) <= 6.5*math.Sqrt(draws/ways)) {
			t.Errorf("%s was drawn %v times, want about %d", order, k, draws/ways)
		}
	}
}

func numbers(n int) []int32 {
	v := make([]int32, n)
	for i := range v {
		v[i] = int32(i)
	}
	return v
}
