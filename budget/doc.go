// Package budget keeps budgets that outlast runs: a cap on what everything ever
// released of a dataset costs together, in a store that several programs and machines
// share.
//
// # Use
//
//	book, err := stores.Open(ctx, "sqlite:budgets.db") // package budget/stores
//	run := book.Run("census-2026", "the autumn report")
//	session, err := curator.Open(ctx, curator.Config{ ..., Reserve: run.Reserve})
//	... // the first question charges the session's whole budget to the dataset,
//	...  // or is refused with an *account.BudgetError
//	err = run.Settle(ctx, session) // closes it; what it did not use is free again
//
// Command stillpoint does the same for configurations with a section budget, and its
// budget commands register datasets and show them.
//
// # What is promised
//
// A dataset is what its custodian registered under a name, with a [Cap]: an epsilon, a
// delta and a relation. All answers of all sessions that were opened with a run of
// the dataset, at the same time or after each other, each chosen by looking at the
// answers before, are together (epsilon, delta)-DP for its neighbours. The whole
// budget of a run is charged in one serializable transaction, on stable storage,
// before its first answer; a run that the rest of the cap does not cover is refused.
//
// Gaussian releases and selections add up in mu^2, and the filter over runs is that of
// package account: their sum never passes the cap's mu^2, whatever the order
// (Smith & Thakurta 2022; Koskela, Tobaben & Honkela 2023), and questions of
// several sessions may alternate (Haney et al. 2023). So a run that has ended, and can
// ask nothing more, is charged what its odometer reads, and the rest is free again.
//
// Runs that sample are amplified, and no lossless filter is known for what is
// amplified: whoever may choose the next such run by the last one's results can do
// better than any fixed sequence of the same cost. So each is taken, by the
// privacy-loss distribution of its whole schedule, to be mu-GDP but for a small delta
// (account.ApproximateMu); mu^2 adds to the others', and the deltas are equal parts of
// a tenth of the cap's, set aside when the dataset is registered with a number of
// [Cap.SampledRuns]. Nothing of such a run is returned. A run under add-or-remove
// counts four times in mu^2 under a cap for replace-one, since to exchange a record is
// to remove one and to add one; the other way round nothing bounds it, and it is refused.
//
// # What the store protects from
//
// Rows are only ever added, each hashed with the one before; the store keeps each
// chain's length and last hash apart from its rows. A chain is read whole and judged
// by the rules by which it was written before anything is added, so that what
// was altered, damaged or cut off is refused, and with it every fit. A whole store that is put
// back to an earlier state is consistent; the hash of its row in each run's
// certificate reveals it, as does any head that somebody else kept. No clock orders
// anything. The id of a run is drawn by the store and known to one process, so a
// request that is repeated is charged once, and a run that is begun anew is charged
// anew. A program that is to survive a kill keeps the id ([Run.ID]) on stable storage
// before it calls Reserve: by it the run can be withdrawn ([Book.Withdraw]) if nothing
// was released.
//
// Whoever can read the table can go round any ledger: compute on it without this
// program, or with another store. And whoever can write the store's file, or owns its
// database, can begin another history; hashes and certificates elsewhere show that
// something happened, not what. Custody of the table and of the store is for people:
// the store holds those to the cap who come through fit or a session.
package budget
