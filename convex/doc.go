// Package convex holds the convex sets that iterates are projected on.
package convex
