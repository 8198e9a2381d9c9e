package query

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// travels returns queries to be encoded and decoded: every form of every kind, sums of different
// terms, and terms at the ends of their ranges.
func travels(t testing.TB) map[string]Question {
	t.Helper()
	r := rand.New(rand.NewPCG(4, 4))
	w, prev := make([]float64, 6), make([]float64, 6)
	for j := range w {
		w[j], prev[j] = r.NormFloat64(), r.NormFloat64()/3
	}
	w[2], prev[3] = 0, math.Copysign(0, -1)
	on := NewCohort(1<<63|5, 1234.5)
	ask := map[string][]Term{
		"a mix": {GradientAt(on, w, .3).Weighted(.1), DifferenceByCurvature(on, w, prev, -.1, .9).Weighted(.9),
			DifferenceWithin(on, prev, w, .7)},
		"smoothed in part": {GradientAt(on, w, 1).Smoothed(Smoothing{Radius: .3, By: LasryLions}), GradientAt(on, prev, 1)},
		"two values":       {ValueAt(on, w, -3.3, .1), ValueAt(on, prev, 1e300, 0x1p-200).Weighted(0x1p200)},
		"no step":          {DifferenceByCurvature(on, w, w, -1, 2), GradientAt(on, w, 1)},
		"an odd interval":  {CurvatureAlongAt(on, w, prev, -.1, .7).Weighted(3)},
		"an odd radius":    {CentredMomentOf(on, w, .1)},
		"an odd limit":     {SquaredDistanceFrom(on, w, .3)},
		"products change":  {ProductChangeAt(on, w, prev, w, -.1, .7, .01)},
		"not smoothed":     {GradientAt(on, w, 1).Smoothed(Smoothing{By: Values, Seed: 4})},
	}
	for _, k := range Kinds() {
		for _, f := range FormsOf(k, on, w, prev, -.3, 1.3, 3) {
			ask[f.Name] = f.Terms
		}
	}
	all := map[string]Question{}
	for name, terms := range ask {
		q, err := New(.1, terms...)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all[name] = q
	}
	return all
}

func encoded(t testing.TB, q interface {
	AppendBinary([]byte) ([]byte, error)
}) []byte {
	t.Helper()
	b, err := q.AppendBinary([]byte("before"))
	if err != nil || !bytes.HasPrefix(b, []byte("before")) {
		t.Fatalf("%q, %v", b, err)
	}
	return b[len("before"):]
}

// TestEveryKindTravels: a decoded query must equal the encoded one in every field, exported or not, for
// every form of every kind.
func TestEveryKindTravels(t *testing.T) {
	for name, q := range travels(t) {
		got, err := DecodeQuestion(encoded(t, q))
		if err != nil || !reflect.DeepEqual(bitsOf(got), bitsOf(q)) {
			t.Errorf("%s: %v\n%+v: must be\n%+v", name, err, got, q)
		}
	}
}

// bitsOf returns all fields of a query, unexported ones included, one after the other. Floats are replaced by
// their bits, so that zeros of different sign differ. A field added to Question or Term is compared, too.
func bitsOf(q Question) (out []any) {
	var walk func(v reflect.Value)
	walk = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Struct:
			for i := range v.NumField() {
				walk(v.Field(i))
			}
		case reflect.Slice, reflect.Array:
			out = append(out, v.Len())
			for i := range v.Len() {
				walk(v.Index(i))
			}
		case reflect.Pointer, reflect.Interface:
			if out = append(out, v.IsNil()); !v.IsNil() {
				walk(v.Elem())
			}
		case reflect.Float64, reflect.Float32:
			out = append(out, math.Float64bits(v.Float()))
		case reflect.String:
			out = append(out, v.String())
		case reflect.Bool:
			out = append(out, v.Bool())
		default:
			if v.CanUint() {
				out = append(out, v.Uint())
			} else {
				out = append(out, v.Int()) // panics for a field of another type, which needs a case here
			}
		}
	}
	walk(reflect.ValueOf(q))
	return out
}

// TestEveryFieldOfATermTravels: for every field of Term but err, at least one query that TestEveryKindTravels
// encodes must have a value other than zero.
func TestEveryFieldOfATermTravels(t *testing.T) {
	set := map[string]bool{"err": true}
	for _, q := range travels(t) {
		for _, term := range q.terms {
			v := reflect.ValueOf(term)
			for i := range v.NumField() {
				set[v.Type().Field(i).Name] = set[v.Type().Field(i).Name] || !v.Field(i).IsZero()
			}
		}
	}
	for name, is := range set {
		if !is {
			t.Errorf("field %s: zero in every query that is encoded", name)
		}
	}
}

// TestVectorsAreSentOnce: the encoding of terms that share their points holds one copy of each point.
func TestVectorsAreSentOnce(t *testing.T) {
	w, prev := make([]float64, 1000), make([]float64, 1000)
	w[0] = 1
	q, err := New(1, GradientAt(some, w, 1), DifferenceWithin(some, w, prev, 1), GradientAt(some, prev, 1))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(encoded(t, q)); n > 2*8000+200 {
		t.Errorf("%d bytes", n)
	}
}

// TestDamagedQuestions: if a byte of an encoding is changed, left out or added, the result must not decode
// to the same query. If it decodes to another query, encoding this query must give the damaged bytes.
func TestDamagedQuestions(t *testing.T) {
	for name, q := range travels(t) {
		b := encoded(t, q)
		try := func(damaged []byte) {
			t.Helper()
			got, err := DecodeQuestion(damaged)
			if err == nil && (reflect.DeepEqual(bitsOf(got), bitsOf(q)) || !bytes.Equal(encoded(t, got), damaged)) {
				t.Errorf("%s: %x is read as %+v", name, damaged, got)
			}
		}
		for i := range b {
			try(b[:i])
			for _, flip := range []byte{1, 0x80} {
				damaged := bytes.Clone(b)
				damaged[i] ^= flip
				try(damaged)
			}
		}
		try(append(bytes.Clone(b), 0))
	}
	for _, q := range []Question{{}, {charge: 1}} {
		if _, err := q.AppendBinary(nil); err == nil {
			t.Errorf("%+v is encoded", q)
		}
	}
}

// TestRulesHoldForDecodedTerms: the encoding of a term that no constructor makes must be refused, even if
// New would accept the term.
func TestRulesHoldForDecodedTerms(t *testing.T) {
	w, prev := at(1, 2), at(.5, -1)
	change := func(t Term, f func(*Term)) Term {
		f(&t)
		return t
	}
	for name, term := range map[string]Term{
		"a difference of one point": change(DifferenceWithin(some, w, prev, 1), func(t *Term) { t.prev = nil }),
		"a gradient at two points":  change(GradientAt(some, w, 1), func(t *Term) { t.prev = prev }),
		"a narrow ball": change(DifferenceByCurvature(some, w, prev, -1, 1),
			func(t *Term) { t.ball.Radius *= 2 }),
		"a product of no vector":          change(ProductAt(some, w, prev, -1, 1), func(t *Term) { t.along = nil }),
		"a long vector":                   change(ProductAt(some, w, prev, -1, 1), func(t *Term) { t.along = at(1, 2, 3) }),
		"a shift of another dimension":    change(NormAt(some, w, 1, nil), func(t *Term) { t.shift = at(1, 2, 3) }),
		"a value in a metric":             change(ValueAt(some, w, 0, 1), func(t *Term) { t.metric = plain }),
		"squares about another centre":    change(SquaredSlopeAt(some, w, 1, plain), func(t *Term) { t.ball.Centre = 3 }),
		"a second moment at a point":      change(SecondMomentOf(some, 2), func(t *Term) { t.w = w }),
		"a second moment of other radius": change(SecondMomentOf(some, 2), func(t *Term) { t.ball.Radius = 2 }),
		"a centred moment from afar":      change(CentredMomentOf(some, w, 1), func(t *Term) { t.ball.Radius = 0x1p41 }),
		"a mean row of a curvature":       change(RowMeanOf(some, 2), func(t *Term) { t.centred, t.lo, t.hi = true, -1, 1 }),
		"no kind":                         change(GradientAt(some, w, 1), func(t *Term) { t.kind = Kind(len(table)) }),
		"smoothed beyond the range":       GradientAt(some, w, 1).Smoothed(Smoothing{Radius: 1e10}),
	} {
		b, err := Question{terms: []Term{term}, charge: 1}.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		if q, err := DecodeQuestion(b); err == nil {
			t.Errorf("%s: decoded %+v", name, q)
		}
	}
}

// TestMetricsTravel: a decoded metric must have the same bits, and integers that NewMetric does not make
// must be refused: the step of the discrete noise is chosen with a bound on the entries.
func TestMetricsTravel(t *testing.T) {
	for _, scale := range []float64{0x1p-40, 1e-7, 1, 3, 0x1p40} {
		m, err := NewMetric(2, []float64{scale, .3 * scale, .3 * scale, -.999 * scale})
		if err != nil {
			t.Fatal(err)
		}
		q, err := New(1, GradientInMetric(some, at(1, 2), 1, 1, m))
		if err != nil {
			t.Fatal(err)
		}
		got, err := DecodeQuestion(encoded(t, q))
		if err != nil || !reflect.DeepEqual(got, q) {
			t.Errorf("entries of %v: %v", scale, err)
		}
		for name, f := range map[string]func(m *metric){
			"large":               func(m *metric) { m.upper[1] = 1<<20 + 1 },
			"small":               func(m *metric) { m.upper = []int32{1, 1, 1} },
			"no power of two":     func(m *metric) { m.step *= 3 },
			"a long step":         func(m *metric) { m.step = 0x1p22 },
			"a short step":        func(m *metric) { m.step = 0x1p-60 },
			"a step that is zero": func(m *metric) { m.step = 0 },
			"of no rows":          func(m *metric) { m.dim, m.upper = 0, nil },
			"too few entries":     func(m *metric) { m.upper = m.upper[:2] },
		} {
			n := &metric{dim: m.m.dim, step: m.m.step, diagonal: m.m.diagonal, norm: m.m.norm}
			n.upper = append([]int32(nil), m.m.upper...)
			f(n)
			term := q.terms[0]
			term.metric = Metric{n}
			b, err := Question{terms: []Term{term}, charge: 1}.AppendBinary(nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := DecodeQuestion(b); err == nil {
				t.Errorf("entries of %v: %s: decoded", scale, name)
			}
		}
	}
}

func passesThatTravel() []Pass {
	return []Pass{
		{Start: at(1, -2), Step: .1, Clip: 1},
		{Start: at(0, 0), Step: .1, Clip: 1, Lambda: .2, Linear: at(0, 0), Radius: 3, Centre: at(1, 2)},
		{Start: at(1, 2), Step: 0x1p-100, Clip: 0x1p100, Radius: 1},
	}
}

// TestPassesTravel: a pass must be decoded as it was encoded. Damaged bytes must never be decoded as the
// same pass.
func TestPassesTravel(t *testing.T) {
	for _, p := range passesThatTravel() {
		b := encoded(t, p)
		got, err := DecodePass(b)
		if err != nil || !reflect.DeepEqual(got, p) {
			t.Errorf("%v: %+v: must be %+v", err, got, p)
		}
		for i := range b {
			damaged := bytes.Clone(b)
			damaged[i] ^= 1
			for _, d := range [][]byte{b[:i], damaged} {
				if got, err := DecodePass(d); err == nil && reflect.DeepEqual(got, p) {
					t.Errorf("%x is read as %+v", d, got)
				}
			}
		}
	}
	if _, err := (Pass{}).AppendBinary(nil); err == nil {
		t.Error("a pass without a start is encoded")
	}
	// Bytes of which no pass is encoded, since it breaks a rule: its step, clip, lambda or radius is -1.
	b := encoded(t, passesThatTravel()[0])
	for i := range 4 {
		damaged := bytes.Clone(b)
		binary.LittleEndian.PutUint64(damaged[2+8*i:], math.Float64bits(-1))
		if got, err := DecodePass(damaged); err == nil || !strings.Contains(err.Error(), " = -1: must be ") {
			t.Errorf("number %d is -1: %+v, %v", i, got, err)
		}
	}
}

// FuzzDecodeQuestion: any bytes must be refused, or be the encoding of the decoded query, which then obeys
// the rules of New.
func FuzzDecodeQuestion(f *testing.F) {
	for _, q := range travels(f) {
		f.Add(encoded(f, q))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		q, err := DecodeQuestion(b)
		if err != nil {
			return
		}
		if !bytes.Equal(encoded(t, q), b) {
			t.Errorf("%x is encoded as %x", b, encoded(t, q))
		}
		if _, err := New(q.Charge(), q.Terms()...); err != nil {
			t.Errorf("%x: %v", b, err)
		}
	})
}

// FuzzDecodePass tests that any bytes are refused, or are the encoding of the decoded pass, which
// then obeys the rules of Pass.Validate.
func FuzzDecodePass(f *testing.F) {
	for _, p := range passesThatTravel() {
		f.Add(encoded(f, p))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if p, err := DecodePass(b); err == nil && (p.Validate() != nil || !bytes.Equal(encoded(t, p), b)) {
			t.Errorf("%x is read as %+v", b, p)
		}
	})
}
