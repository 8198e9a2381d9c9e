// Package runfolder keeps fits in folders. A folder has the model, the certificate and an append-only ledger.
// While a fit runs, the folder also has everything from the fit that must outlast a crash.
//
// Before the first answer, the whole budget is on stable storage, in the folder's ledger, and disk space for
// model and certificate is reserved. The run's releases go to a journal. If the process is killed, Recover
// makes model and certificate from the journal. Readers see both files or neither. Only one fit at a time
// writes to a folder.
//
// A folder contains charges and released values, and nothing else of a table.
package runfolder
