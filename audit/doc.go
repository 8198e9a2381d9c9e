// Package audit looks for violations of the privacy guarantee: an answer that one record moves by
// more than the charged sensitivity, and control flow, cohorts, charges or errors that depend on a
// record at all.
//
// It records a run with every released value, and replays the run on neighbouring tables with the
// released values frozen. Everything that follows from public and released numbers must then repeat
// bit by bit. The exact integers behind an answer may change only by the contribution of the
// changed record. The size of this change is compared with the charged sensitivity. The
// neighbouring tables have random records, the worst records for the run's queries, records that
// are faulty in every representable way, and records found by a search.
//
// Lower bounds on epsilon come from attacks on whole runs: a test guesses from the releases which
// of two neighbouring tables was used.
//
// All runs are on generated tables, in simulated sessions. These sessions run the same code as
// sessions on real records and mark every event as simulated. An audit can find faults; it cannot
// prove that there are none.
package audit
