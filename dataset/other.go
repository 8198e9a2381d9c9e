package dataset

// IsOther reports whether a feature stands for the cells of a category that are missing or not listed, or
// for the missing cells of a number or date with a curve.
func (s *Schema) IsOther(feature int) bool {
	for _, h := range s.hats {
		if h.curve && feature == h.Axes[0].Missing {
			return true
		}
	}
	at := 0
	for _, c := range s.columns {
		at += c.width()
		if c.Kind == Category && feature == at-1 {
			return true
		}
	}
	return false
}
