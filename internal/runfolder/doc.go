// Package runfolder stores fits in folders. A folder has the model, the certificate and an append-only ledger
// of the budget that its fits reserved. While a fit runs, the folder also has a journal: all that is needed
// to make model and certificate after a crash.
//
// Before the first release, the fit's whole budget is in the folder's ledger, on stable storage, and disk
// space for model and certificate is reserved. The run's releases are written to the journal. If the process
// is killed, Recover makes model and certificate from the journal. Readers never see a model without its
// certificate. Only one fit at a time writes to a folder.
//
// Of a table's content a folder contains only charges and released values.
package runfolder
