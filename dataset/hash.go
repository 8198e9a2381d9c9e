package dataset

import "strconv"

// mostBuckets is the largest number of buckets of a hash column.
const mostBuckets = 1 << 20

// These are the constants of the hash function [Hashing]. The function uses only arithmetic that databases
// have as well (package export), and no intermediate result reaches 2^63. It squares modulo two primes in
// turn: with a single prime, the sums over characters would be polynomials modulo this prime, and they would
// collide far more often than random values.
const (
	hashPrime = 1<<31 - 1
	hashOther = 1<<31 - 19
	hashPoint = 1_103_515_245 // factor of a character's code point
	hashPlace = 1_597_334_677 // factor of a character's position, from 1
)

// Hashing is the public function that assigns the cells of a hash column to buckets. Let p, q, a and b be Prime, Other,
// Point and Place, let c_1 c_2 ... be the code points of the trimmed cell, and u_i = (a c_i + b i + Salt) mod p. Then
//
//	s = (Salt + sum_i ((u_i^2 mod q)^2 mod p)) mod q
//
// and the bucket is (s^2 mod p) modulo the number of buckets. The function is part of the model's format.
type Hashing struct{ Prime, Other, Point, Place, Salt int64 }

// Hashing returns the hash function of a hash column. Its salt is derived from the column's name,
// so values that collide in one column need not collide in another.
func (c Column) Hashing() Hashing {
	h := Hashing{hashPrime, hashOther, hashPoint, hashPlace, 1}
	h.Salt = h.sum(c.Name)
	return h
}

// bucket returns the bucket, from 0 to buckets-1, of a trimmed cell.
func (h Hashing) bucket(cell string, buckets int) int {
	s := h.sum(cell)
	return int(s * s % h.Prime % int64(buckets))
}

// sum returns the number s of the formula of [Hashing] for the code points of text. Each byte that is not
// UTF-8 counts as U+FFFD. (The result for the empty text is Salt.)
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

// IsOther reports whether a feature stands for the cells of a category that are missing or not listed, also in an
// interaction of two categories, or for the missing cells of a number or date with a curve.
func (s *Schema) IsOther(feature int) bool {
	for _, h := range s.hats {
		if h.curve && feature == h.Axes[0].Missing {
			return true
		}
	}
	for i, c := range s.columns {
		if c.Kind == Category && feature == s.first[i]+c.width()-1 {
			return true
		}
	}
	for _, x := range s.crossings() {
		if k, rows, width := feature-x.at, x.width[0], x.width[1]; x.scale == 1 && k >= 0 && k < rows*width {
			return k/width == rows-1 || k%width == width-1
		}
	}
	return false
}
