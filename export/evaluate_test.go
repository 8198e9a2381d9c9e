package export

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// This file is a slow, independent evaluator of the graphs that ONNX writes. It reads only the file's
// bytes.

// tensorOf is a value of an ONNX graph: a tensor of numbers (0 and 1 for truth values) or of texts.
type tensorOf struct {
	dims    []int
	numbers []float64
	words   []string
}

func (t tensorOf) len() int {
	n := 1
	for _, d := range t.dims {
		n *= d
	}
	return n
}

// fields maps the field numbers of a protobuf message to the fields' values, integers or bytes, in their
// order.
type fields map[protowire.Number][]any

func decoded(b []byte) fields {
	f := fields{}
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		must(n)
		b = b[n:]
		switch kind {
		case protowire.VarintType:
			v, n := protowire.ConsumeVarint(b)
			must(n)
			f[number], b = append(f[number], int64(v)), b[n:]
		case protowire.BytesType:
			v, n := protowire.ConsumeBytes(b)
			must(n)
			f[number], b = append(f[number], v), b[n:]
		default:
			panic(fmt.Sprintf("wire type %v", kind))
		}
	}
	return f
}

func must(n int) {
	if n < 0 {
		panic(protowire.ParseError(n))
	}
}

func (f fields) words(n protowire.Number) (list []string) {
	for _, v := range f[n] {
		list = append(list, string(v.([]byte)))
	}
	return list
}

func (f fields) ints(n protowire.Number) (list []int) {
	for _, v := range f[n] {
		list = append(list, int(v.(int64)))
	}
	return list
}

func (f fields) word(n protowire.Number) string { return append(f.words(n), "")[0] }
func (f fields) int(n protowire.Number) int     { return append(f.ints(n), 0)[0] }

func constantOf(f fields) tensorOf {
	t := tensorOf{dims: f.ints(1), words: f.words(6)}
	raw := []byte(f.word(9))
	for f.int(2) == 1 && len(raw) > 0 {
		t.numbers = append(t.numbers, float64(math.Float32frombits(binary.LittleEndian.Uint32(raw))))
		raw = raw[4:]
	}
	for ; len(raw) > 0; raw = raw[8:] {
		bits := binary.LittleEndian.Uint64(raw)
		switch f.int(2) {
		case 7:
			t.numbers = append(t.numbers, float64(int64(bits)))
		case 11:
			t.numbers = append(t.numbers, math.Float64frombits(bits))
		default:
			panic("type of a tensor")
		}
	}
	if t.len() != len(t.numbers)+len(t.words) {
		panic(fmt.Sprintf("%v: %d values", t.dims, len(t.numbers)+len(t.words)))
	}
	return t
}

// evaluated computes the outputs of a graph from its file and its inputs, both by name.
func evaluated(file []byte, inputs map[string]tensorOf) map[string]tensorOf {
	m := decoded(file)
	if m.int(1) != 8 || len(m[8]) != 2 {
		panic("versions")
	}
	g := decoded(m[7][0].([]byte))
	values, types := map[string]tensorOf{}, map[string]int{}
	single := false // the graph has numbers of 32 bits, to which each step rounds
	for _, v := range g[11] {
		name := decoded(v.([]byte)).word(1)
		kind := decoded(decoded(decoded(v.([]byte))[2][0].([]byte))[1][0].([]byte)).int(1)
		single = single || kind == 1
		t, given := inputs[name]
		if !given {
			panic("no input " + name)
		}
		values[name], types[name] = t, kind
	}
	unread := map[string]bool{} // runtimes warn of constants that no node reads
	for _, v := range g[5] {
		f := decoded(v.([]byte))
		values[f.word(8)], unread[f.word(8)] = constantOf(f), true
		types[f.word(8)] = f.int(2)
	}
	for _, v := range g[1] {
		n := decoded(v.([]byte))
		attributes := map[string]fields{}
		for _, a := range n[5] {
			f := decoded(a.([]byte))
			attributes[f.word(1)] = f
		}
		var in []tensorOf
		var of []int
		for _, name := range n.words(1) {
			t, known := values[name]
			if !known {
				panic("no value " + name)
			}
			delete(unread, name)
			in, of = append(in, t), append(of, types[name])
		}
		types[n.word(2)] = typeOf(n.word(4), of, attributes)
		if _, twice := values[n.word(2)]; twice {
			panic("twice: " + n.word(2))
		}
		out := computed(n.word(4), in, attributes)
		for i, x := range out.numbers {
			if single {
				out.numbers[i] = float64(float32(x))
			}
		}
		values[n.word(2)] = out
	}
	if len(unread) > 0 {
		panic(fmt.Sprint("constants that no node reads: ", unread))
	}
	out := map[string]tensorOf{}
	for _, v := range g[12] {
		name := decoded(v.([]byte)).word(1)
		out[name] = values[name]
		if kind := decoded(decoded(decoded(v.([]byte))[2][0].([]byte))[1][0].([]byte)).int(1); types[name] != kind {
			panic(fmt.Sprintf("output %s: is of type %d: must be of type %d", name, types[name], kind))
		}
	}
	return out
}

// typeOf returns the type of a node's output, by the numbers of onnx.proto, and panics where the standard does not
// allow the types of its inputs: no operator mixes integers, numbers of 32 and of 64 bits, texts and truth values.
func typeOf(kind string, in []int, attributes map[string]fields) int {
	const float32s, int64s, texts, truths, float64s = 1, 7, 8, 9, 11
	need := func(ok bool) {
		if !ok {
			panic(fmt.Sprintf("node %s: inputs of types %v", kind, in))
		}
	}
	float := func(i int) bool { return in[i] == float32s || in[i] == float64s }
	switch kind {
	case "Add", "Sub", "Mul", "Div", "Min", "Max", "MatMul":
		need(in[0] == in[1] && (float(0) || in[0] == int64s && kind != "MatMul"))
	case "Equal", "Greater":
		need(in[0] == in[1] && (float(0) || in[0] == int64s))
		return truths
	case "Or":
		need(in[0] == truths && in[1] == truths)
	case "IsNaN":
		need(float(0))
		return truths
	case "Floor", "Log", "Exp", "Cos", "Sin", "Sqrt", "Neg", "ReduceMax":
		need(float(0))
	case "Cast":
		need(in[0] != texts)
		return attributes["to"].int(3)
	case "Shape":
		return int64s
	case "ArgMax":
		need(float(0))
		return int64s
	case "Expand", "Gather":
		need(in[1] == int64s)
	case "CumSum", "ReduceSum":
		need(float(0) && in[1] == int64s)
	case "Where":
		need(in[0] == truths && in[1] == in[2])
		return in[1]
	case "Concat":
		for _, other := range in {
			need(other == in[0])
		}
	case "LabelEncoder":
		need(in[0] == texts)
		return int64s
	case "Identity":
	default:
		panic("node " + kind)
	}
	return in[0]
}

var binaries = map[string]func(a, b float64) float64{
	"Add": func(a, b float64) float64 { return a + b }, "Sub": func(a, b float64) float64 { return a - b },
	"Mul": func(a, b float64) float64 { return a * b }, "Div": func(a, b float64) float64 { return a / b },
	"Min": math.Min, "Max": math.Max,
	"Equal":   func(a, b float64) float64 { return truthOf(a == b) },
	"Greater": func(a, b float64) float64 { return truthOf(a > b) },
	"Or":      math.Max,
}

func truthOf(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func computed(kind string, in []tensorOf, attributes map[string]fields) tensorOf {
	axis := attributes["axis"].int(3)
	unary := func(f func(float64) float64) tensorOf {
		out := tensorOf{dims: in[0].dims}
		for _, x := range in[0].numbers {
			out.numbers = append(out.numbers, f(x))
		}
		return out
	}
	if f, ok := binaries[kind]; ok {
		dims := broadcast(in[0].dims, in[1].dims)
		a, b := expanded(in[0], dims), expanded(in[1], dims)
		for i := range a.numbers {
			a.numbers[i] = f(a.numbers[i], b.numbers[i])
		}
		return a
	}
	switch kind {
	case "Identity":
		return in[0]
	case "IsNaN":
		return unary(func(x float64) float64 { return truthOf(x != x) })
	case "Floor":
		return unary(math.Floor)
	case "Log":
		return unary(math.Log)
	case "Exp":
		return unary(math.Exp)
	case "Cos":
		return unary(math.Cos)
	case "Sin":
		return unary(math.Sin)
	case "Sqrt":
		return unary(math.Sqrt)
	case "Neg":
		return unary(func(x float64) float64 { return -x })
	case "Cast":
		return unary(func(x float64) float64 {
			if attributes["to"].int(3) == 1 {
				return float64(float32(x))
			}
			return x
		})
	case "Shape":
		return tensorOf{dims: []int{1}, numbers: []float64{float64(in[0].dims[0])}}
	case "Expand":
		var dims []int
		for _, d := range in[1].numbers {
			dims = append(dims, int(d))
		}
		return expanded(in[0], broadcast(in[0].dims, dims))
	case "Where":
		dims := broadcast(broadcast(in[0].dims, in[1].dims), in[2].dims)
		out, a, b := expanded(in[0], dims), expanded(in[1], dims), expanded(in[2], dims)
		for i, is := range out.numbers {
			if out.numbers[i] = b.numbers[i]; is == 1 {
				out.numbers[i] = a.numbers[i]
			}
		}
		return out
	case "Concat":
		return concatenated(in, axis)
	case "CumSum":
		out := tensorOf{dims: in[0].dims, numbers: slices.Clone(in[0].numbers)}
		for i := range out.numbers {
			if i%out.dims[1] > 0 {
				out.numbers[i] += out.numbers[i-1]
			}
		}
		return out
	case "Gather":
		return gathered(in[0], in[1], axis)
	case "MatMul":
		out := tensorOf{dims: []int{in[0].dims[0], in[1].dims[1]}}
		for i := range in[0].dims[0] {
			for k := range in[1].dims[1] {
				sum := 0.0
				for j := range in[0].dims[1] {
					sum += in[0].numbers[i*in[0].dims[1]+j] * in[1].numbers[j*in[1].dims[1]+k]
				}
				out.numbers = append(out.numbers, sum)
			}
		}
		return out
	case "ReduceSum":
		return reduced(in[0], attributes, func(a, b float64) float64 { return a + b })
	case "ReduceMax":
		return reduced(in[0], attributes, math.Max)
	case "ArgMax":
		out := tensorOf{dims: []int{in[0].dims[0], 1}}
		for i := range in[0].dims[0] {
			row := in[0].numbers[i*in[0].dims[1] : (i+1)*in[0].dims[1]]
			out.numbers = append(out.numbers, float64(slices.Index(row, slices.Max(row))))
		}
		return out
	case "LabelEncoder":
		out := tensorOf{dims: in[0].dims}
		for _, w := range in[0].words {
			place := attributes["default_int64"].int(3)
			if i := slices.Index(attributes["keys_strings"].words(9), w); i >= 0 {
				place = attributes["values_int64s"].ints(8)[i]
			}
			out.numbers = append(out.numbers, float64(place))
		}
		return out
	}
	panic("node " + kind)
}

// broadcast returns the common shape of two tensors.
func broadcast(a, b []int) []int {
	for len(a) < len(b) {
		a = append([]int{1}, a...)
	}
	for len(b) < len(a) {
		b = append([]int{1}, b...)
	}
	var dims []int
	for i := range a {
		if a[i] != b[i] && a[i] != 1 && b[i] != 1 {
			panic(fmt.Sprintf("%v and %v", a, b))
		}
		dims = append(dims, max(a[i], b[i]))
	}
	return dims
}

func expanded(t tensorOf, dims []int) tensorOf {
	from := slices.Clone(t.dims)
	for len(from) < len(dims) {
		from = append([]int{1}, from...)
	}
	out := tensorOf{dims: dims}
	for i := range out.len() {
		at, step, rest := 0, 1, i
		for d := len(dims) - 1; d >= 0; d-- {
			if from[d] > 1 {
				at += rest % dims[d] * step
			}
			step *= from[d]
			rest /= dims[d]
		}
		out.numbers = append(out.numbers, t.numbers[at])
	}
	return out
}

// concatenated joins lists end to end, or tables by their columns.
func concatenated(in []tensorOf, axis int) (out tensorOf) {
	out.dims = slices.Clone(in[0].dims)
	out.dims[axis] = 0
	for _, t := range in {
		out.dims[axis] += t.dims[axis]
	}
	if axis == 0 {
		for _, t := range in {
			out.numbers = append(out.numbers, t.numbers...)
		}
		return out
	}
	for i := range out.dims[0] {
		for _, t := range in {
			out.numbers = append(out.numbers, t.numbers[i*t.dims[1]:(i+1)*t.dims[1]]...)
		}
	}
	return out
}

// gathered selects the rows (axis 0) or columns (axis 1) of a tensor, or the elements of a list. index
// holds their numbers.
func gathered(from, index tensorOf, axis int) (out tensorOf) {
	if axis == 1 {
		out.dims = []int{from.dims[0], index.dims[0]}
		for i := range from.dims[0] {
			for _, j := range index.numbers {
				out.numbers = append(out.numbers, from.numbers[i*from.dims[1]+int(j)])
			}
		}
		return out
	}
	out.dims = append(slices.Clone(index.dims), from.dims[1:]...)
	width := tensorOf{dims: from.dims[1:]}.len()
	for _, j := range index.numbers {
		if from.words != nil {
			out.words = append(out.words, from.words[int(j)])
			continue
		}
		out.numbers = append(out.numbers, from.numbers[int(j)*width:(int(j)+1)*width]...)
	}
	return out
}

// reduced combines the entries of each row of a tensor by f, from the first entry to the last.
func reduced(t tensorOf, attributes map[string]fields, f func(a, b float64) float64) (out tensorOf) {
	inner := tensorOf{dims: t.dims[2:]}.len()
	out.dims = append([]int{t.dims[0], 1}, t.dims[2:]...)
	if keep, given := attributes["keepdims"]; given && keep.int(3) == 0 {
		out.dims = append([]int{t.dims[0]}, t.dims[2:]...)
	}
	for i := range t.dims[0] {
		for k := range inner {
			at := i * t.dims[1] * inner
			sum := t.numbers[at+k]
			for j := 1; j < t.dims[1]; j++ {
				sum = f(sum, t.numbers[at+j*inner+k])
			}
			out.numbers = append(out.numbers, sum)
		}
	}
	return out
}
