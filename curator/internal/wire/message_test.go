package wire

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stillpoint-dp/stillpoint/curator/internal/engine"
	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
)

// key32 returns 32 bytes, no two of them alike.
func key32(first byte) (k [32]byte) {
	for i := range k {
		k[i] = first + byte(i)
	}
	return k
}

// decoders read the messages of the protocol as their value or an error. The number of rows is 20.
var decoders = map[string]func(b []byte) (any, error){
	"hello":   func(b []byte) (any, error) { return read[Hello](b) },
	"setup":   func(b []byte) (any, error) { return read[setup](b) },
	"holds":   func(b []byte) (any, error) { return read[readyMessage](b) },
	"request": func(b []byte) (any, error) { return readRequest(b, 20) },
	"result":  func(b []byte) (any, error) { return readResult(b, 3) },
	"text":    func(b []byte) (any, error) { return readResult(b, -1) },
}

// TestMessagesTravel tests that each message is read as it was written, with every number at the ends of its range, and no
// two fields alike. A message that is cut where a field is due is refused, with errMessage.
func TestMessagesTravel(t *testing.T) {
	for name, list := range map[string][]struct {
		message any
		body    []byte
		least   int // bytes of the shortest message of the kind: what comes after is free
	}{
		"hello": {
			{Hello{Version: "v1", Partition: 3, Attempt: 5}, Hello{Version: "v1", Partition: 3, Attempt: 5}.body(), 19},
			{Hello{Version: strings.Repeat("v", 200), Partition: mostPartitions, Attempt: math.MaxInt32},
				Hello{Version: strings.Repeat("v", 200), Partition: mostPartitions, Attempt: math.MaxInt32}.body(), 25},
		},
		"setup": {
			{setup{silence: time.Millisecond, key: key32(7), blob: []byte("blob")},
				setup{silence: time.Millisecond, key: key32(7), blob: []byte("blob")}.body(), 33},
			{setup{silence: 1500 * time.Millisecond, key: key32(9), blob: []byte{}},
				setup{silence: 1500 * time.Millisecond, key: key32(9)}.body(), 34},
		},
		"holds": {{readyMessage{rows: 300, dim: 7, digest: key32(3)}, readyMessage{rows: 300, dim: 7, digest: key32(3)}.body(), 35}},
		"request": {
			{request{what: asksTags, from: 0, count: 20}, request{what: asksTags, from: 0, count: 20}.body(20), 3},
			{request{what: asksTags, from: 19, count: 1}, request{what: asksTags, from: 19, count: 1}.body(20), 3},
			{request{what: asksRefined, encoded: []byte("columns")}, append(request{what: asksRefined}.body(20), "columns"...), 1},
			{request{what: asksMerge, id: 1<<63 + 5, seed: key32(11), encoded: []byte("others")},
				append(request{what: asksMerge, id: 1<<63 + 5, seed: key32(11)}.body(20), "others"...), 41},
			{request{what: asksGive, id: 6, seed: key32(13), encoded: []byte{}}, request{what: asksGive, id: 6, seed: key32(13)}.body(20), 41},
			{request{what: asksHold, id: 8, seed: key32(17), scale: -2.5, members: []int32{0, 19}, encoded: []byte("question")},
				append(request{what: asksHold, id: 8, seed: key32(17), scale: -2.5, members: []int32{19, 0}}.body(20), "question"...), 53},
			{request{what: asksSum, scale: .125, encoded: []byte("question")},
				append(request{what: asksSum, scale: .125}.body(20), "question"...), 10},
			{request{what: asksPass, scale: 3, members: []int32{4, 2, 19}, encoded: []byte("pass")},
				append(request{what: asksPass, scale: 3, members: []int32{4, 2, 19}}.body(20), "pass"...), 14},
		},
		"result": {
			{result{sum: []int64{math.MinInt64, -1, math.MaxInt64}}, result{sum: []int64{math.MinInt64, -1, math.MaxInt64}}.body(), 25},
			{result{err: row.ErrUnread}, result{err: row.ErrUnread}.body(), 1},
			{result{err: engine.ErrIncomplete}, result{err: engine.ErrIncomplete}.body(), 1},
			{result{err: errors.New("why")}, result{err: errors.New("why")}.body(), 1},
		},
		"text": {{result{text: []byte("text")}, result{text: []byte("text")}.body(), 1}},
	} {
		for i, m := range list {
			got, err := decoders[name](m.body)
			if err != nil || !reflect.DeepEqual(got, m.message) {
				t.Errorf("%s %d: %+v, %v: must be %+v", name, i, got, err, m.message)
			}
			for cut := range m.least {
				if _, err := decoders[name](m.body[:cut]); err != errMessage {
					t.Errorf("%s %d of %d bytes, cut to %d: error %v", name, i, len(m.body), cut, err)
				}
			}
			if _, err := decoders[name](m.body[:m.least]); err != nil {
				t.Errorf("%s %d, cut to %d: error %v", name, i, m.least, err)
			}
		}
	}
	if _, err := read[readyMessage](append(readyMessage{rows: 3}.body(), 0)); err != errMessage {
		t.Errorf("a longer message that rows are held: %v", err)
	}
}

// TestOddMessagesAreRefused tests messages of the right form with a number beyond its range, each with one change to a
// message that is read.
func TestOddMessagesAreRefused(t *testing.T) {
	changed := func(b []byte, at int, to byte) []byte {
		b = slices.Clone(b)
		b[at] = to
		return b
	}
	tags := func(from, count byte) []byte { return []byte{asksTags, from, count} }
	sum := request{what: asksSum, scale: 1, members: []int32{1, 2, 3, 4, 19}}.body(20) // a bitmap of three bytes at the end
	one := request{what: asksSum, scale: 1, members: []int32{19}}.body(20)
	pass := request{what: asksPass, scale: 1, members: []int32{19}}.body(20)
	for i, m := range []struct {
		kind string
		body []byte
	}{
		{"hello", changed(Hello{Version: "v1"}.body(), 0, 'S')},
		{"hello", Hello{Version: strings.Repeat("v", 201)}.body()},
		{"hello", Hello{Partition: mostPartitions + 1}.body()},
		{"hello", Hello{Attempt: math.MaxInt32 + 1}.body()},
		{"setup", setup{silence: time.Millisecond - 1}.body()},
		{"setup", setup{silence: (math.MaxInt32 + 1) * time.Millisecond}.body()},
		{"holds", readyMessage{rows: math.MaxInt32 + 1}.body()},
		{"holds", readyMessage{dim: math.MaxInt32 + 1}.body()},
		{"request", tags(20, 1)}, {"request", tags(0, 21)}, {"request", tags(21, 0)}, {"request", append(tags(0, 1), 0)},
		{"request", changed(sum, 0, asksRest)},
		{"request", changed(sum, 9, 9)},
		{"request", changed(sum, len(sum)-1, 1<<4)}, // row 20
		{"request", changed(one, len(one)-1, 20)},
		{"request", changed(pass, len(pass)-1, 2*20)},
		{"request", changed(pass, len(pass)-1, 1)}, // row -1
		{"result", []byte{answeredRefused + 1}},
		{"result", make([]byte, 26)},
		{"result", changed(make([]byte, 25), 0, answeredRefused+1)},
		{"text", []byte{answeredRefused + 1, 'x'}},
	} {
		if got, err := decoders[m.kind](m.body); err != errMessage {
			t.Errorf("case %d, %s: %+v, error %v", i, m.kind, got, err)
		}
	}
	for _, version := range []byte{protocol - 1, protocol + 1} {
		if _, err := read[Hello](changed(Hello{}.body(), 16, version)); err == nil || err == errMessage {
			t.Errorf("version %d of the protocol: %v", version, err)
		}
	}
	if _, _, err := readNumber(make([]byte, 7)); err != errMessage {
		t.Error(err)
	}
	if id, rest, err := readNumber(numbered(1<<40+3, []byte("rest"))); id != 1<<40+3 || string(rest) != "rest" || err != nil {
		t.Error(id, rest, err)
	}
}
