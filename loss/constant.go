package loss

import "math"

// ConstantWeights returns the parameters with which a model of loss l gives every row the same margins z. All weights
// are zero, except the weights of the intercept or, in a network, the constant terms of the outputs. features is the
// number of features of a row. The last feature is the intercept, and has the value intercept. For a network, len(z)
// must be the number of outputs. For any other loss, ok is false unless l is a loss of len(z) margins.
func ConstantWeights(l Loss, features int, intercept float64, z []float64) (w []float64, ok bool) {
	w = make([]float64, Parameters(l, features))
	if o, is := l.(ordered); is {
		if len(z) == o.k {
			o.constant(w, features, intercept, z)
		}
		return w, len(z) == o.k
	}
	if network, is := l.(Composed); is {
		hidden, _ := network.Layers()
		inputs := hidden[len(hidden)-1] + 1 // each output has the input [h; 1]/sqrt(inputs)
		for k, v := range z {
			w[len(w)-1-(len(z)-1-k)*inputs] = v * math.Sqrt(float64(inputs))
		}
		return w, true
	}
	if Count(l) != len(z) {
		return nil, false
	}
	for k, v := range z {
		w[(k+1)*features-1] = v / intercept
	}
	return w, true
}

// Outputs returns the loss of one row as a function of its margins: l itself, the row loss of a
// [Units], or the output loss of a network. The result is a [RankOne] or a [Margins]. If the loss of
// one row is a General loss and no network, Outputs returns this General loss.
func Outputs(l Loss) Loss { return outputs(l) }
