//go:build unix

package regularfile

import (
	"io/fs"
	"syscall"
	"testing"
)

// numbered is a file with the given numbers.
type numbered struct {
	fs.FileInfo
	stat syscall.Stat_t
}

func (n *numbered) Sys() any { return &n.stat }

// TestNumbersOfFiles tests that files have one identity if both their numbers are equal, and another if one differs: two
// disks may number their files alike.
func TestNumbersOfFiles(t *testing.T) {
	of := func(device, inode uint64) fs.FileInfo {
		n := new(numbered)
		for range device { // the types of the numbers are those of the system
			n.stat.Dev++
		}
		for range inode {
			n.stat.Ino++
		}
		return n
	}
	numbers := []uint64{1, 2, 7}
	for _, d1 := range numbers {
		for _, i1 := range numbers {
			if device, inode, ok := Number(of(d1, i1)); device != d1 || inode != i1 || !ok {
				t.Errorf("device %d, number %d: %d, %d, %v", d1, i1, device, inode, ok)
			}
			for _, d2 := range numbers {
				for _, i2 := range numbers {
					if got, want := IdentityOf(of(d1, i1)) == IdentityOf(of(d2, i2)), d1 == d2 && i1 == i2; got != want {
						t.Errorf("file %d of device %d and file %d of device %d have one identity: %v", i1, d1, i2, d2, got)
					}
				}
			}
		}
	}
}
