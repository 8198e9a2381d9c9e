package experiment

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"github.com/stillpoint-dp/stillpoint/lab/rehearsal"
	"github.com/stillpoint-dp/stillpoint/lab/synthetic"
	"github.com/stillpoint-dp/stillpoint/stationarity"
)

// This file has families for measuring second-order stationary points: matrices of low rank, and networks.

// components are the eigenvalues of the rows' second moment along three random directions, in the
// families of low rank.
var components = []float64{.3, .2, .12}

// Autoencoder returns the family of the loss autoencoder (package synthetic) on rows of length 1. The second
// moment of the rows has the eigenvalues .3, .2 and .12 along random directions (for rank 1 only .3), and
// equal, smaller eigenvalues along the other directions. The start, the parameter matrix U = 0, is a saddle
// whose smallest eigenvalue is about -.6. If U has several columns there are more saddles, at which only
// some columns of U lie along these random directions.
func Autoencoder(rank int) maker {
	return func(d, rows int, seed uint64) (*Family, error) {
		return lowRankFamily(fmt.Sprintf("autoencoder(%d)", rank), rank, 0xae0c, d, rows, seed,
			func(all, _, largest, _ float64) float64 {
				return (all - largest) / 2
			})
	}
}

// Factorization returns the family of the loss factorization (package synthetic) on the rows of
// Autoencoder. The start, the parameter matrix U = 0, is a saddle whose smallest eigenvalue is about
// -.3.
func Factorization(rank int) maker {
	return func(d, rows int, seed uint64) (*Family, error) {
		return lowRankFamily(fmt.Sprintf("factorization(%d)", rank), rank, 0xfac7, d, rows, seed,
			func(_, square, _, largest float64) float64 {
				return (square - largest) / 4
			})
	}
}

// lowRankFamily returns a family whose minimum is a function of four numbers: all and square, the means
// over the rows of ||x||^2 and ||x||^4, and largest and squares, the sums of the rank largest eigenvalues
// of the second moment and of the squares of these eigenvalues.
func lowRankFamily(name string, rank int, stream uint64, d, rows int, seed uint64,
	minimum func(all, square, largest, squares float64) float64) (*Family, error) {
	if d < 2*rank || d < 4 {
		return nil, fmt.Errorf("experiment: %s: dimension = %d: must be at least 4 and twice the rank", name, d)
	}
	of := func(r *rand.Rand, d int) population { return inComponents(r, d, components[:rank]) }
	f, err := newFamily(of, stream, d, rows, seed, name, name, "")
	if err != nil {
		return nil, err
	}
	moments, row := mat.NewSymDense(d, nil), mat.NewVecDense(d, nil)
	var all, square, largest, squares float64
	for _, x := range f.Sample.Rows {
		norm := 0.
		for j, v := range x {
			row.SetVec(j, float64(v))
			norm += float64(v) * float64(v)
		}
		all, square = all+norm/float64(rows), square+norm*norm/float64(rows)
		moments.SymRankOne(moments, 1/float64(rows), row)
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(moments, false) {
		return nil, fmt.Errorf("experiment: %s: no eigenvalues", name)
	}
	for _, v := range eigen.Values(nil)[d-rank:] { // eigenvalues ascend
		largest, squares = largest+v, squares+v*v
	}
	least := minimum(all, square, largest, squares)
	f.Minimum = &least
	return f, nil
}

// inComponents is a population of rows whose second moment has the given eigenvalues along random
// directions. Along each of these directions a row has the square root of the eigenvalue as its component,
// with a random sign. The rest of the row is uniform among the directions orthogonal to these, and makes
// the row's length 1.
func inComponents(r *rand.Rand, d int, eigenvalues []float64) population {
	q := rehearsal.Rotation(r, d)
	return func(r *rand.Rand, n int) stationarity.Sample {
		s := rehearsal.NewSample(n)
		for range n {
			in, rest, x := make([]float64, d), 1., make([]float64, d)
			for k, v := range eigenvalues {
				in[k] = (2*float64(r.IntN(2)) - 1) * math.Sqrt(v)
				rest -= v
			}
			across := in[len(eigenvalues):]
			for k := range across {
				across[k] = r.NormFloat64()
			}
			norm := stationarity.Norm(across)
			for k := range across {
				across[k] *= math.Sqrt(rest) / norm
			}
			for k, v := range in {
				for j := range x {
					x[j] += v * q[k][j]
				}
			}
			rehearsal.Add(&s, x, 1+0x1p-20, 0) // float32 may round up
		}
		return s
	}
}

// TanhNetwork is the family of a network of 4 tanh units under the logistic loss, on the rows of the
// family TanhNet.
func TanhNetwork(d, rows int, seed uint64) (*Family, error) {
	f, err := TanhNet(d, rows, seed)
	if err != nil {
		return nil, err
	}
	f.Name = "tanh-network"
	f.Loss, err = synthetic.Parse("network(4,tanh,logistic)")
	return f, err
}

// SoftmaxNetwork is the family of a network of 4 tanh units under the softmax loss of three classes,
// on the rows of the family Softmax with d features.
func SoftmaxNetwork(d, rows int, seed uint64) (*Family, error) {
	return newFamily(inClasses, 0x50f7, d, rows, seed, "softmax-network",
		fmt.Sprintf("network(4,tanh,softmax(%d))", softmaxClasses), "")
}
