// Package results holds the programs that make the figures of its pages. They are tests with the build tag
// results.
package results
