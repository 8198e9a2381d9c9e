package optimize

import "math/rand/v2"

// Coins are public coins: which iterate is the result, or what is added to a step. They
// follow from a seed that everybody may know, so that a run is a function of that and of
// what was released.
type Coins = rand.Rand

// PublicCoins returns the coins of the problem's seed for a use that two numbers tell
// from others.
func (p Problem) PublicCoins(use, more uint64) *Coins { return rand.New(rand.NewPCG(use^p.Seed, more)) }
