// Package budget keeps privacy budgets that outlast runs: a cap on the total privacy loss of
// everything ever released of a dataset, in a store that several programs and machines share.
//
// # Use
//
//	book, err := stores.Open(ctx, "sqlite:budgets.db") // package budget/stores
//	run := book.Run("census-2026", "the autumn report") // one for each session
//	session, err := curator.Open(ctx, curator.Config{ ..., Reserve: run.Reserve})
//	... // the first query charges the session's whole budget to the dataset,
//	...  // or is refused with an *account.BudgetError
//	err = run.Settle(ctx, session) // closes the session and frees the unused budget
//
// A [Run] belongs to the first session that reserves with it. Another session is refused before anything is computed
// for it, and only the run's own session settles it. A run has the relation of the session's budget and the privacy
// unit of the session's records. The unit must be the cap's unit: a session whose records are rows gets no answer under
// a cap whose records are people. The relation must be the cap's relation, or add-or-remove under a cap for replace-one
// (see Guarantee).
//
// The command stillpoint makes these calls for configurations with a section budget. Its budget
// commands register and show datasets.
//
// # Guarantee
//
// A dataset is a table that its owner registered under a name, with a [Cap]: an epsilon, a delta and a relation.
// Consider all answers of all sessions that were opened with a run of the dataset. The sessions may run at the same
// time or one after the other, and each query may depend on earlier answers. Together these answers are (epsilon,
// delta)-DP for the dataset's neighbours. The whole budget of a run is charged in one serializable transaction, and is
// on stable storage before the run's first answer. A run that the rest of the cap does not cover is refused.
//
// Gaussian releases and selections add up in mu^2. The privacy filter over runs has the same rule as the filter over
// releases in package account: the sum of the runs' mu^2 never exceeds the mu^2 of the cap, in any order (Smith &
// Thakurta 2022; Koskela, Tobaben & Honkela 2023), and queries of several sessions may alternate (Haney et al. 2023).
// When a run has ended and can make no more queries, it can be settled: its charge is reduced to the mu^2 that its
// ledger has charged, and the rest is free again. A run is settled by its session, after the session is closed
// ([Run.Settle]). If the session is gone, the run is settled by its certificate ([Book.Settle]). No caller states the
// charge.
//
// Runs with sampling are different. No lossless filter is known for privacy amplification by sampling: if the choice of
// the next run depends on the results of the last one, more privacy can be lost than by any fixed sequence of the same
// cost. The privacy-loss distribution of a run's whole schedule is therefore bounded by mu-GDP up to a small delta
// (mechanism.ApproximateMu). This mu^2 is added to the mu^2 of the other runs. The small delta is paid from a tenth of
// the cap's delta. This tenth is set aside when the dataset is registered, in [Cap.SampledRuns] equal parts. Such a run
// frees nothing when it settles.
//
// Under a cap for replace-one the mu^2 of a run under add-or-remove is multiplied by four, since
// replacing a record means to remove one and to add one. A run under replace-one is refused under a
// cap for add-or-remove: its guarantee says nothing about tables of different size.
//
// # Threats and limits
//
// Rows are only ever added. Each row is hashed together with the hash before it, and the store keeps each chain's
// length and last hash apart from its rows. Before a row is added, a program reads all rows of the chain that it has
// not read before, and tests each of them by the rules under which it was written. A chain that was altered, damaged or
// cut off is refused, and no fit on its dataset is possible.
//
// A store that is restored as a whole to an earlier state is consistent. The certificate of a run
// that was reserved after this state reveals the restoration, because it contains a row's hash that
// the store lacks. Any other copy of such a hash reveals it, too. The privacy of a dataset
// depends on no clock. Only whether another machine's process may still hold a run does (see [Lease]).
//
// The store draws the id of a run at random, and only one process knows it. A request that is
// repeated with this id is charged once. A run that is started again has a new id and is charged
// again. A program that may be killed can put the id ([Run.ID]) on stable storage before it calls
// Reserve. With the id the run can later be withdrawn ([Book.Withdraw]) if nothing was released.
//
// Whoever can read the table can bypass any ledger: with another program, or with another store. Whoever can write the
// store's file, or owns its database, can begin another history; certificates and hashes kept elsewhere show that this
// happened, but not how the history was changed. People must protect the table and the store. The store enforces the
// cap for everybody who uses the fit command or a session of this library.
package budget
