package dataset

import "strconv"

// mostBuckets bounds a hashed column's features.
const mostBuckets = 1 << 20

// Texts are hashed by arithmetic that databases have as well (package export): squares
// modulo two primes in turn, whose products stay below 2^63. Modulo one prime alone sums
// over characters would be polynomials, and meet far more often than by chance.
const (
	hashPrime = 1<<31 - 1
	hashOther = 1<<31 - 19
	hashPoint = 1_103_515_245 // times a character's code point
	hashPlace = 1_597_334_677 // times its place, from 1
)

// Hashing is what a hashed column's cell falls into a bucket by. With p, q, a and b its
// Prime, Other, Point and Place, c_1 c_2 ... the code points of the trimmed cell and
// u_i = (a c_i + b i + Salt) mod p, it is
//
//	s = Salt + sum_i (u_i^2 mod q)^2 mod p
//
// and the bucket (s mod q)^2 mod p modulo the number of buckets. It is public, and part
// of the model's format.
type Hashing struct{ Prime, Other, Point, Place, Salt int64 }

// Hashing returns that of a hashed column. The name is the salt, so values that share a
// bucket in one column do not in the next.
func (c Column) Hashing() Hashing {
	h := Hashing{hashPrime, hashOther, hashPoint, hashPlace, 1}
	h.Salt = h.sum(c.Name)
	return h
}

// bucket is the one of so many that a trimmed cell falls into.
func (h Hashing) bucket(cell string, buckets int) int {
	s := h.sum(cell)
	return int(s * s % h.Prime % int64(buckets))
}

// sum is s mod q. Bytes that are no UTF-8 are U+FFFD each.
func (h Hashing) sum(text string) int64 {
	s, i := h.Salt, int64(0)
	for _, c := range text {
		i++
		u := (h.Point*int64(c) + h.Place*i + h.Salt) % h.Prime
		v := u * u % h.Other
		s = (s + v*v%h.Prime) % h.Other
	}
	return s
}

func (c Column) validateBuckets(field string) error {
	if c.Buckets < 2 || c.Buckets > mostBuckets {
		return &fieldError{field, strconv.Itoa(c.Buckets), "must be between 2 and " + strconv.Itoa(mostBuckets) + " buckets"}
	}
	return nil
}
