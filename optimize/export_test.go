package optimize

// What tests outside the package look at.

const (
	MaxSteps  = maxSteps
	MostSteps = mostSteps
)

var Gain = gain

// Spectrum returns what predictions assume, one entry a group of directions.
func (p Problem) Spectrum() (eigenvalues, shares, gradients []float64) {
	for _, e := range p.assumed() {
		eigenvalues, shares, gradients = append(eigenvalues, e.eigenvalue), append(shares, e.share), append(gradients, e.gradient)
	}
	return eigenvalues, shares, gradients
}

func (g *GDPlan) Charges() []float64 { return g.charges }

func (b *SpiderBoostPlan) Charges() (anchor, difference float64) { return b.anchor, b.difference }

func (b *SpiderBoostPlan) Period() int { return b.period }

func (s *STORMPlan) Charges() (first, rest float64) { return s.first, s.rest }
