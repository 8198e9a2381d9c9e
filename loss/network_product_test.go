package loss_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stillpoint-dp/stillpoint/loss"
)

// hyper is a hyper-dual number f + a e1 + b e2 + c e1 e2, with e1^2 = e2^2 = 0. If e1 is added to one input
// of a computation and e2 to another input, c of the result is the exact mixed second derivative in these
// two inputs.
type hyper struct{ f, a, b, c float64 }

func (x hyper) plus(y hyper) hyper { return hyper{x.f + y.f, x.a + y.a, x.b + y.b, x.c + y.c} }

func (x hyper) times(y hyper) hyper {
	return hyper{x.f * y.f, x.f*y.a + x.a*y.f, x.f*y.b + x.b*y.f, x.f*y.c + x.a*y.b + x.b*y.a + x.c*y.f}
}

// through returns g(x) for a function g of one variable, given the value f, the first derivative d
// and the second derivative dd of g at x.f.
func (x hyper) through(f, d, dd float64) hyper {
	return hyper{f, d * x.a, d * x.b, d*x.c + dd*x.a*x.b}
}

func (x hyper) tanh() hyper {
	t := math.Tanh(x.f)
	return x.through(t, 1-t*t, -2*t*(1-t*t))
}

func (x hyper) exp() hyper {
	e := math.Exp(x.f)
	return x.through(e, e, e)
}

func (x hyper) log() hyper { return x.through(math.Log(x.f), 1/x.f, -1/(x.f*x.f)) }

// hyperOutputs computes the outputs of a tanh network by its definition, as the function perceptron
// does, but from hyper-dual weights.
func hyperOutputs(hidden []int, outputs int, w []hyper, row []float32) []hyper {
	x := make([]hyper, len(row))
	for i, v := range row {
		x[i].f = float64(v)
	}
	matrix := func(rows int) []hyper {
		out := make([]hyper, rows)
		for k := range out {
			for i, v := range x {
				out[k] = out[k].plus(w[k*len(x)+i].times(v))
			}
		}
		w = w[rows*len(x):]
		return out
	}
	for _, m := range hidden {
		u := matrix(m)
		scale := hyper{f: 1 / math.Sqrt(float64(m)+1)}
		x = nil
		for _, v := range u {
			x = append(x, v.tanh().times(scale))
		}
		x = append(x, scale)
	}
	return matrix(outputs)
}

// TestNetworkProductsByDefinition compares Hessian products of networks with mixed second
// derivatives of the loss, coordinate by coordinate, in hyper-dual arithmetic.
func TestNetworkProductsByDefinition(t *testing.T) {
	random := rand.New(rand.NewPCG(8, 8))
	logistic := func(z []hyper, y float64) hyper { // log(1 + e^(-yz))
		return hyper{f: 1}.plus(hyper{f: -y}.times(z[0]).exp()).log()
	}
	softmax := func(z []hyper, y float64) hyper { // log(sum e^z) - z_y
		var sum hyper
		for _, v := range z {
			sum = sum.plus(v.exp())
		}
		return sum.log().plus(hyper{f: -1}.times(z[int(y)]))
	}
	for name, c := range map[string]struct {
		hidden  []int
		outputs int
		loss    func([]hyper, float64) hyper
	}{
		"network(1,tanh,logistic)":     {[]int{1}, 1, logistic},
		"network(70,tanh,logistic)":    {[]int{70}, 1, logistic},
		"network(5-3,tanh,logistic)":   {[]int{5, 3}, 1, logistic},
		"network(3-6,tanh,softmax(3))": {[]int{3, 6}, 3, softmax},
		"network(4,tanh,softmax(4))":   {[]int{4}, 4, softmax},
	} {
		l := network(t, name).(loss.Twice)
		for range 5 {
			x := make([]float32, 3)
			for i := range x {
				x[i] = float32(random.NormFloat64() / 2)
			}
			p := loss.Parameters(l, len(x))
			w, v, got := make([]float64, p), make([]float64, p), make([]float64, p)
			dual := make([]hyper, p)
			for j := range w {
				w[j], v[j] = 2*random.NormFloat64(), random.NormFloat64()
				dual[j] = hyper{f: w[j], b: v[j]}
			}
			y := float64(random.IntN(max(c.outputs, 2)))
			if c.outputs == 1 {
				y = 2*y - 1
			}
			l.HessianVector(got, w, v, x, y)
			size := 0.0
			for _, h := range got {
				size = max(size, math.Abs(h))
			}
			for j := range w {
				dual[j].a = 1
				if want := c.loss(hyperOutputs(c.hidden, c.outputs, dual, x), y).c; !(math.Abs(got[j]-want) <= 1e-12*size) {
					t.Fatalf("%s: coordinate %d of the product is %v, by definition %v", name, j, got[j], want)
				}
				dual[j].a = 0
			}
		}
	}
	if _, is := network(t, "network(4,relu,logistic)").(loss.Twice); is {
		t.Error("a network with relu offers Hessian products")
	}
}
