// Package certificate is the public record of one run: what was claimed, the law
// of the noise of every release, and enough to recompute the claim without the
// data.
//
// # What a certificate claims
//
// The basis of the claim is the filter: mu was fixed before the first release,
// and the filter admits a release only while the charges to every record sum to
// at most mu^2, so the run as a whole is mu-GDP (see package account). The
// claimed (epsilon, delta) follows from mu. What was charged in the end is an
// odometer reading, recorded for information; it is not the guarantee.
//
// [Certificate.Verify] recomputes all of it: epsilon from mu and delta, that mu is
// the greatest for them, each event's charge from its sensitivity and noise, the
// largest total charged to any record and that it is within mu^2. Each event states
// the relation under which its sensitivity holds, which must be the claim's. What
// is trusted beyond the stability of a loss is the writer's statement; nothing in
// the file shows it. A certificate of simulated coins can be
// written and read but is never verified: such a run protects nobody.
//
// The sensitivity of a release is enforced by clipping, unless its event has the
// basis "stability": then it rests on the convexity and the declared smoothness
// of the loss that the event names, and the certificate lists that as trusted.
//
// A certificate is made from a session that is closed ([New]), or from what a program wrote
// down of its ledger before the session was gone ([FromJournal]). Budget, relation, number
// of records, unit of privacy, filter, coins, schedule and events are the ledger's, from
// where the records were opened; none of them is an argument. An event that does not state
// its relation is refused, here and in a file.
//
// Its neighbouring tables differ in one row; if a row filter chose the records,
// in one row that passes it in both tables, and the member filter says which
// rows those are. A certificate without that member had no filter.
//
// A run that was charged to a budget which outlasts it names, in the member budget, its
// row in that dataset's chain and the row's hash (package budget). Verify checks how
// they are written; whether a store has that row is for who has the store. What all runs
// of a dataset cost together is said by its own certificate.
//
// A certificate holds no records, no statistic of them and no digest of the
// table. It holds the SHA-256 of the model file, which is itself a released
// output.
//
// # What a certificate does not prove
//
// THE CHECKSUM IS NOT A SIGNATURE. It detects accidents and careless editing.
// Whoever can edit the file can recompute the checksum, and whoever writes a
// consistent list of events for a run that never happened obtains a certificate
// that verifies. Verification shows that the claim follows from the recorded
// events; that these events are what happened rests on trust in whoever ran the
// program and in how the file reached its reader. Where that is not enough, sign
// the file by other means. The same holds of code in the writer's process, which can open
// a ledger of its own and make a certificate of that: that certificates come from sessions
// stops mistakes, not a forger.
//
// # The file
//
// A JSON object, indented by two spaces, its members always in the same order,
// the checksum last, with one newline at the end. The checksum is the SHA-256 of
// the file without the checksum's line, byte for byte:
//
//	grep -v '^  "checksum":' certificate.json | sha256sum
//
// A file that was reformatted, or whose line ends were converted, therefore
// counts as altered. Every member is required, none may appear twice, and no
// others are allowed.
package certificate
