package kernel

// shuffle is a Fisher-Yates shuffle in progress. Position i holds record i unless an entry says
// otherwise. While few records have moved it stores only these, so that a small cohort of many
// records needs no memory for all of them.
type shuffle struct {
	moved map[int32]int32
	all   []int32 // replaces moved once many records have moved
}

// crowded returns the number of records that may have moved among n. Beyond a sixteenth of n, moved
// takes as much memory as a number for each record.
func crowded(n int) int { return max(n/16, 8) }

// take returns the record at position j >= i of n and puts the record of position i there. Position
// i is not used again.
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
