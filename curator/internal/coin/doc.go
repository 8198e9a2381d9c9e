// Package coin is the only place where randomness enters.
//
// Coins come in two types, so that the compiler keeps them apart:
//
//   - [Secret] coins make noise and decide membership in cohorts. Whoever
//     learns them can subtract the noise, so the privacy guarantee holds only
//     while they stay unknown. A Secret cannot be printed, marshalled or read
//     back.
//   - [Public] coins pick directions and permutations that the guarantee does
//     not rest on. Their key may be logged, and a run rechecked from it.
//
// Both are ChaCha8 keyed with 32 bytes from the operating system. The stream
// is the one fixed by the C2SP chacha8rand specification, and everything
// derived from it here is fixed by this package, so a public key means the
// same coins on every machine and with every Go release. Each uniform choice
// is exactly uniform given fair words; that the words of ChaCha8 cannot be
// told from fair ones is the single computational assumption.
package coin
