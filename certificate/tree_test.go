package certificate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// node is a JSON value that keeps the order of members and the text of numbers. A file can be
// parsed into nodes, changed at one node and written again, without any other change.
type node struct {
	keys  []string // of an object; nil otherwise
	items []*node  // of an object or array
	leaf  string   // JSON text of anything else
	array bool
}

func parseNode(t testing.TB, data []byte) *node {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	return readNode(t, decoder)
}

func readNode(t testing.TB, decoder *json.Decoder) *node {
	token, err := decoder.Token()
	if err != nil {
		t.Fatal(err)
	}
	switch token {
	case json.Delim('{'):
		n := &node{keys: []string{}}
		for decoder.More() {
			key, err := decoder.Token()
			if err != nil {
				t.Fatal(err)
			}
			n.keys = append(n.keys, key.(string))
			n.items = append(n.items, readNode(t, decoder))
		}
		decoder.Token()
		return n
	case json.Delim('['):
		n := &node{array: true}
		for decoder.More() {
			n.items = append(n.items, readNode(t, decoder))
		}
		decoder.Token()
		return n
	}
	switch leaf := token.(type) {
	case nil:
		return &node{leaf: "null"}
	case string:
		return &node{leaf: strconv.Quote(leaf)}
	default:
		return &node{leaf: fmt.Sprint(leaf)}
	}
}

func (n *node) text(b *bytes.Buffer) {
	switch {
	case n.keys != nil:
		b.WriteByte('{')
		for i, item := range n.items {
			if i > 0 {
				b.WriteByte(',')
			}
			key, _ := json.Marshal(n.keys[i]) // of a string: no error
			b.Write(append(key, ':'))
			item.text(b)
		}
		b.WriteByte('}')
	case n.array:
		b.WriteByte('[')
		for i, item := range n.items {
			if i > 0 {
				b.WriteByte(',')
			}
			item.text(b)
		}
		b.WriteByte(']')
	default:
		b.WriteString(n.leaf)
	}
}

// file writes the tree in the form of a certificate's file, with the checksum that the tree states.
func (n *node) file(t testing.TB) []byte {
	t.Helper()
	var compact, out bytes.Buffer
	n.text(&compact)
	if err := json.Indent(&out, compact.Bytes(), "", "  "); err != nil {
		t.Fatalf("%v: %s", err, compact.Bytes())
	}
	out.WriteByte('\n')
	return out.Bytes()
}

// sealed writes the tree in the form of a certificate's file, with a recomputed checksum.
func (n *node) sealed(t testing.TB) []byte {
	t.Helper()
	bare := *n
	bare.remove("checksum")
	head := bytes.TrimSuffix(bare.file(t), []byte("\n}\n"))
	return seal(append(head, ",\n"...))
}

func (n *node) at(key string) int {
	for i, k := range n.keys {
		if k == key {
			return i
		}
	}
	return -1
}

func (n *node) get(key string) *node { return n.items[n.at(key)] }

func (n *node) set(key, leaf string) { n.items[n.at(key)] = &node{leaf: leaf} }

func (n *node) remove(key string) {
	if i := n.at(key); i >= 0 {
		n.delete(i)
	}
}

func (n *node) delete(i int) {
	if n.keys != nil {
		n.keys = append(n.keys[:i:i], n.keys[i+1:]...)
	}
	n.items = append(n.items[:i:i], n.items[i+1:]...)
}

func (n *node) insert(i int, key string, item *node) {
	if n.keys != nil {
		n.keys = append(n.keys[:i:i], append([]string{key}, n.keys[i:]...)...)
	}
	n.items = append(n.items[:i:i], append([]*node{item}, n.items[i:]...)...)
}

// alteration is a change of a tree: name describes it, do makes it and undo takes it back.
type alteration struct {
	name     string
	do, undo func()
}

// alterations lists changes of every node of the tree, one place at a time.
func (n *node) alterations(path string) []alteration {
	var list []alteration
	add := func(what string, change func(*node)) {
		before := *n
		list = append(list, alteration{path + ": " + what, func() { change(n) }, func() { *n = before }})
	}
	for _, leaf := range otherLeaves(n) {
		add("becomes "+leaf, func(n *node) { *n = node{leaf: leaf} })
	}
	if n.keys == nil && !n.array {
		return list
	}
	add("empty", func(n *node) {
		n.items = nil
		if n.keys != nil {
			n.keys = []string{}
		}
	})
	extra := &node{leaf: "1"}
	if len(n.items) > 0 && n.array {
		extra = n.items[0]
	}
	add("one more", func(n *node) { n.insert(len(n.items), "extra", extra) })
	for i, item := range n.items {
		key, name := "", memberName(n, path, i)
		if n.keys != nil {
			key = n.keys[i]
			for _, other := range []string{key + "_", strings.ToUpper(key), ""} {
				if other == key {
					continue
				}
				add("key "+key+" becomes "+other, func(n *node) {
					n.keys = slices.Clone(n.keys)
					n.keys[i] = other
				})
			}
		}
		add("without "+name, func(n *node) { n.delete(i) })
		add("twice "+name, func(n *node) { n.insert(i, key, item) })
		if i > 0 && !sameNode(n.items[i-1], item) {
			add("swapped before "+name, func(n *node) {
				moved := n.items[i]
				n.delete(i)
				n.insert(i-1, key, moved)
			})
		}
		list = append(list, item.alterations(name)...)
	}
	return list
}

func sameNode(a, b *node) bool {
	var x, y bytes.Buffer
	a.text(&x)
	b.text(&y)
	return bytes.Equal(x.Bytes(), y.Bytes())
}

func memberName(n *node, path string, i int) string {
	if n.keys != nil {
		return path + "." + n.keys[i]
	}
	return fmt.Sprintf("%s[%d]", path, i)
}

// otherLeaves lists values, all different from n, to put in place of n.
func otherLeaves(n *node) []string {
	candidates := []string{"null", "true", "false", "0", "1", "-1", "1e999", `""`, `"x"`, `"NaN"`, "[]", "{}",
		"1e308", "-1e-300", "5e-324", "9007199254740993", "9223372036854775809"}
	if x, err := strconv.ParseFloat(n.leaf, 64); err == nil {
		for _, factor := range []float64{0.5, 0.999999, 1.000001, 2, -1} {
			candidates = append(candidates, strconv.FormatFloat(x*factor, 'g', -1, 64))
		}
		candidates = append(candidates, strconv.FormatFloat(x+1e6, 'g', -1, 64), strconv.Quote(n.leaf))
	} else if s, err := strconv.Unquote(n.leaf); err == nil {
		for _, other := range []string{s + " ", " " + s, s + s, s + "\u200b", strings.ToUpper(s), s[:max(0, len(s)-1)]} {
			candidates = append(candidates, strconv.Quote(other))
		}
	}
	var list []string
	for _, c := range candidates {
		if c != n.leaf {
			list = append(list, c)
		}
	}
	return list
}
