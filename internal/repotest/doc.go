// Package repotest tests the repository as a whole: which package may import which, where each kind of change
// has its places, what the documents name. It has no code but tests.
package repotest
