package wire

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/stillpoint-dp/stillpoint/curator/internal/engine"
	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/query"
)

// protocol is the version of the protocol, which is the form of all messages.
const protocol = 3

// Hello is how a worker introduces itself to a session.
type Hello struct {
	// Version is the version of the program. The session's program must have the same version,
	// since sums must agree to the bit.
	Version string
	// Partition is the number of the partition that the worker holds, from zero. Attempt counts the workers
	// that were started for the partition, from zero. Attempt has no effect on the session.
	Partition, Attempt int
}

// Digest is a keyed digest of the rows of a partition, in their order, and of the units' tags if records
// are units.
type Digest [32]byte

// mostPartitions bounds the number of partitions of a table.
const mostPartitions = 1 << 20

func (h Hello) body() []byte {
	b := append([]byte("stillpoint shard"), protocol)
	b = binary.AppendUvarint(b, uint64(h.Partition))
	b = binary.AppendUvarint(b, uint64(h.Attempt))
	return append(b, h.Version...)
}

func readHello(b []byte) (h Hello, err error) {
	r := reader{b: b}
	if string(r.take(16)) != "stillpoint shard" {
		return h, errMessage
	}
	if p := r.take(1); len(p) == 1 && p[0] != protocol {
		return h, errors.New("wire: protocol: must be the same on both sides: use the same version of stillpoint")
	}
	h.Partition, h.Attempt = r.count(mostPartitions), r.count(math.MaxInt32)
	h.Version = string(r.b)
	if r.bad || len(h.Version) > 200 {
		return Hello{}, errMessage
	}
	return h, nil
}

// setup is the body of the message configure, by which a session sends a worker its task.
type setup struct {
	silence time.Duration
	key     [32]byte
	blob    []byte
}

func (s setup) body() []byte {
	b := binary.AppendUvarint(nil, uint64(s.silence/time.Millisecond))
	return append(append(b, s.key[:]...), s.blob...)
}

func readSetup(b []byte) (s setup, err error) {
	r := reader{b: b}
	s.silence = time.Duration(r.count(math.MaxInt32)) * time.Millisecond
	copy(s.key[:], r.take(32))
	s.blob = r.b
	if r.bad || s.silence < time.Millisecond {
		return setup{}, errMessage
	}
	return s, nil
}

// readyMessage is the body of the message ready, by which a worker reports that it holds its rows.
type readyMessage struct {
	rows, dim int
	digest    Digest
}

func (h readyMessage) body() []byte {
	b := binary.AppendUvarint(nil, uint64(h.rows))
	b = binary.AppendUvarint(b, uint64(h.dim))
	return append(b, h.digest[:]...)
}

func readHolds(b []byte) (h readyMessage, err error) {
	r := reader{b: b}
	h.rows, h.dim = r.count(math.MaxInt32), r.count(math.MaxInt32)
	copy(h.digest[:], r.take(32))
	if r.bad || len(r.b) > 0 {
		return readyMessage{}, errMessage
	}
	return h, nil
}

// request is the body of the message ask, by which a session sends a query to a worker.
type request struct {
	what    byte // asksSum or another kind
	scale   float64
	members []int32
	// encoded is the encoding of the question or the pass, the configuration of refined rows, or the addresses of the
	// workers whose sums a worker adds to its own.
	encoded []byte
	// A request for tags asks for count tags, from the tag with index from on.
	from, count int
	// A query whose sums workers add up has the number id. seed is the key of the pad that the worker adds to its sum.
	id   uint64
	seed [32]byte
	// text is the number of the query among those that the session has sent, or 0, and shared the number of bytes at
	// the end of encoded that the query before has as well.
	text   uint64
	shared int
}

// Kinds of requests, the first byte of a request: for a sum, for a pass of SGD, for a range of the tags
// of the partition's units, or to compute the features of later requests by another configuration; to keep a sum with
// a pad, to add others' kept sums to it, and for the kept sum. Before a long query come asksRest and the
// number of the bytes at its end that are not sent, since the last long query had them.
const (
	asksSum byte = iota
	asksPass
	asksTags
	asksRefined
	asksHold
	asksMerge
	asksGive
	asksRest
)

// body returns the message's body without the query's number, which the caller puts before it, and without encoded,
// which comes last. A query that is sent again gets another number.
func (q request) body(rows int) []byte {
	b := []byte{q.what}
	switch q.what {
	case asksTags:
		b = binary.AppendUvarint(b, uint64(q.from))
		return binary.AppendUvarint(b, uint64(q.count))
	case asksRefined:
		return b
	case asksHold, asksMerge, asksGive:
		b = append(binary.LittleEndian.AppendUint64(b, q.id), q.seed[:]...)
		if q.what != asksHold {
			return b
		}
	}
	b = binary.LittleEndian.AppendUint64(b, math.Float64bits(q.scale))
	return appendMembers(b, q.members, rows, q.what == asksPass)
}

func readRequest(b []byte, rows int) (q request, err error) {
	r := reader{b: b}
	if what := r.take(1); what != nil {
		q.what = what[0]
	}
	if q.what == asksTags {
		q.from, q.count = r.count(rows), r.count(rows)
		if r.bad || len(r.b) > 0 || q.count > rows-q.from {
			return request{}, errMessage
		}
		return q, nil
	}
	if q.what >= asksHold && q.what < asksRest {
		q.id = r.uint64()
		copy(q.seed[:], r.take(32))
	}
	if q.encoded = r.b; !r.bad && (q.what == asksRefined || q.what == asksMerge || q.what == asksGive) {
		return q, nil
	}
	q.scale = math.Float64frombits(r.uint64())
	if r.bad || q.what >= asksRest {
		return request{}, errMessage
	}
	q.members, q.encoded, err = readMembers(r.b, rows)
	return q, err
}

// answered computes the worker's answer to a request: tags of units, the average of a pass of SGD, or the
// sums of a query. h has the rows and tags that the worker holds.
func (q request) answered(ctx context.Context, h Held) ([]int64, error) {
	e := h.Engine
	switch q.what {
	case asksTags:
		if len(h.Tags) != e.Len() {
			return nil, errMessage
		}
		return tagNumbers(h.Tags[q.from:][:q.count]), nil
	case asksPass:
		p, err := query.DecodePass(q.encoded)
		if err != nil {
			return nil, err
		}
		return e.Average(ctx, p, q.scale, q.members)
	}
	asked, err := query.DecodeQuestion(q.encoded)
	if err != nil {
		return nil, err
	}
	sum, err := e.Sum(ctx, asked, q.scale, q.members)
	return sum.Residual, err
}

// Outcomes of a query, the first byte of an answer: the result follows, rows could not be read
// (row.ErrUnread), the engine returned engine.ErrIncomplete, or the text of another error follows. An
// engine's error never depends on the content of rows, so its text may be sent.
const (
	answeredWhole byte = iota
	answeredUnread
	answeredIncomplete
	answeredRefused
)

// result is the body of the message answer, by which a worker answers a query, without the query's
// number.
type result struct {
	sum  []int64
	text []byte // in place of sum
	err  error
	// by is the worker that has answered, and seed the key of the pad that it was sent.
	by   *link
	seed [32]byte
}

func (r result) body() []byte {
	switch {
	case errors.Is(r.err, row.ErrUnread):
		return []byte{answeredUnread}
	case errors.Is(r.err, engine.ErrIncomplete):
		return []byte{answeredIncomplete}
	case r.err != nil:
		return append([]byte{answeredRefused}, r.err.Error()...)
	case r.text != nil:
		return append([]byte{answeredWhole}, r.text...)
	}
	b := make([]byte, 1, 1+8*len(r.sum))
	for _, v := range r.sum {
		b = binary.LittleEndian.AppendUint64(b, uint64(v))
	}
	return b
}

// readResult reads an answer: size integers, a text if size is negative, or the worker's error. It returns errMessage if the answer is
// malformed.
func readResult(b []byte, size int) (r result, err error) {
	if len(b) == 0 {
		return r, errMessage
	}
	what, b := b[0], b[1:]
	switch what {
	case answeredUnread:
		return result{err: row.ErrUnread}, nil
	case answeredIncomplete:
		return result{err: engine.ErrIncomplete}, nil
	case answeredRefused:
		return result{err: errors.New(string(b))}, nil
	}
	if what == answeredWhole && size < 0 {
		return result{text: b}, nil
	}
	if what != answeredWhole || len(b) != 8*size {
		return r, errMessage
	}
	r.sum = make([]int64, size)
	for j := range r.sum {
		r.sum[j] = int64(binary.LittleEndian.Uint64(b[8*j:]))
	}
	return r, nil
}

// numbered returns the body of a message about one query: the query's number in 8 bytes, then the given
// body.
func numbered(id uint64, body []byte) []byte {
	return append(binary.LittleEndian.AppendUint64(make([]byte, 0, 8+len(body)), id), body...)
}

func readNumber(b []byte) (id uint64, rest []byte, err error) {
	if len(b) < 8 {
		return 0, nil, errMessage
	}
	return binary.LittleEndian.Uint64(b), b[8:], nil
}

// reader reads values from b. bad is true after b was too short or contained too large a number.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) take(n int) []byte {
	if r.bad || n > len(r.b) {
		r.bad = true
		return nil
	}
	taken := r.b[:n]
	r.b = r.b[n:]
	return taken
}

func (r *reader) uint64() uint64 {
	if b := r.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (r *reader) count(most int) int {
	v, n := binary.Uvarint(r.b)
	if r.bad || n <= 0 || v > uint64(most) {
		r.bad = true
		return 0
	}
	r.b = r.b[n:]
	return int(v)
}

// These are the forms in which members, the row numbers of a query, are sent. For sums, which do not depend on the
// order of members, the form is the shorter of sorted and bitmap. Sorted takes about a byte for each member. The
// shorter form takes at most a bit for each row if no row is repeated.
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
