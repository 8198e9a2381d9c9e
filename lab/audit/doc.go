// Package audit looks for violations of the privacy guarantee. There are two kinds of violation. In the
// first, an answer moves by more than the charged sensitivity if one record changes. In the second, control
// flow, cohorts, charges or errors depend on a record.
//
// An audit records a run with every released value. It then replays the run on neighbouring tables with the
// released values frozen: every query gets the recorded answer. Everything that follows from public and
// released numbers must repeat bit by bit. The exact answers, sums of integers before noise is added, may
// change only by the contribution of the changed record. The size of this change is compared with the
// charged sensitivity. The neighbouring tables have random records, the worst records for the run's
// queries, records that are faulty in every representable way, and records found by a search.
//
// Lower bounds on epsilon come from attacks on whole runs: a test guesses from the releases which
// of two neighbouring tables was used.
//
// All runs are on generated tables, in simulated sessions. These sessions run the same code as sessions on real records
// and mark every event as simulated. An audit can find faults; it cannot prove that there are none.
package audit
