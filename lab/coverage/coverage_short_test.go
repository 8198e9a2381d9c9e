package coverage

import (
	"math"
	"testing"
)

// falseFailure is the probability with which TestCoverage fails although every share is at its bound. Its comparisons
// share it equally.
const falseFailure = 1e-6

// TestCoverage fits the designs of the short form and compares each term's coverage with the goal of its design. The test
// fails where a term is covered less than by chance. It also fails where less than a quarter of a design's terms are
// stated, since a method that states nothing would pass otherwise.
func TestCoverage(t *testing.T) {
	const fits = 30
	var judged []*Judged
	comparisons := 0.
	for _, d := range designs {
		if !d.Short {
			continue
		}
		d.Records, d.Epsilon = d.ShortRecords, d.ShortEpsilon
		j, err := d.Run(t.Context(), fits)
		if err != nil {
			t.Fatal(err)
		}
		judged = append(judged, j)
		comparisons += float64(len(j.Terms))
	}
	if comparisons < 10 {
		t.Fatalf("%v terms: too few to show anything", comparisons)
	}
	for _, j := range judged {
		goal, stated := j.goal(), 0
		for _, k := range j.Terms {
			stated += k.Reported
		}
		if stated < fits*len(j.Terms)/4 {
			t.Errorf("%s: %d terms stated in %d fits with %d terms", j.Name, stated, fits, len(j.Terms))
		}
		for _, k := range j.Terms {
			if p := atMost(k.Held, k.Reported, goal); p < falseFailure/comparisons {
				t.Errorf("%s, %s: %d of %d hold the truth: by chance with probability %.2g at coverage %v", j.Name, k.Name, k.Held,
					k.Reported, p, goal)
			}
		}
	}
}

// atMost returns the probability of at most k successes of n with probability p each.
func atMost(k, n int, p float64) (sum float64) {
	for i := range k + 1 {
		a, _ := math.Lgamma(float64(n + 1))
		b, _ := math.Lgamma(float64(i + 1))
		c, _ := math.Lgamma(float64(n - i + 1))
		sum += math.Exp(a - b - c + float64(i)*math.Log(p) + float64(n-i)*math.Log(1-p))
	}
	return sum
}

// TestChance tests the probabilities and the failure of TestCoverage on counts that are known.
func TestChance(t *testing.T) {
	if p := atMost(1, 3, .5); math.Abs(p-.5) > 1e-12 {
		t.Errorf("at most 1 of 3 heads: %v", p)
	}
	if p := atMost(22, 40, .93); p > 1e-9 {
		t.Errorf("22 of 40 at .93 have the probability %v: a coverage of .55 would pass", p)
	}
}

// TestTruthIsTheTruth compares the coefficients that a design's own computation finds on a large sample with those by
// which the sample was drawn.
func TestTruthIsTheTruth(t *testing.T) {
	for _, d := range designs {
		if !d.Intervals || d.Truth == nil || !d.Short {
			continue
		}
		rows := d.rows(9, 60_000)
		if d.Cuts != nil { // events are counts over the time until the middle of their year
			d.Loss, d.Exposed = "poisson(1)", true
			for i, r := range rows {
				event := r.x[len(d.Columns)]
				rows[i].y, r.x[len(d.Columns)] = event, r.y-event/2
			}
		}
		found := d.fit(rows)
		for name, want := range d.Truth {
			if got := found[name]; math.Abs(got-want) > .15+.1*math.Abs(want) {
				t.Errorf("%s: %s: %v in a sample of 60,000 rows: drawn by %v", d.Name, name, got, want)
			}
		}
	}
}
