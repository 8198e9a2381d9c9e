package query

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
)

// codecVersion is the first byte of an encoded query or pass. It must be changed whenever the
// encoding changes.
const codecVersion = 1

// mostCoordinates bounds the sum of the terms' numbers of coordinates in a decoded query. A point that several terms
// share counts for each of them. A decoded query takes at most about 24 bytes for each coordinate.
const mostCoordinates = 1 << 28

var errCodec = errors.New("query: encoded question: must be what AppendBinary writes")

// AppendBinary appends the encoding of a query to b: everything that an engine needs for the exact
// sum, and the charge. Vectors that occur several times are written once. It is an error if the query
// was not made by New or is too large to be encoded.
func (q Question) AppendBinary(b []byte) ([]byte, error) {
	if len(q.terms) == 0 {
		return b, errors.New("query: question: must be made by query.New")
	}
	if n := len(q.terms) * len(q.terms[0].w); n > mostCoordinates {
		return b, fmt.Errorf("query: question of %d coordinates: must be at most %d to be encoded", n, mostCoordinates)
	}
	w := writer{b: append(b, codecVersion), vectors: map[string]uint64{}}
	w.float(q.charge)
	w.b = binary.LittleEndian.AppendUint64(w.b, q.terms[0].cohort.id)
	w.float(q.terms[0].cohort.size)
	w.count(len(q.terms))
	for _, t := range q.terms {
		w.term(t)
	}
	return w.b, nil
}

// DecodeQuestion returns the query whose encoding is b. Every decoded query obeys the rules of New
// and of its terms' constructors: each term is made by calling its constructor. It is an error if these
// rules are broken, or if AppendBinary does not encode the decoded query to b again.
func DecodeQuestion(b []byte) (Question, error) {
	r := reader{b: b}
	if r.byte() != codecVersion {
		return Question{}, errCodec
	}
	charge := r.float()
	cohort := Cohort{id: r.uint64(), size: r.float()}
	n := r.count(maxTerms)
	if r.bad {
		return Question{}, errCodec
	}
	var terms []Term
	coordinates := 0
	for range n {
		t := r.term(cohort)
		coordinates += len(t.w)
		if r.bad || coordinates > mostCoordinates {
			return Question{}, errCodec
		}
		again := t.again()
		again.weight, again.smoothing = t.weight, t.smoothing
		terms = append(terms, again)
	}
	q, err := New(charge, terms...)
	if err != nil {
		return Question{}, err
	}
	if same, err := q.AppendBinary(nil); err != nil || !bytes.Equal(same, b) {
		return Question{}, errCodec
	}
	return q, nil
}

// again returns the term that its kind's constructor makes from the encoded fields. For a
// ProductChange, a CurvatureAlong and a CentredMoment, the encoded ball (its rounded radius and
// centre) does not determine the bits of the constructor's arguments, so the ball is copied.
func (t Term) again() Term {
	c, ball := t.cohort, t.ball
	switch t.kind {
	case Gradient:
		return GradientAt(c, t.w, ball.Radius)
	case Difference:
		if t.centred {
			return DifferenceByCurvature(c, t.w, t.prev, t.lo, t.hi)
		}
		return DifferenceWithin(c, t.w, t.prev, ball.Radius)
	case Value:
		return ValueAt(c, t.w, ball.Centre, ball.Radius)
	case Norm:
		return NormAt(c, t.w, ball.Radius, t.shift)
	case SecondMoment:
		return SecondMomentOf(c, len(t.w))
	case Curvature:
		return CurvatureAt(c, t.w, ball.Radius)
	case MetricGradient:
		return GradientInMetric(c, t.w, ball.Radius, t.slope, t.metric)
	case SquaredSlope:
		return SquaredSlopeAt(c, t.w, 2*ball.Radius, t.metric)
	case Product:
		return ProductAt(c, t.w, t.along, t.lo, t.hi)
	case ProductChange:
		again := ProductChangeAt(c, t.w, t.prev, t.along, -1, 1, 1)
		again.ball.Radius = ball.Radius
		return again
	case CurvatureAlong:
		again := CurvatureAlongAt(c, t.w, t.along, -1, 1)
		again.ball = ball
		return again
	case ValueChange:
		return ValueChangeWithin(c, t.w, t.prev, ball.Centre, ball.Radius)
	case RowMean:
		return RowMeanOf(c, len(t.w))
	case SquaredDistance:
		return SquaredDistanceFrom(c, t.w, 2*ball.Radius)
	case CentredMoment:
		again := CentredMomentOf(c, t.w, 1)
		if !(ball.Radius >= 0x1p-40 && ball.Radius <= 0x1p40) {
			again.err = errCodec
		}
		again.ball.Radius = ball.Radius
		return again
	case WeightedGradient:
		return WeightedGradientAt(c, t.w, t.slope, t.reach, t.metric)
	case WeightedCurvature:
		return WeightedCurvatureAt(c, t.w, t.slope, t.reach, t.metric)
	case ScoreMoment:
		return ScoreMomentAt(c, t.w, t.slope, t.reach, t.metric)
	case WeightedMoment:
		return WeightedMomentOf(c, t.reach, t.metric)
	case SquaredFeatures:
		whole := make([]bool, len(t.w))
		for _, j := range t.Whole() {
			whole[j] = true
		}
		return BlockMomentOf(c, whole)
	}
	return Term{kind: t.kind, cohort: c, err: errCodec}
}

// The bits of the second byte of an encoded term say which optional fields follow.
const (
	hasPrev = 1 << iota
	hasShift
	hasAlong
	hasCurvature
	hasMetric
	hasSmoothing
	hasDiagonal // only the diagonal of the metric follows
	hasBlock    // and its block
)

// writer appends encoded values to b. vectors maps the bytes of each vector that was written to the
// vector's number, counted from 0. Later terms refer to the vector by this number.
type writer struct {
	b       []byte
	vectors map[string]uint64
}

func (w *writer) float(v float64) { w.b = binary.LittleEndian.AppendUint64(w.b, math.Float64bits(v)) }
func (w *writer) count(n int)     { w.b = binary.AppendUvarint(w.b, uint64(n)) }
func (w *writer) signed(v int64)  { w.b = binary.AppendVarint(w.b, v) }
func (w *writer) floats(v []float64) {
	for _, x := range v {
		w.float(x)
	}
}

// vector writes v. If an equal vector was written before, it writes the number of that vector. For a
// new vector it writes the next number, the length and the coordinates.
func (w *writer) vector(v []float64) {
	bits := writer{}
	bits.floats(v)
	if at, known := w.vectors[string(bits.b)]; known {
		w.b = binary.AppendUvarint(w.b, at)
		return
	}
	w.count(len(w.vectors))
	w.vectors[string(bits.b)] = uint64(len(w.vectors))
	w.count(len(v))
	w.b = append(w.b, bits.b...)
}

func (w *writer) integers(v []int32) {
	for _, x := range v {
		w.signed(int64(x))
	}
}

// term writes the fields from which the method Term.again makes the term when it is decoded.
func (w *writer) term(t Term) {
	var has byte
	for _, f := range []struct {
		bit byte
		is  bool
	}{
		{hasPrev, t.prev != nil}, {hasShift, t.shift != nil}, {hasAlong, t.along != nil},
		{hasCurvature, t.centred}, {hasMetric, t.metric.m != nil}, {hasSmoothing, t.smoothing != Smoothing{}},
		{hasDiagonal, t.metric.Diagonal()}, {hasBlock, t.metric.m != nil && t.metric.m.inner != nil},
	} {
		if f.is {
			has |= f.bit
		}
	}
	w.b = append(w.b, byte(t.kind), has)
	w.floats([]float64{t.weight, t.ball.Radius, t.ball.Centre})
	w.vector(t.w)
	for _, v := range [][]float64{t.prev, t.shift, t.along} {
		if v != nil {
			w.vector(v)
		}
	}
	if t.centred {
		w.floats([]float64{t.lo, t.hi})
	}
	if m := t.metric.m; m != nil {
		w.floats([]float64{t.slope, t.reach})
		w.count(m.dim)
		w.float(m.step)
		w.integers(m.upper)
		if m.inner != nil {
			w.count(len(m.whole))
			for _, j := range m.whole {
				w.count(j)
			}
			w.integers(m.inner.upper)
		}
	}
	if s := t.smoothing; s != (Smoothing{}) {
		w.float(s.Radius)
		w.b = append(w.b, byte(s.By))
		w.signed(int64(s.Directions))
		w.b = binary.LittleEndian.AppendUint64(w.b, s.Seed)
	}
}

// reader reads encoded values from b, which holds the bytes not yet read. bad becomes true if the bytes end too early
// or are bytes that no writer writes. Values that are read with the method take are zero from then on.
type reader struct {
	b       []byte
	vectors [][]float64
	bad     bool
}

// take returns the next n bytes. It returns nil and sets bad if there are fewer.
func (r *reader) take(n int) []byte {
	if r.bad || n < 0 || n > len(r.b) {
		r.bad = true
		return nil
	}
	taken := r.b[:n]
	r.b = r.b[n:]
	return taken
}

func (r *reader) byte() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) uint64() uint64 {
	if b := r.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (r *reader) float() float64 { return math.Float64frombits(r.uint64()) }

// count reads an integer from 0 to most. If the integer is larger, it sets bad, which marks the
// encoding as invalid.
func (r *reader) count(most int) int {
	v, n := binary.Uvarint(r.b)
	if n <= 0 || v > uint64(most) {
		r.bad = true
		return 0
	}
	r.take(n)
	return int(v)
}

func (r *reader) signed() int64 {
	v, n := binary.Varint(r.b)
	if n <= 0 {
		r.bad = true
		return 0
	}
	r.take(n)
	return v
}

// floats reads n float64 numbers of 8 bytes each. It returns nil and sets bad if there are fewer.
func (r *reader) floats(n int) []float64 {
	b := r.take(8 * n)
	if b == nil {
		return nil
	}
	v := make([]float64, n)
	for j := range v {
		v[j] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*j:]))
	}
	return v
}

func (r *reader) vector() []float64 {
	if at := r.count(len(r.vectors)); at < len(r.vectors) {
		return r.vectors[at]
	}
	v := r.floats(r.count(len(r.b) / 8))
	r.vectors = append(r.vectors, v)
	return v
}

func (r *reader) term(c Cohort) Term {
	t := Term{kind: Kind(r.byte()), cohort: c}
	has := r.byte()
	t.weight = r.float()
	t.ball = ClipBall{Radius: r.float(), Centre: r.float()}
	t.w = r.vector()
	for _, f := range []struct {
		bit byte
		v   *[]float64
	}{{hasPrev, &t.prev}, {hasShift, &t.shift}, {hasAlong, &t.along}} {
		if has&f.bit != 0 {
			*f.v = r.vector()
		}
	}
	if has&hasCurvature != 0 {
		t.lo, t.hi, t.centred = r.float(), r.float(), true
	}
	if has&hasMetric != 0 {
		t.slope, t.reach = r.float(), r.float()
		t.metric = r.metric(has&hasDiagonal != 0, has&hasBlock != 0)
	}
	if has&hasSmoothing != 0 {
		t.smoothing = Smoothing{Radius: r.float(), By: Smoother(r.byte()), Directions: int(r.signed()), Seed: r.uint64()}
	}
	return t
}

// metric reads a metric. It sets bad unless NewMetric or NewBlocks can have made it: the step must be a
// power of two, and the largest absolute value of the entries must be from 2^19-1 to 2^20 steps. The lower
// bound is 2^19-1 and not 2^19 because NewMetric stores the average of entries (j, k) and (k, j), which may
// differ by a step. The average may be half a step smaller than the larger of the two.
func (r *reader) metric(diagonal, block bool) Metric {
	limit := MaxPairs
	if diagonal {
		limit = MaxDiagonal
	}
	m := &metric{dim: r.count(limit), step: r.float(), diagonal: diagonal}
	frac, exp := math.Frexp(m.step)
	if m.dim == 0 || frac != .5 || exp < -58 || exp > 22 || block && !diagonal {
		r.bad = true
	}
	big := r.entries(m)
	if block && !r.bad {
		last := -1
		for range r.count(min(m.dim, MaxPairs)) {
			j := r.count(m.dim - 1)
			if r.bad || j <= last || m.upper[j] != 0 {
				r.bad = true
				return Metric{}
			}
			m.whole, last = append(m.whole, j), j
		}
		if m.inner = (&metric{dim: len(m.whole), step: m.step}); m.inner.dim == 0 {
			r.bad = true
		}
		if big = max(big, r.entries(m.inner)); !r.bad {
			m.inner.norm = m.inner.bound()
		}
	}
	if r.bad || big < 1<<(metricBits-1)-1 {
		r.bad = true
		return Metric{}
	}
	m.norm = m.bound()
	return Metric{m}
}

// entries reads the integers that a metric stores, and returns the largest absolute value.
func (r *reader) entries(m *metric) (big int64) {
	n := m.entries()
	if r.bad || n > len(r.b) {
		r.bad = true
		return 0
	}
	for range n {
		v := r.signed()
		if v < -1<<metricBits || v > 1<<metricBits {
			r.bad = true
		}
		big = max(big, v, -v)
		m.upper = append(m.upper, int32(v))
	}
	return big
}

// AppendBinary appends the encoding of a pass to b. It is an error if the pass is not valid.
func (p Pass) AppendBinary(b []byte) ([]byte, error) {
	if err := p.Validate(); err != nil {
		return b, err
	}
	w := writer{b: append(b, codecVersion), vectors: map[string]uint64{}}
	var has byte
	if p.Linear != nil {
		has |= hasShift
	}
	if p.Centre != nil {
		has |= hasAlong
	}
	w.b = append(w.b, has)
	w.floats([]float64{p.Step, p.Clip, p.Lambda, p.Radius})
	for _, v := range [][]float64{p.Start, p.Linear, p.Centre} {
		if v != nil {
			w.vector(v)
		}
	}
	return w.b, nil
}

// DecodePass returns the pass whose encoding is b. It is an error if b is not the encoding of a valid pass.
func DecodePass(b []byte) (Pass, error) {
	r := reader{b: b}
	if r.byte() != codecVersion {
		return Pass{}, errCodec
	}
	has := r.byte()
	p := Pass{Step: r.float(), Clip: r.float(), Lambda: r.float(), Radius: r.float()}
	p.Start = slices.Clone(r.vector())
	if has&hasShift != 0 {
		p.Linear = slices.Clone(r.vector())
	}
	if has&hasAlong != 0 {
		p.Centre = slices.Clone(r.vector())
	}
	if r.bad {
		return Pass{}, errCodec
	}
	if err := p.Validate(); err != nil {
		return Pass{}, err
	}
	if same, err := p.AppendBinary(nil); err != nil || !bytes.Equal(same, b) {
		return Pass{}, errCodec
	}
	return p, nil
}
