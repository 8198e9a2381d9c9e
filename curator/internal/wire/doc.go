// Package wire carries the queries of a session to engines in other processes, and the exact sums
// back. A worker is a process that holds the rows of one partition (shard) of a table and answers
// queries. Shards is the engine of the session's process. Shards draws no random bits, charges
// nothing and adds no noise. A worker knows neither the budget nor the noise.
//
// Sums of integers do not depend on their order, so the sum over all shards is the sum that one engine over all rows
// returns, to the bit. A query is answered once all shards have answered. Otherwise the query fails. No answer leaves
// out rows. If a shard's worker is lost, another worker takes its place. The new worker must show the same keyed
// digest, so that it has the same rows in the same order. Then the new worker gets the query again, with the same
// members. With other rows a record could be in two cohorts that the ledger treats as disjoint.
//
// The messages contain exact sums, from which rows can be inferred. They must be sent over a connection that is
// encrypted and authenticated at both ends (package mutualtls), or over a pipe between two processes of one machine.
package wire
