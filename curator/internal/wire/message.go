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
	"github.com/stillpoint-dp/stillpoint/internal/codec"
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

// message is a message's body, of which code describes each field in its order.
type message interface{ code(*codec.Codec) error }

func written(m message) []byte {
	var c codec.Codec
	_ = m.code(&c) // only what is read has faults
	return c.B
}

// read returns the message whose body is b. It returns errMessage if the body is malformed.
func read[M any, P interface {
	*M
	message
}](b []byte) (m M, err error) {
	c := codec.Codec{B: b, Reads: true}
	if err = P(&m).code(&c); err == nil && c.Bad {
		err = errMessage
	}
	return m, err
}

// greeting is the beginning of the message hello.
const greeting = "stillpoint shard"

func (h Hello) body() []byte { return written(&h) }

func (h *Hello) code(c *codec.Codec) error {
	begin, version, name := []byte(greeting), byte(protocol), []byte(h.Version)
	c.Bytes(begin)
	if c.Byte(&version); string(begin) == greeting && !c.Bad && version != protocol {
		return errors.New("wire: protocol: must be the same on both sides: use the same version of stillpoint")
	}
	c.Count(&h.Partition, mostPartitions)
	c.Count(&h.Attempt, math.MaxInt32)
	c.Rest(&name)
	h.Version = string(name)
	c.Bad = c.Bad || string(begin) != greeting || len(name) > 200
	return nil
}

// setup is the body of the message configure, by which a session sends a worker its task.
type setup struct {
	silence time.Duration
	key     [32]byte
	blob    []byte
}

func (s setup) body() []byte { return written(&s) }

func (s *setup) code(c *codec.Codec) error {
	milliseconds := int(s.silence / time.Millisecond)
	c.Count(&milliseconds, math.MaxInt32)
	c.Bytes(s.key[:])
	c.Rest(&s.blob)
	s.silence = time.Duration(milliseconds) * time.Millisecond
	c.Bad = c.Bad || milliseconds < 1
	return nil
}

// readyMessage is the body of the message ready, by which a worker reports that it holds its rows.
type readyMessage struct {
	rows, dim int
	digest    Digest
}

func (h readyMessage) body() []byte { return written(&h) }

func (h *readyMessage) code(c *codec.Codec) error {
	c.Count(&h.rows, math.MaxInt32)
	c.Count(&h.dim, math.MaxInt32)
	c.Bytes(h.digest[:])
	c.End()
	return nil
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
	var c codec.Codec
	q.code(&c, rows)
	return c.B
}

func readRequest(b []byte, rows int) (q request, err error) {
	c := codec.Codec{B: b, Reads: true}
	q.code(&c, rows)
	if c.Bad || q.what >= asksRest {
		return request{}, errMessage
	}
	return q, nil
}

// code describes a request to a worker with some number of rows. encoded is read, and not written.
func (q *request) code(c *codec.Codec, rows int) {
	switch c.Byte(&q.what); q.what {
	case asksTags:
		c.Count(&q.from, rows)
		c.Count(&q.count, rows)
		c.End()
		c.Bad = c.Bad || q.count > rows-q.from
		return
	case asksHold, asksMerge, asksGive:
		c.Uint64(&q.id)
		c.Bytes(q.seed[:])
	}
	if q.what != asksRefined && q.what != asksMerge && q.what != asksGive {
		c.Float(&q.scale)
		codeMembers(c, &q.members, rows, q.what == asksPass)
	}
	if c.Reads {
		q.encoded = c.B
	}
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
	b, _ := binary.Append([]byte{answeredWhole}, binary.LittleEndian, r.sum) // no error: integers of a fixed size
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
	_, err = binary.Decode(b, binary.LittleEndian, r.sum)
	return r, err
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

// These are the forms in which members, the row numbers of a query, are sent. For sums, which do not depend on the
// order of members, the form is the shorter of sorted and bitmap. Sorted takes about a byte for each member. The
// shorter form takes at most a bit for each row if no row is repeated.
const (
	everyRow byte = iota // no members are sent: all rows
	inOrder              // the number of members, then each member less the member before it
	sorted               // as inOrder, for the members in increasing order
	bitmap               // a bit for each row, 1 for a member
)

// codeMembers writes or reads the members of a query, numbers of rows below n. It keeps the order of members that are
// written if ordered is true. nil members stand for all rows.
func codeMembers(c *codec.Codec, members *[]int32, n int, ordered bool) {
	form, size, start := inOrder, (n+7)/8, len(c.B)
	var rows []byte
	distinct := false
	if *members == nil {
		form = everyRow
	} else if !ordered {
		if rows, distinct = marked(*members, size); distinct && len(*members) >= size {
			c.B = append(append(c.B, bitmap), rows...)
			return
		}
		form, *members = sorted, slices.Sorted(slices.Values(*members))
	}
	c.Byte(&form)
	switch form {
	case everyRow:
	case bitmap: // is read
		*members = []int32{}
		for i, rows := range c.Next(size) {
			for j := range 8 {
				if rows>>j&1 == 1 {
					*members = append(*members, int32(8*i+j))
				}
			}
		}
		c.Bad = c.Bad || len(*members) > 0 && int((*members)[len(*members)-1]) >= n
	case inOrder, sorted:
		codeGaps(c, members, n, form == sorted)
		if distinct && len(c.B)-start > size {
			c.B = append(append(c.B[:start], bitmap), rows...)
		}
	default:
		c.Bad = true
	}
}

// codeGaps writes or reads the number of members, and each member less the member before it, which rises is true if no
// member is below.
func codeGaps(c *codec.Codec, members *[]int32, n int, rises bool) {
	count, last := len(*members), int64(0)
	if c.Count(&count, len(c.B)); c.Reads {
		*members = make([]int32, count)
	}
	for i, m := range *members {
		by := int64(m) - last
		if up := int(by); rises {
			c.Count(&up, n)
			by = int64(up)
		} else {
			c.Signed(&by)
		}
		if by > int64(n) || by < -int64(n) || last+by < 0 || last+by >= int64(n) || c.Bad {
			c.Bad = true
			return
		}
		if last += by; c.Reads {
			(*members)[i] = int32(last)
		}
	}
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
