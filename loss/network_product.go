package loss

import (
	"fmt"
	"math"
	"sync"

	"github.com/stillpoint-dp/stillpoint/internal/vector"
)

// smoothNetwork is a network with the activation tanh, which has a second derivative everywhere. It is a
// [Twice]: it computes products of its Hessian and a vector.
type smoothNetwork struct {
	*network
	motions sync.Pool // of *motion
}

// smooth returns the network n, whose activation must be tanh, with the method HessianVector.
func smooth(n *network) *smoothNetwork {
	s := &smoothNetwork{network: n}
	s.motions.New = func() any { return new(motion) }
	return s
}

// motion is scratch memory for one record: the intermediate results of the network (activity), and their
// derivatives along a direction v of the weights.
type motion struct {
	activity
	moved [][]float64 // of each hidden layer: the derivative along v of the units' arguments
	// inputs2, bends2, deltas2 and z2 are the derivatives along v of activity's inputs, bends, deltas and z.
	inputs2, bends2, deltas2 [][]float64
	z2                       []float64
	back, back2              []float64 // of one layer: derivatives of phi in its outputs, and R of them
}

// prepare allocates the slices of m, unless they have been allocated before.
func (n *network) prepare(m *motion) {
	n.ready(&m.activity, 1)
	if m.moved != nil {
		return
	}
	like := func(of [][]float64) [][]float64 {
		return vector.Map(of, func(v []float64) []float64 { return make([]float64, len(v)) })
	}
	m.moved, m.inputs2, m.bends2, m.deltas2 = like(m.bends), like(m.inputs), like(m.bends), like(m.deltas)
	m.z2 = make([]float64, len(m.z))
	m.back, m.back2 = make([]float64, mostUnits), make([]float64, mostUnits)
}

// HessianVector writes the product of v and the Hessian of Value to dst, by the operator R of Pearlmutter
// (1994): R{f} is the derivative of f along v, and R{gradient} is the product. The result has rounding
// errors only. Clip has no effect: the Hessian is the derivative of the gradient before it is scaled down.
//
// The method moveForward computes R of each layer's inputs and outputs. The method moveBackward computes R
// of the derivatives (deltas) that the method backward computes.
func (n *smoothNetwork) HessianVector(dst, w, v []float64, x []float32, y float64) {
	n.check(len(dst), len(w), x)
	if len(v) != len(w) {
		panic(fmt.Sprintf("loss: network: len(v) = %d: must be len(w) = %d", len(v), len(w)))
	}
	m := n.motions.Get().(*motion)
	defer n.motions.Put(m)
	n.prepare(m)
	first := n.Hidden[0] * len(x)
	theta := n.forward(&m.activity, w, x)
	n.moveForward(m, theta, v, x)
	n.bendOutput(m, y)
	n.backward(&m.activity, theta)
	n.moveBackward(m, theta, v[first:])
	outer(dst, m.deltas2[0], x)
	at := first
	for l, in := range m.inputs {
		for k, s := range m.deltas2[l+1] {
			delta := m.deltas[l+1][k]
			for i, u := range in {
				dst[at+i] = math.FMA(s, u, float64(delta*m.inputs2[l][i]))
			}
			at += len(in)
		}
	}
}

// moveForward computes, for the row x, the derivatives along the direction v of all weights: of the units' arguments,
// outputs and slopes, and of the network's outputs. theta holds the weights above the first layer.
func (n *network) moveForward(m *motion, theta, v []float64, x []float32) {
	scores(m.moved[0], v, x)
	v = v[n.Hidden[0]*len(x):]
	for l := range n.Hidden {
		n.moveUnits(m, l)
		in, in2 := m.inputs[l], m.inputs2[l]
		next := m.z2
		if l+1 < len(n.Hidden) {
			next = m.moved[l+1]
		}
		for k := range next {
			at := k * len(in)
			next[k] = inner(v[at:at+len(in)], in) + inner(theta[at:at+len(in)], in2)
		}
		theta, v = theta[len(next)*len(in):], v[len(next)*len(in):]
	}
}

// moveUnits computes the derivatives along a direction (R) of the outputs and slopes of layer l's units, from R of the
// units' arguments. The second derivative of tanh is -2 tanh tanh'. R of the layer's constant output is 0.
func (n *network) moveUnits(m *motion, l int) {
	in, bends, moved := m.inputs[l], m.bends[l], m.moved[l]
	root := math.Sqrt(float64(len(in)))
	for j, u := range moved {
		m.inputs2[l][j] = float64(bends[j] * u)
		m.bends2[l][j] = float64(float64(-2*root*in[j]) * float64(bends[j]*u))
	}
	m.inputs2[l][len(moved)] = 0
}

// bendOutput computes the slopes of the output loss, and their derivatives along a direction (R): the
// output loss's second derivative times R of the network's outputs.
func (n *network) bendOutput(m *motion, y float64) {
	top := len(n.Hidden)
	m.y[0] = y
	switch l := n.Output().(type) {
	case RankOne:
		l.Slopes(m.deltas[top], m.z, m.y[:])
		l.Curvatures(m.deltas2[top], m.z, m.y[:])
		for k, u := range m.z2 {
			m.deltas2[top][k] = float64(m.deltas2[top][k] * u)
		}
	case Margins:
		l.Slopes(m.deltas[top], m.z, m.y[:])
		l.CurvaturesAlong(m.deltas2[top], m.z, m.z2, m.y[:])
	}
}

// moveBackward computes the derivatives along a direction (R) of the loss's derivatives in the arguments
// of the layers' units, from the last hidden layer to the first. w holds the weights above the first layer,
// and v holds the part of the direction that belongs to these weights.
func (n *network) moveBackward(m *motion, w, v []float64) {
	end := len(w)
	for l := len(n.Hidden) - 1; l >= 0; l-- {
		in, above, above2 := len(m.inputs[l]), m.deltas[l+1], m.deltas2[l+1]
		from := end - len(above)*in
		back, back2 := m.back[:in-1], m.back2[:in-1]
		clear(back)
		clear(back2)
		for k, s := range above {
			at := from + k*in
			for j := range back {
				back[j] = math.FMA(s, w[at+j], back[j])
				back2[j] = math.FMA(above2[k], w[at+j], math.FMA(s, v[at+j], back2[j]))
			}
		}
		for j, b := range m.bends[l] {
			m.deltas2[l][j] = math.FMA(back2[j], b, float64(back[j]*m.bends2[l][j]))
		}
		end = from
	}
}
