package durabletest

import (
	"io"
	"io/fs"
	"path/filepath"
)

// file is an open file.
type file struct {
	disk   *Disk
	path   string
	id     int
	at     int64 // offset of the next Read or Write
	append bool
}

func (f *file) size() int64 { return int64(len(f.disk.now.nodes[f.id].data)) }

// Read implements durable.File.
func (f *file) Read(p []byte) (int, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if f.at >= f.size() {
		return 0, io.EOF
	}
	n := copy(p, f.disk.now.nodes[f.id].data[f.at:])
	f.at += int64(n)
	return n, nil
}

// Write implements durable.File.
func (f *file) Write(p []byte) (int, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if f.append {
		f.at = f.size()
	}
	if err := f.do(Op{Kind: "write", at: f.at, data: p}); err != nil {
		return len(p) / 2, err
	}
	f.at += int64(len(p))
	return len(p), nil
}

// WriteAt implements durable.File.
func (f *file) WriteAt(p []byte, at int64) (int, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if err := f.do(Op{Kind: "write", at: at, data: p}); err != nil {
		return len(p) / 2, err
	}
	return len(p), nil
}

// Truncate implements durable.File.
func (f *file) Truncate(size int64) error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	return f.do(Op{Kind: "truncate", at: size})
}

// Reserve implements durable.File.
func (f *file) Reserve(size int64) error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	return f.do(Op{Kind: "reserve", at: size})
}

// Sync implements durable.File.
func (f *file) Sync() error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	return f.do(Op{Kind: "sync"})
}

func (f *file) do(o Op) error {
	o.Path, o.node = f.path, f.id
	return f.disk.do(o)
}

// Stat implements durable.File.
func (f *file) Stat() (fs.FileInfo, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	return f.disk.now.info(f.id, filepath.Base(f.path)), nil
}

// Close implements durable.File.
func (f *file) Close() error { return nil }
