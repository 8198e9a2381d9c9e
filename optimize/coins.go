package optimize

import "math/rand/v2"

// Coins is a generator of public random bits. A run uses the bits to choose which iterate is the result, or
// to draw random numbers that it adds to a step. The bits come from a public seed. A run is therefore a
// function of the seed and of the noisy answers alone.
type Coins = rand.Rand

// PublicCoins returns a generator of public random bits that is seeded from the problem's public seed. The
// numbers use and more identify the purpose of the bits: two different pairs (use, more) get independent
// bits.
func (p Problem) PublicCoins(use, more uint64) *Coins { return rand.New(rand.NewPCG(use^p.Seed, more)) }
