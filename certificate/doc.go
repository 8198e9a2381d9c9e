// Package certificate writes, reads and verifies the public record of one run. The record states the claimed guarantee
// and the noise distribution of every release. Anybody can recompute the claim from the record, without the data.
//
// # What a certificate claims
//
// The claim is based on a privacy filter, whose mu is fixed before the first release. The filter admits a
// release only if the charges to every record then sum to at most mu^2. The run as a whole is therefore
// mu-GDP (see package account). The claimed (epsilon, delta) follows from mu. For a run on Poisson samples
// the claim is based on a schedule instead ([BasisSchedule]). The total charged at the end of the run (in
// the literature a privacy odometer) is recorded for information. It is not the guarantee.
//
// [Certificate.Verify] recomputes epsilon from mu and delta or from the schedule, and each event's charge from the
// event's sensitivity and noise. For a privacy filter it verifies that mu is the greatest mu for the claimed epsilon
// and delta. It verifies that the largest total charged to any record is at most mu^2. Each event states the relation
// under which its sensitivity holds, and this relation must equal the claim's. The certificate lists trusted
// assumptions. Except for the stability of a loss, these are statements of the writer, and nothing in the file shows
// whether the list is complete. A run with simulated random bits protects nobody. Its certificate can be written and
// read, but Verify always returns an error for it.
//
// The sensitivity of a release is enforced by clipping, unless its event has the basis "stability". The
// sensitivity of a release with this basis depends on the convexity and the declared smoothness of the loss
// that the event names. The certificate lists both properties as trusted.
//
// A certificate is made from a closed session ([New]), or from a program's journal of a session that no
// longer exists ([FromJournal]). Budget, relation, number of records, privacy unit, filter, source of
// random bits, schedule and events come from the session's ledger. The caller cannot pass any of them as an
// argument. New, FromJournal and Verify return an error if an event does not state its relation.
//
// Neighbouring tables differ in one record: one row, or all rows of one privacy unit. If a row filter chose
// the records, they differ in one row that passes the filter in both tables, and the member filter says
// which rows pass. A run whose certificate has no member filter had no row filter.
//
// A run may also be charged to a budget that outlasts it (package budget). The member budget then states
// the run's row in the dataset's chain and the row's hash. Verify tests only the form of these values. Only
// somebody who can read the store can find out whether the store has this row. A separate certificate of
// the dataset states the total cost of all its runs.
//
// A certificate contains no records, no statistic of records and no digest of the table. It contains the
// SHA-256 of the model file, and the model file is itself a released output.
//
// # What a certificate does not prove
//
// THE CHECKSUM IS NOT A SIGNATURE. It detects accidents and careless editing. Whoever can edit the file can recompute
// the checksum. Whoever writes a consistent list of events for a run that never happened obtains a certificate that
// verifies. Verification shows that the claim follows from the recorded events. It does not show that these events
// happened: the reader must trust whoever ran the program, and the way by which the file arrived. If this trust is not
// enough, sign the file by other means. Code in the writer's process can open a second ledger and make a certificate
// from it. The rule that certificates come from sessions prevents mistakes, but does not stop a forger.
//
// # The file
//
// The file is a JSON object, indented by two spaces, with one newline at the end. Its members are always in the same
// order, and the checksum is last. The checksum is the SHA-256 of the file without the checksum's line, byte for byte:
//
//	grep -v '^  "checksum":' certificate.json | sha256sum
//
// A file that was reformatted, or whose line ends were converted, therefore counts as altered. The members
// budget, filter, unit and schedule, and some members of events, are absent if they have no value. Every
// other member is required. No member may appear twice, and unknown members are not allowed.
package certificate
