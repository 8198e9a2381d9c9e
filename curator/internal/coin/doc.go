// Package coin is the only source of randomness. In this package a coin is a random bit.
//
// [Secret] coins make noise and decide membership in cohorts. Whoever knows them can subtract the noise, so the privacy
// guarantee holds only while they are unknown. A Secret cannot be printed, marshalled or read back. [PublicSeed] returns
// public coins, which seed choices on which the guarantee does not depend.
//
// A Secret is a ChaCha8 stream with a key of 32 bytes from the operating system. The stream is the one that the C2SP
// specification chacha8rand defines. This package fixes everything that it derives from the stream, so a
// key gives the same coins on every machine and with every Go release. If the words are uniform,
// every draw has exactly its stated distribution. The only computational assumption is that the output of
// ChaCha8 cannot be distinguished from uniform words.
package coin
