// Package runfolder keeps fits in folders: model, certificate and an append-only ledger,
// and what of a fit must outlast a crash while it lasts.
//
// The whole budget is on stable storage, in the folder's ledger, before the first answer.
// Room for both files is made on the disk before that, and what the run releases goes to a
// journal, from which Recover makes them if the process is killed. Model and certificate
// are seen together or not at all. A folder is written by one fit at a time.
//
// A folder holds charges and released values, and nothing else of a table.
package runfolder
