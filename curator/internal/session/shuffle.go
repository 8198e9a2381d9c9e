package session

// shuffle is a Fisher-Yates shuffle in progress. At the start, position i holds record i. While few records
// have moved, the map moved holds the record of each position where this has changed. Drawing a small
// cohort from many records therefore needs no memory for all records.
type shuffle struct {
	moved map[int32]int32
	all   []int32 // replaces moved once many records have moved
}

// crowded returns the number of moved records, among n, from which on a slice of all records
// replaces the map of moved records. With more than a sixteenth of n entries, the map takes as much
// memory as the slice.
func crowded(n int) int { return max(n/16, 8) }

// take returns the record at position j of n, and moves the record at position i, i <= j, to
// position j. Position i must not be used again.
func (s *shuffle) take(i, j, n int) int32 {
	if s.all == nil && len(s.moved) >= crowded(n) {
		all := make([]int32, n)
		for k := range all {
			all[k] = s.at(k)
		}
		s.all, s.moved = all, nil
	}
	record, first := s.at(j), s.at(i)
	if s.all != nil {
		s.all[j] = first
		return record
	}
	if s.moved == nil {
		s.moved = make(map[int32]int32)
	}
	delete(s.moved, int32(i))
	if j > i {
		s.moved[int32(j)] = first
	}
	return record
}

func (s *shuffle) at(i int) int32 {
	if s.all != nil {
		return s.all[i]
	}
	if record, ok := s.moved[int32(i)]; ok {
		return record
	}
	return int32(i)
}
