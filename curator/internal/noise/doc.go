// Package noise draws exactly rounded standard normals.
//
// [Normals] gives round(2^k N), N standard normal, rounded to nearest, with
// exactly the probabilities of that law: no floating point, no cut tail, and no
// table or series without bounds of its error, which are narrowed until they
// decide. On the grid of step sigma/2^k a sum S of rounded
// contributions is an integer, and then
//
//	S + round(2^k N) = round(S + 2^k N),
//
// so what is released is a function of S + 2^k N alone, and the guarantee of
// the ideal Gaussian mechanism holds without slack. (The attack of Mironov
// (2012), which reads the low bits of floating-point noise, has nothing to
// read.) Rounding down would do as well.
//
// # Why not drop the digits below the grid
//
// The sampler makes a magnitude and a sign. Dropping the magnitude's digits
// rounds toward zero: the outcomes 2^k N in (-1, 0) and (0, 1) both become 0,
// so 0 gets two cells where every other integer gets one, and about twice its
// probability. That law is no function of S + 2^k N. An output equal to the
// true sum would be about twice as likely as the same output from a
// neighbouring sum one grid step away - a likelihood ratio of 2 however large
// sigma is. Hence the bit below the grid decides, to nearest; a tie has
// probability zero, since infinitely many digits follow that bit.
//
// # Limits
//
// The number of coins spent, the places of tables looked at, and so the time, depend on
// the values drawn. Whoever can time single coordinates is outside the guarantee.
package noise
