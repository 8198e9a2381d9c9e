// Package durabletest provides a file system in memory that records every operation and can construct the state after a
// crash at any point. A test cannot cut the power of a real disk between a write and its sync. With this file system,
// packages durable and runfolder are tested with a crash after every operation.
package durabletest

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/stillpoint-dp/stillpoint/internal/durable"
	"github.com/stillpoint-dp/stillpoint/internal/holder"
)

// Disk is a file system in memory. Paths are relative to its root. It is safe
// for concurrent use.
type Disk struct {
	// Fail, if not nil, is called before every operation that changes or syncs something. If Fail returns
	// an error, the operation fails with this error. A write that fails writes half of its data.
	Fail func(Op) error

	// process is the number of the process that uses the disk. After a crash it is another one.
	process int

	mu   sync.Mutex
	base *tree // state before the first operation
	now  *tree
	ops  []Op
	held map[int]bool // locked files
}

var (
	_ durable.Disk   = (*Disk)(nil)
	_ holder.Machine = (*Disk)(nil)
)

// Self returns the identity of the process that uses the disk.
func (d *Disk) Self() holder.Process {
	return holder.Process{Host: "test", Boot: "1", Space: "1", ID: d.process, Start: "1"}
}

// Ended reports whether a process has ended. Each crash ends the process that used the disk before it.
func (d *Disk) Ended(p holder.Process) (ended, known bool) { return p.ID < d.process, p.Host == "test" }

// New returns an empty disk.
func New() *Disk { return from(newTree()) }

func from(t *tree) *Disk { return &Disk{base: t, now: t.clone(), held: map[int]bool{}} }

// Op is an operation that changes or syncs something.
type Op struct {
	// Kind is mkdir, create, write, truncate, reserve, sync, rename, remove or
	// sync-folder.
	Kind string
	// Path is the file or folder of the operation. To is the new name in a rename.
	Path, To string

	node, dir int
	at        int64
	data      []byte
}

func (o Op) String() string { return strings.TrimSpace(o.Kind + " " + o.Path + " " + o.To) }

// Ops returns the operations so far.
func (d *Disk) Ops() []Op {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.ops)
}

// Crash returns, as a separate disk, the state that a crash after the first n operations leaves.
// f decides which of the unsynced operations survive.
func (d *Disk) Crash(n int, f Fate) *Disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	t := d.base.clone()
	for _, o := range d.ops[:n] {
		t.apply(o)
	}
	left := from(t.crash(f))
	left.process = d.process + 1
	return left
}

// do performs an operation and records it, unless the function Fail returns an error.
func (d *Disk) do(o Op) error {
	if d.Fail != nil {
		if err := d.Fail(o); err != nil {
			if half := len(o.data) / 2; o.Kind == "write" && half > 0 {
				o.data = o.data[:half]
				d.ops = append(d.ops, o)
				d.now.apply(o)
			}
			return &fs.PathError{Op: o.Kind, Path: o.Path, Err: err}
		}
	}
	o.data = slices.Clone(o.data)
	d.ops = append(d.ops, o)
	d.now.apply(o)
	return nil
}

func missing(op, path string) error { return &fs.PathError{Op: op, Path: path, Err: fs.ErrNotExist} }

// parent returns the folder that contains path, and the last name of path.
func (d *Disk) parent(op, path string) (dir int, name string, err error) {
	dir, ok := d.now.find(filepath.Dir(path))
	if !ok {
		return 0, "", missing(op, path)
	}
	if !d.now.nodes[dir].folder() {
		return 0, "", &fs.PathError{Op: op, Path: path, Err: syscall.ENOTDIR}
	}
	return dir, filepath.Base(path), nil
}

func (d *Disk) add(kind, path string) (id int, err error) {
	dir, name, err := d.parent(kind, path)
	if err != nil {
		return 0, err
	}
	if _, taken := d.now.nodes[dir].names[name]; taken {
		return 0, &fs.PathError{Op: kind, Path: path, Err: fs.ErrExist}
	}
	id = d.now.next
	return id, d.do(Op{Kind: kind, Path: path, dir: dir, node: id})
}

// Mkdir implements durable.Disk.
func (d *Disk) Mkdir(path string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, err := d.add("mkdir", path)
	return err
}

// Create implements durable.Disk.
func (d *Disk) Create(path string, _ durable.Access) (durable.File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	id, err := d.add("create", path)
	if err != nil {
		return nil, err
	}
	return &file{disk: d, path: path, id: id}, nil
}

func (d *Disk) open(path string) (*file, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	id, ok := d.now.find(path)
	if !ok {
		return nil, missing("open", path)
	}
	if d.now.nodes[id].folder() {
		return nil, fmt.Errorf("%s: %w", path, durable.ErrIrregular)
	}
	return &file{disk: d, path: path, id: id}, nil
}

// Open implements durable.Disk.
func (d *Disk) Open(path string) (durable.File, error) {
	f, err := d.open(path)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Append implements durable.Disk.
func (d *Disk) Append(path string) (durable.File, error) {
	f, err := d.open(path)
	if err != nil {
		return nil, err
	}
	f.append = true
	return f, nil
}

// Update implements durable.Disk.
func (d *Disk) Update(path string) (durable.File, error) { return d.Open(path) }

// Stat implements durable.Disk.
func (d *Disk) Stat(path string) (fs.FileInfo, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	id, ok := d.now.find(path)
	if !ok {
		return nil, missing("stat", path)
	}
	return d.now.info(id, filepath.Base(path)), nil
}

// Lstat implements durable.Disk. It does the same as Stat, since this disk has no links.
func (d *Disk) Lstat(path string) (fs.FileInfo, error) { return d.Stat(path) }

// ReadDir implements durable.Disk.
func (d *Disk) ReadDir(path string) ([]fs.DirEntry, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	id, ok := d.now.find(path)
	if !ok {
		return nil, missing("open", path)
	}
	var list []fs.DirEntry
	for name, child := range d.now.nodes[id].names {
		list = append(list, fs.FileInfoToDirEntry(d.now.info(child, name)))
	}
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list, nil
}

// MayReplace implements durable.Disk.
func (d *Disk) MayReplace(path string) error {
	if info, err := d.Stat(path); err == nil && info.IsDir() {
		return fmt.Errorf("%s: %w", path, durable.ErrIrregular)
	}
	return nil
}

// Rename implements durable.Disk.
func (d *Disk) Rename(from, to string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	id, ok := d.now.find(from)
	if !ok {
		return missing("rename", from)
	}
	dir, _, err := d.parent("rename", to)
	if err != nil {
		return err
	}
	if there, taken := d.now.find(to); taken && d.now.nodes[there].folder() {
		return &fs.PathError{Op: "rename", Path: to, Err: fs.ErrExist}
	}
	return d.do(Op{Kind: "rename", Path: from, To: to, dir: dir, node: id})
}

// Remove implements durable.Disk.
func (d *Disk) Remove(path string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	dir, _, err := d.parent("remove", path)
	if err != nil {
		return err
	}
	if _, ok := d.now.find(path); !ok {
		return missing("remove", path)
	}
	return d.do(Op{Kind: "remove", Path: path, dir: dir})
}

// SyncFolder implements durable.Disk.
func (d *Disk) SyncFolder(path string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	id, ok := d.now.find(path)
	if !ok {
		return missing("sync-folder", path)
	}
	return d.do(Op{Kind: "sync-folder", Path: path, dir: id})
}

// Lock locks a file, which it creates if it does not exist. If the file is locked already, it returns
// held = true and no unlock. Otherwise unlock releases the lock. As in a real file system, a file that takes the
// place of a locked one is not locked.
func (d *Disk) Lock(path string) (unlock func(), held bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	id, there := d.now.find(path)
	if !there {
		if id, err = d.add("create", path); err != nil {
			return nil, false, err
		}
	}
	if d.held[id] {
		return nil, true, nil
	}
	d.held[id] = true
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.held, id)
	}, false, nil
}

// Put creates a file with a text, and the missing folders above it, and makes the result stable
// ([Disk.Settle]).
func (d *Disk) Put(path, text string) {
	if err := durable.MakeFolder(d, filepath.Dir(path)); err != nil {
		panic(err)
	}
	_ = d.Remove(path)
	f, err := d.Create(path, durable.Public)
	if err != nil {
		panic(err)
	}
	if err := durable.Fill(f, []byte(text)); err != nil {
		panic(err)
	}
	if err := d.SyncFolder(filepath.Dir(path)); err != nil {
		panic(err)
	}
	d.Settle()
}

// Settle makes the current state stable, as if everything had been synced, and clears the list of
// operations.
func (d *Disk) Settle() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.base = d.now.crash(Kept{})
	d.now, d.ops = d.base.clone(), nil
}

// Text returns the content of a file. ok is false if path is not a file.
func (d *Disk) Text(path string) (text string, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	id, ok := d.now.find(path)
	if !ok || d.now.nodes[id].folder() {
		return "", false
	}
	return string(d.now.nodes[id].data), true
}

// Tree returns a text with the paths of all files and folders and the contents of all files, in the order of
// their names.
func (d *Disk) Tree() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var b strings.Builder
	d.now.write(&b, root, ".")
	return b.String()
}
