// Package noise draws exactly rounded standard normals.
//
// [Normals] returns round(2^k N), with N standard normal, rounded to the nearest integer. Every result has exactly the
// probability that this definition gives it. Normals uses no floating point and cuts off no tail. Its tables and series
// have error bounds. If the bounds do not decide a draw, Normals computes narrower bounds until they do. On the grid of
// step sigma/2^k a sum S of rounded contributions is an integer. Then
//
//	S + round(2^k N) = round(S + 2^k N),
//
// so that the released number is a function of S + 2^k N alone, and the guarantee of the ideal Gaussian mechanism holds
// without any slack. The attack of Mironov (2012) uses the low bits of floating-point noise and does not apply here.
// Rounding down instead of to nearest would give the same guarantee.
//
// # Why digits below the grid are not dropped
//
// The sampler produces a magnitude and a sign. Dropping the magnitude's digits below the grid would round toward zero:
// values of 2^k N in (-1, 0) and in (0, 1) both become 0. The integer 0 then gets two cells where every other integer
// gets one, and about twice its probability. This distribution is no function of S + 2^k N. An output equal to the true
// sum would be about twice as likely as the same output from a neighbouring sum one grid step away, which is a
// likelihood ratio of 2 for every sigma. The first bit below the grid therefore decides the rounding to nearest. A tie
// has probability zero, since infinitely many digits follow this bit.
//
// # Limits
//
// The number of random bits used and the table entries read, and so the time, depend on the values
// drawn. The guarantee does not cover an attacker who can time single coordinates.
package noise
