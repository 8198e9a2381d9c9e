package query

// Named has the terms of a query and their name.
type Named struct {
	Name  string
	Terms []Term
}

// FormsOf returns the forms of a kind that package querytest has, about a cohort at the points w and prev, for a loss
// whose curvature is in the given interval. The tests outside of this package set it, since querytest imports this one.
var FormsOf func(k Kind, c Cohort, w, prev []float64, lo, hi float64, features int) []Named
