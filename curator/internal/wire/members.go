package wire

import (
	"encoding/binary"
	"slices"
)

// These are the forms in which members, the row numbers of a query, are sent. For sums, which do
// not depend on the order of members, the form is the shorter of sorted and bitmap. Sorted takes
// about a byte for each member. The shorter form takes at most a bit for each row if no row is
// repeated.
const (
	everyRow byte = iota // no members are sent: all rows
	inOrder              // the number of members, then each member less the member before it
	sorted               // as inOrder, for the members in increasing order
	bitmap               // a bit for each row, 1 for a member
)

// appendMembers appends the encoded members, which are row numbers below n, to b. It keeps the order of
// members if ordered is true. nil members stand for all rows.
func appendMembers(b []byte, members []int32, n int, ordered bool) []byte {
	switch {
	case members == nil:
		return append(b, everyRow)
	case ordered:
		b = binary.AppendUvarint(append(b, inOrder), uint64(len(members)))
		last := int64(0)
		for _, m := range members {
			b = binary.AppendVarint(b, int64(m)-last)
			last = int64(m)
		}
		return b
	}
	most := (n + 7) / 8
	if len(members) >= most {
		if rows, ok := marked(members, most); ok {
			return append(append(b, bitmap), rows...)
		}
	}
	start := len(b)
	members = slices.Clone(members)
	slices.Sort(members)
	b = binary.AppendUvarint(append(b, sorted), uint64(len(members)))
	last := int32(0)
	for _, m := range members {
		b = binary.AppendUvarint(b, uint64(m-last))
		last = m
	}
	if len(b)-start > most {
		if rows, ok := marked(members, most); ok {
			return append(append(b[:start], bitmap), rows...)
		}
	}
	return b
}

// marked returns size bytes in which bit m%8 of byte m/8 is 1 for each member m. ok is false if a member is
// repeated.
func marked(members []int32, size int) (rows []byte, ok bool) {
	rows = make([]byte, size)
	for _, m := range members {
		bit := byte(1) << (m % 8)
		if rows[m/8]&bit != 0 {
			return nil, false
		}
		rows[m/8] |= bit
	}
	return rows, true
}

// readMembers decodes the members of a query at the start of b, and returns them with the rest of b. It
// returns an error if a member is not below n, the number of rows, or if b is malformed.
func readMembers(b []byte, n int) (members []int32, rest []byte, err error) {
	if len(b) == 0 {
		return nil, nil, errMessage
	}
	form, b := b[0], b[1:]
	switch form {
	case everyRow:
		return nil, b, nil
	case bitmap:
		size := (n + 7) / 8
		if len(b) < size {
			return nil, nil, errMessage
		}
		members = []int32{}
		for i, rows := range b[:size] {
			for j := range 8 {
				if rows>>j&1 == 1 {
					members = append(members, int32(8*i+j))
				}
			}
		}
		if len(members) > 0 && int(members[len(members)-1]) >= n {
			return nil, nil, errMessage
		}
		return members, b[size:], nil
	case inOrder, sorted:
	default:
		return nil, nil, errMessage
	}
	count, size := binary.Uvarint(b)
	if size <= 0 || count > uint64(len(b)) {
		return nil, nil, errMessage
	}
	b = b[size:]
	members = make([]int32, 0, count)
	last := int64(0)
	for range count {
		var by int64
		if form == inOrder {
			by, size = binary.Varint(b)
		} else {
			var up uint64
			if up, size = binary.Uvarint(b); up > uint64(n) {
				return nil, nil, errMessage
			}
			by = int64(up)
		}
		if size <= 0 || by > int64(n) || by < -int64(n) {
			return nil, nil, errMessage
		}
		b, last = b[size:], last+by
		if last < 0 || last >= int64(n) {
			return nil, nil, errMessage
		}
		members = append(members, int32(last))
	}
	return members, b, nil
}
