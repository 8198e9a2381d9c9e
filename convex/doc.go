// Package convex holds the convex sets onto which iterates are projected.
package convex
