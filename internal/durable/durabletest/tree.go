package durabletest

import (
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// tree is the state of a disk in memory: its files and folders, each with its unsynced operations.
type tree struct {
	nodes map[int]*node
	next  int
}

const root = 0

// node is a file or a folder. It has a visible state, a state on stable storage, and the unsynced
// operations that lead from the state on stable storage to the visible state.
type node struct {
	names       map[string]int // nil for a file
	stableNames map[string]int
	data        []byte
	stableData  []byte
	pending     []Op
}

func (n *node) folder() bool { return n.names != nil }

func newTree() *tree {
	return &tree{map[int]*node{root: {names: map[string]int{}, stableNames: map[string]int{}}}, root + 1}
}

func (t *tree) clone() *tree {
	c := &tree{map[int]*node{}, t.next}
	for id, n := range t.nodes {
		c.nodes[id] = &node{maps.Clone(n.names), maps.Clone(n.stableNames), slices.Clone(n.data), slices.Clone(n.stableData),
			slices.Clone(n.pending)}
	}
	return c
}

func (t *tree) find(path string) (id int, ok bool) {
	for name := range strings.SplitSeq(filepath.ToSlash(filepath.Clean(path)), "/") {
		if name == "." || name == "" {
			continue
		}
		n := t.nodes[id]
		if !n.folder() {
			return 0, false
		}
		if id, ok = n.names[name]; !ok {
			return 0, false
		}
	}
	return id, true
}

func (t *tree) apply(o Op) {
	switch o.Kind {
	case "mkdir":
		t.nodes[o.node] = &node{names: map[string]int{}, stableNames: map[string]int{}}
	case "create":
		t.nodes[o.node] = &node{}
	}
	switch o.Kind {
	case "mkdir", "create":
		t.next = max(t.next, o.node+1)
		fallthrough
	case "rename", "remove":
		n := t.nodes[o.dir]
		o.rename(n.names)
		n.pending = append(n.pending, o)
	case "write", "truncate", "reserve":
		n := t.nodes[o.node]
		n.data = o.edit(n.data)
		n.pending = append(n.pending, o)
	case "sync":
		n := t.nodes[o.node]
		n.stableData, n.pending = slices.Clone(n.data), nil
	case "sync-folder":
		n := t.nodes[o.dir]
		n.stableNames, n.pending = maps.Clone(n.names), nil
	}
}

// rename applies the operation to names, the entries of a folder. The operation is mkdir, create, rename or
// remove.
func (o Op) rename(names map[string]int) {
	switch o.Kind {
	case "mkdir", "create":
		names[filepath.Base(o.Path)] = o.node
	case "rename":
		delete(names, filepath.Base(o.Path))
		names[filepath.Base(o.To)] = o.node
	case "remove":
		delete(names, filepath.Base(o.Path))
	}
}

// edit returns the content of a file after the operation (write, truncate or reserve) if data is its
// content before.
func (o Op) edit(data []byte) []byte {
	data = slices.Clone(data)
	size := int(o.at) + len(o.data)
	if size > len(data) {
		data = append(data, make([]byte, size-len(data))...)
	}
	copy(data[o.at:], o.data)
	if o.Kind == "truncate" {
		data = data[:o.at]
	}
	return data
}

// Fate decides which of the unsynced operations survive a crash.
type Fate interface {
	// name reports whether an operation on names survives. The method data returns the operations on
	// a file's content that survive, of which the last may be shortened. If zeros is true, these operations
	// change the length of the file, but write zeros in place of their bytes.
	name(Op) bool
	data(pending []Op) (kept []Op, zeros bool)
}

// Kept is a crash after which no operation is lost, as when only the process ends and not the machine.
type Kept struct{}

func (Kept) name(Op) bool                   { return true }
func (Kept) data(pending []Op) ([]Op, bool) { return pending, false }

// Lost is a crash after which everything that was not synced is lost.
type Lost struct{}

func (Lost) name(Op) bool           { return false }
func (Lost) data([]Op) ([]Op, bool) { return nil, false }

// Names is a crash after which all operations on names survive, synced or not. The unsynced content of files
// is lost. If Zeros is true, files keep their length, and the lost content is zeros.
type Names struct{ Zeros bool }

func (Names) name(Op) bool { return true }
func (f Names) data(pending []Op) ([]Op, bool) {
	if f.Zeros {
		return pending, true
	}
	return nil, false
}

// Some is a crash after which a random subset of the unsynced operations on names survives. Of the unsynced
// operations on each file's content, those before a random point survive.
type Some struct{ Coin *rand.Rand }

func (f Some) name(Op) bool { return f.Coin.IntN(2) == 0 }
func (f Some) data(pending []Op) ([]Op, bool) {
	kept := slices.Clone(pending[:f.Coin.IntN(len(pending)+1)])
	if n := len(kept); n > 0 {
		if last := &kept[n-1]; len(last.data) > 0 {
			last.data = last.data[:f.Coin.IntN(len(last.data)+1)]
		}
	}
	return kept, false
}

// crash returns the state after a crash, where f decides which of the unsynced operations survive.
func (t *tree) crash(f Fate) *tree {
	left := &tree{map[int]*node{}, t.next}
	for _, id := range slices.Sorted(maps.Keys(t.nodes)) {
		n := t.nodes[id]
		if n.folder() {
			names := maps.Clone(n.stableNames)
			for _, o := range n.pending {
				if f.name(o) {
					o.rename(names)
				}
			}
			left.nodes[id] = &node{names: names, stableNames: maps.Clone(names)}
			continue
		}
		data := slices.Clone(n.stableData)
		kept, zeros := f.data(n.pending)
		for _, o := range kept {
			if zeros {
				o.data = make([]byte, len(o.data))
			}
			data = o.edit(data)
		}
		left.nodes[id] = &node{data: data, stableData: slices.Clone(data)}
	}
	return left
}

// info returns what Stat reports about the file or folder with the number id.
func (t *tree) info(id int, name string) fs.FileInfo {
	n := t.nodes[id]
	return info{name, int64(len(n.data)), n.folder(), id}
}

type info struct {
	name   string
	size   int64
	folder bool
	id     int
}

// Identity returns numbers by which a copy of a file differs from it. A file keeps them after a crash.
func (i info) Identity() (device, inode uint64) { return 1, uint64(i.id) + 1 }

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return i.size }
func (i info) ModTime() time.Time { return time.Time{} }
func (i info) IsDir() bool        { return i.folder }
func (i info) Sys() any           { return nil }
func (i info) Mode() fs.FileMode {
	if i.folder {
		return fs.ModeDir | 0o777
	}
	return 0o666
}

func (t *tree) write(b *strings.Builder, id int, path string) {
	n := t.nodes[id]
	fmt.Fprintf(b, "%s %q\n", path, n.data)
	for _, name := range slices.Sorted(maps.Keys(n.names)) {
		t.write(b, n.names[name], path+"/"+name)
	}
}
