// Package audit looks for what would break the guarantee: answers that one
// record moves by more than was charged for, and control flow, cohorts, charges
// or errors that depend on a record at all.
//
// A run is recorded with every value it released. It is then replayed on
// neighbouring tables while the released values stay as they were: all that
// follows from public and released numbers must then repeat itself bit by bit,
// and the exact integers behind each answer may differ by what the changed
// record contributes and by nothing else. That difference is compared with the
// charged sensitivity. Neighbours are random, the worst that the questions of
// the run allow, faulty in every representable way, and found by climbing.
//
// Lower bounds on epsilon come from attacks on whole runs: the releases of two
// neighbouring tables are told apart as well as the coins allow.
//
// All of it runs on generated tables through simulated sessions, which run the
// code that guards real records and mark every event as simulated. An audit
// finds faults and cannot prove that there are none.
package audit
