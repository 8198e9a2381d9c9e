package mechanism

import "slices"

// Assumptions lists, in words, the assumptions about the events under which their composition holds. Each assumption is
// listed once. The list is empty if all events are plain Gaussian releases: such releases may be chosen one after
// another, as long as a privacy filter limits the sum of their charges.
func Assumptions(events []Composed) []string {
	var out []string
	say := func(s string) {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	for _, e := range events {
		if _, ok := asGaussian(e.Mechanism); !ok {
			say("the kinds, parameters and numbers of the releases were fixed before the first one")
			say("the lower end is that of the dominating pairs; a particular run may cost less")
		}
		if m, ok := e.Mechanism.(interface{ assumes() string }); ok {
			say(m.assumes())
		}
	}
	return out
}

const byCoins = "each record joins each sample by its own coin, and neither coins nor sizes are released"

func (sampledGaussian) assumes() string { return byCoins }
func (m gaussianMixture) assumes() string {
	if m.under == ReplaceOne {
		return byCoins
	}
	return "which of the offsets a record has is not released"
}
func (fixedSample) assumes() string {
	return "each sample is a uniformly random set of its size, drawn anew and not released; the number of records is " +
		"public"
}
func (discreteGaussian) assumes() string {
	return "the noise is drawn exactly from the discrete Gaussian on the integers, one whole number a release"
}
func (prefixGaussian) assumes() string {
	return "a record is in no more items of a prefix sum than stated, and at least as far apart"
}
func (repeated) assumes() string {
	return "the number of repetitions is drawn anew from its law and not released; of all runs only the best output " +
		"is, chosen by outputs alone"
}
