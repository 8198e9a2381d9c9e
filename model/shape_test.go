package model

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stillpoint-dp/stillpoint/loss"
)

// TestCholeskyMultipliesBack tests that a factor times its transpose is the matrix, for matrices of small and of large
// entries, also for those of which a part is 0, and that the factor is lower triangular.
func TestCholeskyMultipliesBack(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for _, size := range []float64{1e-6, .1, 1, 1e5} {
		for rank := 1; rank <= 4; rank++ {
			const d = 4
			b := make([][]float64, d)
			for i := range b {
				for k := range rank {
					v := 0. // the first rank rows are a triangle, so that no pivot is 0 by rounding alone
					if k <= i {
						v = size * (.5 + r.Float64())
					}
					b[i] = append(b[i], v)
				}
			}
			a := make([][]float64, d)
			for i := range d {
				for j := range d {
					sum := 0.
					for k := range rank {
						sum += b[i][k] * b[j][k]
					}
					a[i] = append(a[i], sum)
				}
			}
			root := cholesky(a)
			for i := range d {
				for j := range d {
					sum := 0.
					for k := range d {
						sum += root[i][k] * root[j][k]
					}
					if math.Abs(sum-a[i][j]) > 1e-7*size*size || j > i && root[i][j] != 0 {
						t.Errorf("size %v, rank %d: entry %d, %d is %v: must be %v", size, rank, i, j, sum, a[i][j])
					}
				}
			}
		}
	}
}

// TestTargetsOfRates tests the expected target of counts and of positive numbers, on the scale from -1 to 1 between the
// least and the largest value, for rates below the least one, between both and beyond the largest.
func TestTargetsOfRates(t *testing.T) {
	for _, x := range []struct {
		name        string
		least, most float64
	}{{"poisson(5)", 0, 5}, {"gamma(5,0.0625)", .0625, 1}} {
		l, err := loss.Parse(x.name)
		if err != nil {
			t.Fatal(err)
		}
		for _, share := range []float64{.01, .2, .6, 1, 3} {
			z := 0.
			for range 200 { // the margin at which the rate is this share, by Newton's steps on its logarithm
				z -= math.Log(l.(linked).Rate(z) / share)
			}
			got := targets(l, nil, []float64{z}, 0)
			least := x.least
			want := 2*(min(max(share, least), 1)-least)/(1-least) - 1
			if len(got) != 1 || got[0].weight != 1 || math.Abs(got[0].y-want) > 1e-9 {
				t.Errorf("%s at the rate %v: %+v: must be %v", x.name, share, got, want)
			}
		}
	}
}
