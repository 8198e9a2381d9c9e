package optimize

import "math/rand/v2"

// Coins is a generator of public random bits. A run uses them to choose which iterate is the result,
// or adds them to a step. They come from a public seed, so that a run is a function of the seed and
// of the noisy answers alone.
type Coins = rand.Rand

// PublicCoins returns a generator of public random bits that is seeded from the problem's public
// seed. The numbers use and more say what the bits are for: two different pairs get independent bits.
func (p Problem) PublicCoins(use, more uint64) *Coins { return rand.New(rand.NewPCG(use^p.Seed, more)) }
