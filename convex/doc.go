// Package convex contains the convex sets onto which optimizers project their iterates.
package convex
