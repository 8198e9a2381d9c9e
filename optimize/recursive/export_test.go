package recursive

import (
	"github.com/stillpoint-dp/stillpoint/convex"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

// RoundFacts gives tests outside the package the settings of a round.
type RoundFacts struct {
	Centre, Size float64
	Set          convex.Set
	// for NoisyGD
	Steps              int
	Eta, Decay, Charge float64
	// for PhasedSGD
	Sizes     []int
	StepSizes []float64
}

func Rounds(p optimize.Plan) []RoundFacts {
	var list []RoundFacts
	for _, t := range p.(*plan).rounds {
		f := RoundFacts{Centre: t.centre, Size: t.size, Set: t.set}
		if t.gd != nil {
			f.Steps, f.Eta, f.Decay, f.Charge = t.gd.steps, t.gd.eta, t.gd.decay, t.gd.charge
		} else {
			f.Sizes, f.Charge = t.phased.sizes, t.phased.charge
			for i := range f.Sizes {
				f.StepSizes = append(f.StepSizes, t.phased.step(i))
			}
		}
		list = append(list, f)
	}
	return list
}

// NoisyGDResponse and PhasedResponse give tests the methods response, from which forecasts are
// computed.
func NoisyGDResponse(steps int, eta, decay, charge, curvature float64) (keep, variance float64) {
	return noisyGD{steps: steps, eta: eta, decay: decay, charge: charge}.response(curvature)
}

func PhasedResponse(sizes []int, eta, charge, curvature, reach, gradient float64) (keep, variance float64) {
	return phasedSGD{sizes: sizes, eta: eta, charge: charge}.response(curvature, reach, gradient)
}
