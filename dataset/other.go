package dataset

// IsOther reports whether a feature stands for the cells of a category that are missing or not listed.
func (s *Schema) IsOther(feature int) bool {
	at := 0
	for _, c := range s.columns {
		at += c.width()
		if c.Kind == Category && feature == at-1 {
			return true
		}
	}
	return false
}
