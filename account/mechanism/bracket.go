package mechanism

// Bracket encloses a number that cannot be computed exactly, such as an epsilon: Lower <= number <=
// Upper is proven. Upper is the value to report for an epsilon or a delta.
type Bracket struct{ Lower, Upper float64 }

// width returns (Upper - Lower)/Upper. It is 0 for a Bracket whose Upper is 0.
func (b Bracket) width() float64 {
	if b.Upper == 0 {
		return 0
	}
	return (b.Upper - b.Lower) / b.Upper
}
