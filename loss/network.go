package loss

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/stillpoint-dp/stillpoint/internal/repromath"
	"github.com/stillpoint-dp/stillpoint/internal/simd"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
)

// Composed is a loss phi(z, y) of margins z that are not linear in the parameters: the outputs of a
// network.
type Composed interface {
	Shaped
	// Output is phi: a RankOne or a Margins.
	Output() Loss
	// MarginsAt returns the margins z of the row x at the parameters w. It panics unless len(w) =
	// Parameters(len(x)).
	MarginsAt(w []float64, x []float32) []float64
	// Layers returns the number of units of each hidden layer, and their activation.
	Layers() (hidden []int, activation string)
	// Start returns the point from which optimizers start. It is public and always the same. It is
	// not zero, because at zero only the constant terms of the outputs have a nonzero gradient.
	Start(features int) []float64
}

// Network is a multilayer perceptron: one or two layers of hidden units between the row and the margins, and a loss of
// these margins. With the activation tanh, the network's loss is a [Twice]. With relu it is not: relu has no second
// derivative at 0, and the Hessian of its linear pieces would not include the kinks between the pieces.
type Network struct {
	// Hidden holds the number of units of each hidden layer.
	Hidden []int
	// Activation is tanh or relu.
	Activation string
	// Output is the loss of the outputs, such as logistic, softmax or squared(1).
	Output Loss
	// Clip is the largest norm of a record's gradient: longer gradients are scaled down to it. Zero means
	// the Lipschitz constant of the output loss.
	Clip float64
	// Seed is the public seed of the starting point, at most 2^53. Zero means 1.
	Seed uint64
}

// gain is the standard deviation of the hidden layers' weights at the start. Rows have norm at most 1, so
// the argument of a first-layer unit has a standard deviation of at most 2. This is large enough for tanh
// not to be linear, and small enough not to saturate it.
const gain = 2

// mostUnits is the largest number of units of a layer. mostSeed is the largest seed: seeds up to 2^53 are
// exact as float64 numbers.
const mostUnits, mostSeed = 1 << 12, 1 << 53

// NewNetwork returns the loss of a network. In a layer with m units, the outputs h and a constant 1
// are scaled by 1/sqrt(m+1), so that under tanh the input of each layer has norm at most 1:
//
//	h_1 = a(W_1 x), h_2 = a(W_2 [h_1; 1]/sqrt(m_1+1)), z = V [h; 1]/sqrt(m+1),
//
// where a is the activation and h are the outputs of the last hidden layer. The parameters are the rows
// of W_1, of W_2 and of V, one after the other. The first layer has no constant term, because a row may
// have the constant intercept as a feature. This is the scaling of Jacot et al. 2018, under which
// gradients and curvature do not grow with the number of units.
//
// At the start V is zero, so all outputs are zero, and InitialGap is the InitialGap of the output
// loss. The other weights are normal variates from a public seed.
//
// No Lipschitz constant holds for all w. Gradient therefore returns the gradient scaled down to norm at most Clip, and
// an optimizer follows the scaled gradient. If the output loss clips its slopes, they are clipped first. Let L0 and L1
// bound the slopes s and the curvature of the output loss. At the start:
//
//	gradient: s [h; 1]'/sqrt(m+1) for V and 0 for the other weights, at most L0
//	Hessian: the Hessian of phi for V, at most L1, and a block of V and the layer below it
//	with entries s a' [h; 1]/sqrt(m+1), at most L0/sqrt(m+1)
//
// The constant Curvature is this bound at the start. The curvature may grow during training, so optimizers
// must check their steps. There is no bound where the slope of the output loss jumps. The slope of relu
// units jumps too. Between these jumps the bound above holds.
func NewNetwork(n Network) (Composed, error) {
	if len(n.Hidden) < 1 || len(n.Hidden) > 2 {
		return nil, fmt.Errorf("loss: network: hidden = %v: must be the units of one or two layers", n.Hidden)
	}
	for _, m := range n.Hidden {
		if m < 1 || m > mostUnits {
			return nil, fmt.Errorf("loss: network: hidden = %v: a layer must have between 1 and %d units", n.Hidden, mostUnits)
		}
	}
	if n.Activation != "tanh" && n.Activation != "relu" {
		return nil, fmt.Errorf("loss: network: activation = %q: must be tanh or relu", n.Activation)
	}
	switch n.Output.(type) {
	case RankOne, Margins:
	default:
		return nil, fmt.Errorf("loss: network: output: must be a loss of margins, such as logistic, softmax or squared(1)")
	}
	n.Clip = cmp.Or(n.Clip, n.Output.Constants().Lipschitz)
	if err := checkScale("network", "clip", n.Clip); err != nil {
		return nil, err
	}
	n.Seed = cmp.Or(n.Seed, 1)
	if n.Seed > mostSeed {
		return nil, fmt.Errorf("loss: network: seed = %d: must be at most %d", n.Seed, uint64(mostSeed))
	}
	n.Hidden = slices.Clone(n.Hidden)
	out := &network{Network: n, outputs: Count(n.Output)}
	out.scratch.New = func() any { return new(activity) }
	if n.Activation == "tanh" {
		return smooth(out), nil
	}
	return out, nil
}

// networkOf returns the network of l if l is the loss of a network. ok is false for any other loss.
func networkOf(l Loss) (n *network, ok bool) {
	switch l := l.(type) {
	case *network:
		return l, true
	case *smoothNetwork:
		return l.network, true
	}
	return nil, false
}

type network struct {
	Network
	outputs int
	scratch sync.Pool // of *activity
}

// activity is scratch memory for a block of records: the intermediate results of the network's forward and
// backward pass. Number j of record i, of n, is at [j*n+i].
type activity struct {
	first  []float64   // W_1 x, the arguments of the first layer's units
	slopes []float64   // the derivatives of phi in first, scaled down by shrink
	inputs [][]float64 // of each layer after the first: [h; 1]/sqrt(m+1), for the m outputs h of the layer below
	bends  [][]float64 // of each hidden layer of m units: the derivatives of its scaled outputs, a'/sqrt(m+1)
	deltas [][]float64 // of each layer: the derivatives of phi in the arguments of its units
	z      []float64   // the network's outputs
	scale  []float64   // the factors of shrink
	ones   []float64   // scratch memory for one number of each record
	turned []float64   // the network's outputs, or the derivatives in them, record by record
	y      [1]float64  // the target of a single record
	value  [1]float64  // its loss
	square [1]float64  // its row's squared norm
}

func (n *network) Target() Target { return n.Network.Output.Target() }
func (n *network) Output() Loss   { return n.Network.Output }

func (n *network) Layers() (hidden []int, activation string) {
	return slices.Clone(n.Hidden), n.Activation
}

func (n *network) Constants() Constants {
	out := n.Output().Constants()
	own := out.Lipschitz / math.Sqrt(float64(n.Hidden[len(n.Hidden)-1]+1))
	return Constants{
		Lipschitz: n.Clip, Clipped: true,
		Curvature:        CurvatureInterval{Lo: min(out.Curvature.Lo, 0) - own, Hi: out.Curvature.Hi + own},
		HessianLipschitz: math.Inf(1),
		InitialGap:       out.InitialGap,
		ZeroMean:         out.ZeroMean,
		Loose:            "the clip is a choice, and curvature is bounded block by block",
		Local:            "at the start",
	}
}

func (n *network) Parameters(features int) int {
	p, in := 0, features
	for _, m := range n.Hidden {
		p += m * in
		in = m + 1
	}
	return p + n.outputs*in
}

// Start returns the public point from which optimizers start, with the same bits on every machine.
func (n *network) Start(features int) []float64 {
	w := make([]float64, n.Parameters(features))
	bits := splitMix(n.Seed)
	for j := range len(w) - n.outputs*(n.Hidden[len(n.Hidden)-1]+1) {
		w[j] = float64(gain * bits.normal())
	}
	return w
}

// splitMix is the pseudo-random generator of Steele, Lea and Flood 2014. Its value is the state. It draws
// the public starting point.
type splitMix uint64

// uniform returns a multiple of 2^-53 in [0, 1).
func (s *splitMix) uniform() float64 {
	*s += 0x9e3779b97f4a7c15
	z := uint64(*s)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return float64((z^z>>31)>>11) / (1 << 53)
}

// normal returns an approximately standard normal variate, the sum of twelve uniform variates minus
// 6. It needs additions only, so its bits are the same on every machine. It lies in [-6, 6).
func (s *splitMix) normal() float64 {
	sum := -6.0
	for range 12 {
		sum += s.uniform()
	}
	return sum
}

// Units is the number of units of the first hidden layer.
func (n *network) Units() int { return n.Hidden[0] }

// ready gives the slices of a the lengths for a block of the given number of records.
func (n *network) ready(a *activity, records int) {
	layers := len(n.Hidden)
	if a.inputs == nil {
		a.inputs, a.bends, a.deltas = make([][]float64, layers), make([][]float64, layers), make([][]float64, layers+1)
	}
	if len(a.scale) == records {
		return
	}
	fit := func(v *[]float64, numbers int) {
		*v = resized(v, numbers*records)
	}
	for l, m := range n.Hidden {
		fit(&a.inputs[l], m+1)
		fit(&a.bends[l], m)
		fit(&a.deltas[l], m)
		constant := 1 / math.Sqrt(float64(m+1))
		for i := m * records; i < len(a.inputs[l]); i++ {
			a.inputs[l][i] = constant
		}
	}
	fit(&a.first, n.Hidden[0])
	fit(&a.slopes, n.Hidden[0])
	fit(&a.z, n.outputs)
	fit(&a.deltas[layers], n.outputs)
	fit(&a.turned, n.outputs)
	fit(&a.scale, 1)
	fit(&a.ones, 1)
}

// forward computes the hidden layers' outputs and the network's outputs of the row x at the
// parameters w. It stores them in a and returns theta, the weights above the first layer.
func (n *network) forward(a *activity, w []float64, x []float32) (theta []float64) {
	n.ready(a, 1)
	scores(a.first, w, x)
	theta = w[len(a.first)*len(x):]
	n.above(a, theta, a.first)
	return theta
}

// above computes the outputs of a block of records from first, the weighted sums that enter the first layer's
// units, and from w, the weights above the first layer.
func (n *network) above(a *activity, w, first []float64) {
	n.activate(a, 0, first)
	for l, m := range n.Hidden {
		next := a.z
		if l+1 < len(n.Hidden) {
			next = a.bends[l+1]
		}
		records := len(a.scale)
		for k := 0; k*records < len(next); k++ {
			simd.Dots(next[k*records:(k+1)*records], w[k*(m+1):(k+1)*(m+1)], 1, a.inputs[l])
		}
		if l+1 < len(n.Hidden) {
			n.activate(a, l+1, next)
			w = w[n.Hidden[l+1]*(m+1):]
		}
	}
}

// activate computes the scaled outputs of layer l (in a.inputs[l]), and their derivatives (in a.bends[l]),
// from u, the weighted sums that enter the layer's units. u may be the slice a.bends[l].
func (n *network) activate(a *activity, l int, u []float64) {
	scale := 1 / math.Sqrt(float64(n.Hidden[l]+1))
	inputs, bends := a.inputs[l][:len(u)], a.bends[l]
	if n.Activation == "relu" {
		for j, u := range u {
			inputs[j], bends[j] = float64(max(u, 0)*scale), 0
			if u > 0 {
				bends[j] = scale
			}
		}
		return
	}
	repromath.Tanhs(inputs, bends, u, scale)
}

func inner(a, b []float64) (sum float64) {
	for i, v := range a {
		sum = math.FMA(v, b[i], sum)
	}
	return sum
}

func (n *network) check(dst, w int, x []float32) {
	if p := n.Parameters(len(x)); len(x) == 0 || dst != p || w != p {
		panic(fmt.Sprintf("loss: network: len(dst) = %d, len(w) = %d: must be %d for %d features", dst, w, p, len(x)))
	}
}

func (n *network) MarginsAt(w []float64, x []float32) []float64 {
	n.check(len(w), len(w), x)
	a := n.scratch.Get().(*activity)
	defer n.scratch.Put(a)
	n.forward(a, w, x)
	return slices.Clone(a.z)
}

func (n *network) Value(w []float64, x []float32, y float64) float64 {
	n.check(len(w), len(w), x)
	a := n.scratch.Get().(*activity)
	defer n.scratch.Put(a)
	n.forward(a, w, x)
	a.y[0] = y
	n.values(a.value[:], a, a.y[:])
	return a.value[0]
}

// values writes the losses of the outputs a.z to dst.
func (n *network) values(dst []float64, a *activity, y []float64) {
	switch l := n.Output().(type) {
	case RankOne:
		l.Values(dst, a.z, y)
	case Margins:
		simd.Turn(a.turned, a.z, len(y))
		l.Values(dst, a.turned, y)
	}
}

// outputSlopes computes the derivatives of the losses in the outputs, in the last element of a.deltas. The output
// loss may leave some numbers of a faulty record unwritten.
func (n *network) outputSlopes(a *activity, y []float64) {
	top := a.deltas[len(n.Hidden)]
	switch l := n.Output().(type) {
	case RankOne:
		l.Slopes(top, a.z, y)
	case Margins:
		simd.Turn(a.turned, a.z, len(y))
		// The derivatives are written over the outputs, which nothing reads after this.
		l.Slopes(a.z, a.turned, y)
		simd.Turn(top, a.z, n.outputs)
	}
}

// Gradient writes to dst the gradient of one record's loss in the parameters w, scaled down to norm
// at most the network's Clip.
func (n *network) Gradient(dst, w []float64, x []float32, y float64) {
	n.check(len(dst), len(w), x)
	a := n.scratch.Get().(*activity)
	defer n.scratch.Put(a)
	theta := n.forward(a, w, x)
	square := 0.0
	for _, v := range x {
		square = math.FMA(float64(v), float64(v), square)
	}
	a.y[0], a.square[0] = y, square
	n.differentiate(a, a.slopes, dst[len(a.slopes)*len(x):], theta, a.square[:], a.y[:])
	outer(dst, a.slopes, x)
}

// Forward computes the losses of a block of records from the first layer's margins (package curator/internal/engine).
func (n *network) Forward(dst, z, theta, y []float64) {
	n.checkBlock(len(dst), 1, z, theta, y)
	a := n.scratch.Get().(*activity)
	defer n.scratch.Put(a)
	n.ready(a, len(y))
	n.above(a, theta, z)
	n.values(dst, a, y)
}

// Backward computes the gradients of a block of records. The gradient in the first layer's weights is s x',
// and Backward writes s. It writes the gradient in all other weights to rest (package curator/internal/engine).
func (n *network) Backward(s, rest, z, theta, square, y []float64) {
	n.checkBlock(len(s), n.Hidden[0], z, theta, y)
	if len(rest) != len(y)*len(theta) || len(square) != len(y) {
		panic(fmt.Sprintf("loss: network: len(rest) = %d, len(square) = %d: must be %d and %d", len(rest), len(square),
			len(y)*len(theta), len(y)))
	}
	a := n.scratch.Get().(*activity)
	defer n.scratch.Put(a)
	n.ready(a, len(y))
	n.above(a, theta, z)
	n.differentiate(a, s, rest, theta, square, y)
}

// checkBlock panics unless the lengths are those of a block of len(y) records: each numbers a record in dst, and
// Units in z.
func (n *network) checkBlock(dst, each int, z, theta, y []float64) {
	if above := n.Parameters(1) - n.Hidden[0]; len(y) == 0 || dst != each*len(y) || len(z) != n.Hidden[0]*len(y) ||
		len(theta) != above {
		panic(fmt.Sprintf("loss: network: len(y) = %d, len(dst) = %d, len(z) = %d, len(theta) = %d: must be at least 1, "+
			"%d, %d and %d", len(y), dst, len(z), len(theta), each*len(y), n.Hidden[0]*len(y), above))
	}
}

// differentiate writes to s the derivatives of the losses in the arguments W x of the first layer's units,
// and to rest the gradients in the weights above the first layer. It multiplies s and rest by the factors of
// the method shrink. The method above must have filled a. square holds the rows' squared norms.
func (n *network) differentiate(a *activity, s, rest, theta, square, y []float64) {
	records := len(y)
	n.outputSlopes(a, y)
	n.backward(a, theta)
	n.shrink(a, square)
	simd.Times(s, a.deltas[0], a.scale)
	for l, in := range a.inputs {
		for deltas := a.deltas[l+1]; len(deltas) > 0; deltas, rest = deltas[records:], rest[len(in):] {
			simd.Times(a.ones, deltas[:records], a.scale)
			simd.Times(rest[:len(in)], in, a.ones)
		}
	}
}

// backward computes a.deltas of every hidden layer from the last element of a.deltas, the derivatives of
// the losses in the network's outputs. w holds the weights above the first layer.
func (n *network) backward(a *activity, w []float64) {
	records, end := len(a.scale), len(w)
	for l := len(n.Hidden) - 1; l >= 0; l-- {
		in, above, delta := n.Hidden[l]+1, a.deltas[l+1], a.deltas[l]
		start := end - len(above)/records*in
		for j := range n.Hidden[l] {
			simd.Dots(delta[j*records:(j+1)*records], w[start+j:end], in, above)
		}
		simd.Times(delta, delta, a.bends[l])
		end = start
	}
}

// shrink sets a.scale to the factors, at most 1, that scale the records' gradients down to norm at most Clip. A
// gradient is an outer product of two vectors for each layer, so its norm is computed from the norms of
// these vectors. square holds the squares of the rows' norms.
func (n *network) shrink(a *activity, square []float64) {
	total, inputs, deltas := a.scale, a.ones, a.turned[:len(square)]
	simd.FusedSquares(total, a.deltas[0])
	simd.Times(total, total, square)
	for l, in := range a.inputs {
		simd.FusedSquares(inputs, in)
		simd.FusedSquares(deltas, a.deltas[l+1])
		for i := range total {
			total[i] = math.FMA(inputs[i], deltas[i], total[i])
		}
	}
	for i, t := range total {
		total[i] = 1
		if size := math.Sqrt(t); size > n.Clip {
			total[i] = n.Clip / size
		}
	}
}

// parseNetwork makes the loss of a [Network] from its name, such as network(16,tanh,logistic) or
// network(32-16,tanh,softmax(3),clip=0.5,seed=7). classes is the number of classes of the target. It is
// used for "softmax" without a number.
func parseNetwork(name string, classes int) (Loss, error) {
	list, closed := strings.CutSuffix(strings.TrimPrefix(name, networkPrefix), ")")
	fields := splitOutside(list)
	if !closed || len(fields) < 3 {
		return nil,
			fmt.Errorf("loss: name = %q: must be network(hidden,activation,output), such as network(16,tanh,logistic)", name)
	}
	n := Network{Activation: fields[1]}
	for _, text := range strings.Split(fields[0], "-") {
		m, err := strconv.Atoi(text)
		if err != nil {
			return nil, fmt.Errorf("loss: network: hidden = %q: must be numbers of units, such as 32 or 32-16", fields[0])
		}
		n.Hidden = append(n.Hidden, m)
	}
	var err error
	if n.Output, err = ParseFor(fields[2], classes); err != nil {
		return nil, fmt.Errorf("loss: network: output: %w", err)
	}
	for _, field := range fields[3:] {
		key, value, _ := strings.Cut(field, "=")
		switch key {
		case "clip":
			n.Clip, err = strconv.ParseFloat(value, 64)
		case "seed":
			n.Seed, err = strconv.ParseUint(value, 10, 64)
		default:
			return nil, fmt.Errorf("loss: network: %q: must be clip=C or seed=S", field)
		}
		if err != nil {
			return nil, fmt.Errorf("loss: network: %s = %q: must be a number", key, value)
		}
	}
	return NewNetwork(n)
}

const networkPrefix = "network("

// splitOutside splits a list at its commas, except for commas inside parentheses, and trims spaces.
func splitOutside(list string) (fields []string) {
	depth, from := 0, 0
	for i, c := range list {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ',' && depth == 0:
			fields = append(fields, strings.TrimSpace(list[from:i]))
			from = i + 1
		}
	}
	return append(fields, strings.TrimSpace(list[from:]))
}

func (n *network) Name() string {
	hidden := vector.Map(n.Hidden, strconv.Itoa)
	name := networkPrefix + strings.Join(hidden, "-") + "," + n.Activation + "," + n.Output().Name()
	if n.Clip != n.Output().Constants().Lipschitz {
		name += ",clip=" + shown(n.Clip)
	}
	if n.Seed != 1 {
		name += ",seed=" + strconv.FormatUint(n.Seed, 10)
	}
	return name + ")"
}
