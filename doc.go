// Package stillpoint trains models on sensitive records under differential privacy. Its optimizers find
// stationary points of the loss.
//
// Fit takes a table, public facts about the table's columns, a loss and a budget. It returns a model and a certificate.
// Anybody can recheck the privacy cost from the certificate. Plan returns the plan that Fit would run. Verify rechecks
// a saved model and certificate. Predict applies a model to rows. The command in cmd/stillpoint uses this package.
// Programs with their own losses, optimizers or stores use the packages in this module's folders.
//
// # The guarantee
//
// A run with budget (epsilon, delta) is (epsilon, delta)-differentially private for neighbouring tables that
// differ in one row. Under the relation replace-one, the row in one table is replaced by any other row in the
// other table. Under add-or-remove, the row is in one table and absent from the other.
//
// The privacy loss is counted in Gaussian differential privacy. Every noisy answer (release) about records
// carries Gaussian noise and is charged (sensitivity/sigma)^2. A private selection is charged as much as a
// Gaussian answer with the same privacy loss. All charges sum to at most mu^2, where mu is the largest value
// for which mu-GDP implies (epsilon, delta)-DP. A privacy filter enforces this limit: it refuses a query
// whose charge would make the sum exceed mu^2, before anything is computed for the query. The guarantee is
// therefore fixed before the first answer. It also holds for algorithms that choose each query by earlier
// answers. Releases on Poisson samples are not charged through the filter. They follow a schedule that is
// fixed before the first of these releases, and their privacy loss is composed by privacy-loss distributions.
//
// One kind of answer has a further assumption: phased SGD (Recursive with PhasedSGD inside). It is private
// because steps of stochastic gradient descent on a convex, smooth loss do not move two runs on neighbouring
// tables further apart (non-expansiveness). Phased SGD accepts only losses that are proven convex and smooth.
// Its rounding errors are bounded and charged, and the certificate states the assumption.
//
// Sensitivity is enforced. Each record's contribution, a gradient or a difference of gradients, is clipped. The
// arithmetic's rounding errors are bounded and charged. Contributions are rounded to integers and summed exactly, and
// exactly rounded normal noise is added. The released value is a function of the result of the ideal mechanism, which
// works with real numbers. Package account has the arithmetic of charges. Package curator keeps the records and gives
// other packages noisy answers only. The derivation is in docs/explanation/exactness.md.
//
// A row filter is possible only on a column that is declared public: everybody may know the column's value
// for every row. The row filter is part of the guarantee. Neighbouring tables then differ in one row that
// passes the filter in both tables, and under replace-one the number of rows that pass is public. A malformed
// row passes every filter. Otherwise a cell of another column, which is not public, would decide whether the
// row counts (dataset.Filter). Rows that do not pass are not used at all.
//
// Where a schema has a unit, a record is all rows that have the same value in one column, for example a
// person's number. A record may have any number of rows. Neighbouring tables then differ in all rows of one
// record, and under replace-one the number of different values is public (dataset.Unit).
//
// # The adversary
//
// The adversary knows every record but one, the configuration, the code and everything a run writes: model,
// certificate, ledger, progress, exit status. It may choose the records that it knows, and they may be malformed. It
// does not see the machine's memory, and it does not measure time at a resolution that tells rows apart.
//
// The adversary may crash the program, and it sees everything that the operating system stores about the crash. The
// command leaves no traceback and no core file. A Go program must do the same: it must call Silence first in its main
// function. It must not log recovered panics or stacks, serve profiles, or show its goroutines in any other way.
//
// # Out of scope
//
// The guarantee does not cover:
//
//   - several rows of one person, where the schema names no unit: a record is then one row;
//   - timing and other side channels of the machine;
//   - a loss function that is written to leak records;
//   - an optimizer that reads other goroutines' stacks (the layering test refuses imports of runtime, and of
//     other packages that show stacks, in package optimize and in the packages below it);
//   - choices an analyst makes after looking at the table: bounds, features, hyperparameters;
//   - anything computed from the table by other means, evaluation included.
//
// A second fit costs a second budget. Package budget limits the privacy loss of all fits of a registered
// dataset together to one cap. It cannot prevent that another program reads the table.
package stillpoint
