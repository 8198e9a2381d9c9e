package optimize

import "math/rand/v2"

// Coins are public random bits. They decide which iterate is the result, or what is added to a step.
// They are generated from a public seed, so that a run is a function of the seed and of the releases
// alone.
type Coins = rand.Rand

// PublicCoins returns the public random bits that the problem's seed generates for one use. The two
// numbers identify the use.
func (p Problem) PublicCoins(use, more uint64) *Coins { return rand.New(rand.NewPCG(use^p.Seed, more)) }
