package query

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/stillpoint-dp/stillpoint/internal/codec"
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
	c := newWriter(b)
	c.question(&q)
	return c.B, nil
}

// question writes or reads the charge and the terms of a query. It sets Bad if the terms have too many coordinates.
func (c *coder) question(q *Question) {
	var cohort Cohort
	n := len(q.terms)
	if n > 0 {
		cohort = q.terms[0].cohort
	}
	c.Float(&q.charge)
	c.Uint64(&cohort.id)
	c.Float(&cohort.size)
	c.Count(&n, maxTerms)
	coordinates := 0
	for i := 0; i < n && !c.Bad; i++ {
		t := Term{cohort: cohort}
		if !c.Reads {
			t = q.terms[i]
		}
		c.term(&t)
		if coordinates += len(t.w); coordinates > mostCoordinates {
			c.Bad = true
		}
		if c.Reads {
			q.terms = append(q.terms, t)
		}
	}
}

// DecodeQuestion returns the query whose encoding is b. Every decoded query obeys the rules of New
// and of its terms' constructors: each term is made by calling its constructor. It is an error if these
// rules are broken, or if AppendBinary does not encode the decoded query to b again.
func DecodeQuestion(b []byte) (Question, error) {
	c := newReader(b)
	var read Question
	if c.question(&read); c.Bad {
		return Question{}, errCodec
	}
	var terms []Term
	for _, t := range read.terms {
		again := t.again()
		again.weight, again.smoothing = t.weight, t.smoothing
		terms = append(terms, again)
	}
	q, err := New(read.charge, terms...)
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

// Example returns a term of the kind about the cohort, for measurements of time. w and prev are its points, or as long
// as the features for a kind that depends on no loss, and m is its metric if the kind has one. Its other numbers are 1.
func (k Kind) Example(c Cohort, w, prev []float64, m Metric) Term {
	return Term{kind: k, cohort: c, w: w, prev: prev, along: prev, ball: ClipBall{Radius: 1}, lo: -1, hi: 1, centred: true,
		metric: m, slope: 1, reach: 1}.again()
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

// flags returns the byte whose bit i is is[i].
func flags(is ...bool) (b byte) {
	for i, yes := range is {
		if yes {
			b |= 1 << i
		}
	}
	return b
}

// coder writes or reads questions and passes. A vector that occurs several times is written once: numbers maps the
// bytes of each vector that was written to its number, counted from 0, and vectors has those that were read.
type coder struct {
	codec.Codec
	numbers map[string]int
	vectors [][]float64
}

func newWriter(b []byte) coder {
	return coder{Codec: codec.Codec{B: append(b, codecVersion)}, numbers: map[string]int{}}
}

// newReader sets Bad if b does not begin with the version of the encoding.
func newReader(b []byte) coder {
	c := coder{Codec: codec.Codec{B: b, Reads: true}}
	var version byte
	c.Byte(&version)
	c.Bad = version != codecVersion
	return c
}

func (c *coder) floats(v ...*float64) {
	for _, x := range v {
		c.Float(x)
	}
}

// vector writes or reads the number of a vector and, if no vector before has this number, length and coordinates.
func (c *coder) vector(v *[]float64) {
	var number int
	var known bool
	var written codec.Codec
	if !c.Reads {
		for _, x := range *v {
			written.Float(&x)
		}
		if number, known = c.numbers[string(written.B)]; !known {
			number = len(c.numbers)
			c.numbers[string(written.B)] = number
		}
	}
	if c.Count(&number, len(c.vectors)); known {
		return
	} else if number < len(c.vectors) {
		*v = c.vectors[number]
		return
	}
	n := len(*v)
	c.Count(&n, len(c.B)/8)
	if !c.Reads {
		c.Bytes(written.B)
		return
	}
	if b := c.Next(8 * n); b != nil {
		*v = make([]float64, n)
		for j := range *v {
			(*v)[j] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*j:]))
		}
	}
	c.vectors = append(c.vectors, *v)
}

// term writes or reads the fields from which the method Term.again makes the term when it is decoded.
func (c *coder) term(t *Term) {
	kind, has := byte(t.kind), flags(t.prev != nil, t.shift != nil, t.along != nil, t.centred, t.metric.m != nil,
		t.smoothing != Smoothing{}, t.metric.Diagonal(), t.metric.m != nil && t.metric.m.inner != nil)
	c.Byte(&kind)
	c.Byte(&has)
	t.kind, t.centred = Kind(kind), has&hasCurvature != 0
	c.floats(&t.weight, &t.ball.Radius, &t.ball.Centre)
	c.vector(&t.w)
	for i, v := range []*[]float64{&t.prev, &t.shift, &t.along} {
		if has&(hasPrev<<i) != 0 {
			c.vector(v)
		}
	}
	if t.centred {
		c.floats(&t.lo, &t.hi)
	}
	if has&hasMetric != 0 {
		c.floats(&t.slope, &t.reach)
		c.metric(&t.metric, has&hasDiagonal != 0, has&hasBlock != 0)
	}
	if s := &t.smoothing; has&hasSmoothing != 0 {
		by, directions := byte(s.By), int64(s.Directions)
		c.Float(&s.Radius)
		c.Byte(&by)
		c.Signed(&directions)
		c.Uint64(&s.Seed)
		s.By, s.Directions = Smoother(by), int(directions)
	}
}

// metric writes or reads a metric. It sets Bad unless NewMetric or NewBlocks can have made it: the step must be a
// power of two, and the largest absolute value of the entries must be from 2^19-1 to 2^20 steps. The lower
// bound is 2^19-1 and not 2^19 because NewMetric stores the average of entries (j, k) and (k, j), which may
// differ by a step. The average may be half a step smaller than the larger of the two.
func (c *coder) metric(of *Metric, diagonal, block bool) {
	limit, m := MaxPairs, of.m
	if diagonal {
		limit = MaxDiagonal
	}
	if c.Reads {
		m = &metric{diagonal: diagonal}
	}
	c.Count(&m.dim, limit)
	c.Float(&m.step)
	frac, exp := math.Frexp(m.step)
	if m.dim == 0 || frac != .5 || exp < -58 || exp > 22 || block && !diagonal {
		c.Bad = true
	}
	big := c.entries(m)
	if block && !c.Bad {
		n, last := len(m.whole), -1
		c.Count(&n, min(m.dim, MaxPairs))
		if c.Reads {
			m.whole, m.inner = make([]int, n), &metric{dim: n, step: m.step}
		}
		for i := range m.whole {
			c.Count(&m.whole[i], m.dim-1)
			j := m.whole[i]
			if c.Bad || j <= last || m.upper[j] != 0 {
				c.Bad = true
				return
			}
			last = j
		}
		big = max(big, c.entries(m.inner))
		if c.Bad = c.Bad || n == 0; c.Reads && !c.Bad {
			m.inner.norm = m.inner.bound()
		}
	}
	if c.Bad = c.Bad || big < 1<<(metricBits-1)-1; c.Reads && !c.Bad {
		m.norm = m.bound()
		of.m = m
	}
}

// entries writes or reads the integers that a metric stores, and returns the largest absolute value.
func (c *coder) entries(m *metric) (big int64) {
	n := m.entries()
	if c.Reads {
		if c.Bad = c.Bad || n > len(c.B); c.Bad {
			return 0
		}
		m.upper = make([]int32, n)
	}
	for i := range m.upper {
		v := int64(m.upper[i])
		c.Signed(&v)
		if v < -1<<metricBits || v > 1<<metricBits {
			c.Bad = true
		}
		if big = max(big, v, -v); c.Reads {
			m.upper[i] = int32(v)
		}
	}
	return big
}

// pass writes or reads a pass.
func (c *coder) pass(p *Pass) {
	has := flags(p.Linear != nil, p.Centre != nil) << 1
	c.Byte(&has)
	c.floats(&p.Step, &p.Clip, &p.Lambda, &p.Radius)
	for i, v := range []*[]float64{&p.Start, &p.Linear, &p.Centre} {
		if i == 0 || has&(1<<i) != 0 {
			c.vector(v)
		}
	}
}

// AppendBinary appends the encoding of a pass to b. It is an error if the pass is not valid.
func (p Pass) AppendBinary(b []byte) ([]byte, error) {
	if err := p.Validate(); err != nil {
		return b, err
	}
	c := newWriter(b)
	c.pass(&p)
	return c.B, nil
}

// DecodePass returns the pass whose encoding is b. It is an error if b is not the encoding of a valid pass.
func DecodePass(b []byte) (p Pass, err error) {
	c := newReader(b)
	if c.pass(&p); c.Bad {
		return Pass{}, errCodec
	}
	p.Start, p.Linear, p.Centre = slices.Clone(p.Start), slices.Clone(p.Linear), slices.Clone(p.Centre)
	if err := p.Validate(); err != nil {
		return Pass{}, err
	}
	if same, err := p.AppendBinary(nil); err != nil || !bytes.Equal(same, b) {
		return Pass{}, errCodec
	}
	return p, nil
}
