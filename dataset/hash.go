package dataset

import "strconv"

// mostBuckets bounds a hashed column's features.
const mostBuckets = 1 << 20

// bucket is the one of so many that a value of a hashed column falls into: the 64-bit
// FNV-1a hash of the column's name, a zero byte and the cell, its bits mixed by
// splitmix64's finalizer, modulo the number of buckets. The name is the public salt, so
// values that share a bucket in one column do not in the next. It is part of the model's
// format.
func bucket(column, cell string, buckets int) int {
	const offset, prime = 0xcbf29ce484222325, 0x100000001b3
	h := uint64(offset)
	for _, s := range [...]string{column, "\x00", cell} {
		for i := range len(s) {
			h = (h ^ uint64(s[i])) * prime
		}
	}
	return int(mix(h) % uint64(buckets))
}

// mix is splitmix64's finalizer (Steele, Lea and Flood 2014): every bit of h changes
// about half of the result's.
func mix(h uint64) uint64 {
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

func (c Column) validateBuckets(field string) error {
	if c.Buckets < 2 || c.Buckets > mostBuckets {
		return &fieldError{field, strconv.Itoa(c.Buckets), "must be between 2 and " + strconv.Itoa(mostBuckets) + " buckets"}
	}
	return nil
}
