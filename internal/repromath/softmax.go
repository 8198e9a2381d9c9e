package repromath

// Softmaxes replaces the margins of a block of records by the slopes of softmax. z holds the margins class by class: that
// of class j and record i is at [j*n+i] for n = len(class) records. class holds the records' classes.
//
// The slope of a class j is p_j = e^(z_j-t)/sum_i e^(z_i-t), where z_t is the greatest margin; the slope of the record's
// class is minus the sum of the others. The sum is that of the others, in their order, and last the record's class. A
// record whose class is none has no meaning. With AVX-512 or AVX2 it computes eight or four records at a time, by the same
// operations in the same order. A NaN may have other bits.
func Softmaxes(z, class []float64) {
	n := ofClasses(z, class)
	for i := softmaxesAtOnce(z, class); i < n; i++ {
		_, top := greatest(z, i, n)
		own, others, of := 0., 0., int(class[i])*n+i
		for at := i; at < len(z); at += n {
			if z[at] = Exp(z[at] - top); at == of {
				own = z[at]
			} else {
				others += z[at]
			}
		}
		sum := others + own
		for at := i; at < len(z); at += n {
			if at == of {
				z[at] = -others
			}
			z[at] /= sum
		}
	}
}

// SoftmaxParts sets gap[i] to z_t - z_c and rest[i] to the sum of e^(z_j-t) over all j but t, in their order, for the
// margins z of record i as in Softmaxes, the record's class c and the first t of the greatest margins.
// Where a margin is NaN, rest[i] is NaN and gap[i] has no meaning.
func SoftmaxParts(gap, rest, z, class []float64) {
	n := ofClasses(z, class)
	gap, rest = gap[:n:n], rest[:n:n]
	for i := softmaxPartsAtOnce(gap, rest, z, class); i < n; i++ {
		first, top := greatest(z, i, n)
		gap[i], rest[i] = top, 0
		for at := i; at < len(z); at += n {
			if at == int(class[i])*n+i {
				gap[i] = top - z[at]
			}
			if at != first {
				rest[i] += Exp(z[at] - top)
			}
		}
	}
}

// ofClasses returns the number of records. It panics unless there are margins for each.
func ofClasses(z, class []float64) int {
	n := len(class)
	if n == 0 || len(z) == 0 || len(z)%n != 0 {
		panic("elementary: softmax: margins and classes do not fit each other")
	}
	return n
}

// greatest returns the place of the first of the greatest margins of record i, or of one that is NaN, and this margin.
func greatest(z []float64, i, n int) (first int, top float64) {
	first = i
	for at := i; at < len(z); at += n {
		if v := z[at]; v > z[first] || v != v {
			first = at
		}
	}
	return first, z[first]
}
