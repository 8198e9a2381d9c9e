// Package loss holds the losses of one record and the public regularizers.
//
// A record is a row x with Euclidean norm at most 1 and a target y. A [RankOne] loss depends on the
// parameters w only through the margin z = <w, x>: f(w; x, y) = phi(z, y). A [Margins] loss depends
// on w through several margins, z = W x. A [General] loss writes its gradient in w itself, and may
// have any number of parameters ([Shaped]). Each loss declares its [Constants]. The caller that
// evaluates a loss enforces them by clipping, so a wrong constant costs accuracy and never privacy.
//
// Slopes, Curvatures, Gradient and Constants have the same bits on every machine: they use this package's own
// exponential, correctly rounded operations, and math.FMA or a forced rounding wherever a compiler could fuse a
// multiplication and an addition. Values may differ in their last bits between machines, and are meant for evaluation.
//
// Losses are trusted code: they see rows. Losses have no state that affects results, allocate nothing in
// the methods that work on a block of records, and are safe for concurrent use.
//
// Package losstest holds the conformance suite for losses, which searches for the worst point of
// each declared constant. Every loss of this package passes it.
package loss
