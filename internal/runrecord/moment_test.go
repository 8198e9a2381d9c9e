package runrecord_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/internal/runrecord"
)

// TestMomentKeepsTheMatrix tests that the matrix in a certificate differs from the released second
// moment by at most 1/32 of its noise, and takes at most MomentBytes. For too many features it must
// be left out. The test fails if the entries have another unit than the stated step.
func TestMomentKeepsTheMatrix(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, sigma := range []float64{1e-11, 3e-4, .7} {
		const d = 40
		matrix := make([]float64, d*d)
		for j := range d {
			for k := range j + 1 {
				matrix[j*d+k] = 2*r.Float64() - 1
				matrix[k*d+j] = matrix[j*d+k]
			}
		}
		m := runrecord.NewMoment(matrix, d, sigma, .01)
		if len(m.Rows) != d || m.Features != d || m.Sigma != sigma || m.Ridge != .01 || m.Step > sigma/math.Sqrt2/16 {
			t.Fatalf("%d rows of %d features, sigma %v, ridge %v, step %v", len(m.Rows), m.Features, m.Sigma, m.Ridge, m.Step)
		}
		for j, row := range m.Rows {
			for i, text := range strings.Fields(row) {
				v, err := strconv.ParseInt(text, 10, 64)
				if k := j + i; err != nil || !(math.Abs(float64(v)*m.Step-matrix[j*d+k]) <= m.Step/2) {
					t.Fatalf("entry %d, %d: %v, %v: want %v within %v", j, k, float64(v)*m.Step, err, matrix[j*d+k], m.Step/2)
				}
			}
		}
		text, err := json.MarshalIndent(m, "          ", "  ")
		if err != nil || int64(len(text)) > runrecord.MomentBytes(d) {
			t.Errorf("%d bytes, %v: room for %d", len(text), err, runrecord.MomentBytes(d))
		}
	}
	const many = runrecord.MostMoment + 1
	if m := runrecord.NewMoment(make([]float64, many*many), many, 1, 1); m.Rows != nil || m.Features != many {
		t.Errorf("%d rows of %d features", len(m.Rows), m.Features)
	}
}

// TestMomentAbout0: a second moment about a mean row must come back as that about 0, and a mean row of another length
// is an error.
func TestMomentAbout0(t *testing.T) {
	m := runrecord.NewMoment([]float64{2, .5, .5, 1}, 2, .01, .1)
	plain, err := m.About0()
	if err != nil || !(math.Abs(plain[1]-.5) <= .01) {
		t.Fatalf("%v, %v", plain, err)
	}
	m.Mean = []float64{.5, -.25}
	about, err := m.About0()
	if err != nil {
		t.Fatal(err)
	}
	for j, v := range []float64{.25, -.125, -.125, .0625} {
		if about[j] != plain[j]+v {
			t.Errorf("entry %d: %v about the mean row, %v about 0", j, plain[j], about[j])
		}
	}
	m.Mean = m.Mean[:1]
	if _, err := m.About0(); err == nil {
		t.Error("a mean row of one number is taken")
	}
}
