package kernel

// shuffle is a shuffle of Fisher and Yates that was begun: place i holds record i unless
// it says otherwise. While few records have moved it keeps those alone, so that a small
// cohort of many records takes no room for all.
type shuffle struct {
	moved map[int32]int32
	all   []int32 // in the place of moved once they are many
}

// crowded is how many records may have moved among n: beyond a sixteenth of all, moved
// takes as much room as a number for each.
func crowded(n int) int { return max(n/16, 8) }

// take returns the record at place j >= i, of n, and puts the one at i in its place. i
// is not asked about again.
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
