package loss

import "math"

// ConstantWeights returns parameters by which a model gives every row the margins z: all
// weights are zero but those of the intercept, or of the constants of a network's outputs.
// l is the loss of a row, and rows have so many features, the last of which is the
// intercept, of that value. ok is false of a loss that is no function of margins.
func ConstantWeights(l Loss, features int, intercept float64, z []float64) (w []float64, ok bool) {
	w = make([]float64, Parameters(l, features))
	if network, is := l.(Composed); is {
		hidden, _ := network.Layers()
		inputs := hidden[len(hidden)-1] + 1 // of an output: [h; 1] over the root of their number
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

// Outputs returns the loss as a function of margins, of records of one row: l itself, the
// loss of a unit's rows, or the loss of a network's outputs. It is a RankOne or a Margins,
// or a General where l is no function of margins.
func Outputs(l Loss) Loss { return outputs(l) }
