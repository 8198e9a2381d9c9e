package runfolder

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stillpoint-dp/stillpoint/internal/train"
)

// small mounts a file system with the given number of bytes on the scene's output folder. It
// skips the test for users other than root.
func (s scene) small(t *testing.T, bytes int) {
	t.Helper()
	if err := os.MkdirAll(s.out, 0o777); err != nil {
		t.Fatal(err)
	}
	err := syscall.Mount("tmpfs", s.out, "tmpfs", 0, fmt.Sprintf("size=%d", bytes))
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.ENODEV) {
		t.Skip("mounting: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(s.out, 0); err != nil {
			t.Error(err)
		}
	})
}

func (s scene) enlarge(t *testing.T) {
	t.Helper()
	if err := syscall.Mount("tmpfs", s.out, "tmpfs", syscall.MS_REMOUNT, "size=16777216"); err != nil {
		t.Fatal(err)
	}
}

// TestFullDisk: on a disk of any size, a fit ends before anything is charged, or with both files. If the
// journal fills the disk, the fit makes fewer steps than planned and writes both files, whose space was
// reserved before. If the last line of the ledger could not be written, Recover writes it once there is
// space.
func TestFullDisk(t *testing.T) {
	ends := map[string]int{}
	by := 9
	if testing.Short() {
		by = 27
	}
	for pages := 1; pages < 190; pages += by {
		t.Run(fmt.Sprint(pages), func(t *testing.T) {
			s := newScene(t, "gd")
			// The run has many small steps, so that the journal outgrows the space reserved at first.
			write(t, s.config(), peopleYAML+"train: {algorithm: gd, steps: 300}\n")
			s.small(t, pages*4096)
			c, o, err := s.begin(func() {})
			if err != nil {
				t.Fatal(err)
			}
			answers := 0
			o.Step = func(train.Step) { answers++ }
			f, err := fit(context.Background(), c, o)
			before := s.state(t)
			wholeFiles(t, before)
			switch {
			case err == nil:
				ends["whole"]++
			case !errors.Is(err, syscall.ENOSPC):
				t.Fatalf("error %v: must be the disk's", err)
			case strings.Contains(err.Error(), "nothing was charged") || answers == 0:
				ends["refused"]++
				if len(reservations(t, before.ledger)) != 0 || answers > 0 || before.model != nil {
					t.Errorf("refused, and charged or released: %v", err)
				}
			case f != nil:
				ends["stopped"]++
				if r := verified(t, f); r.Complete || r.Events < f.Result.Steps || answers != f.Result.Steps {
					t.Errorf("stopped: %+v, certified %+v", f.Result, r)
				}
			default:
				ends["unsettled"]++
			}
			s.enlarge(t)
			if len(reservations(t, before.ledger)) > 0 {
				s.recovers(t, answers)
			}
			if later := s.fit(t); len(later.Earlier) != len(reservations(t, before.ledger)) {
				t.Errorf("the next fit sees %d earlier", len(later.Earlier))
			}
			s.nothingElse(t)
		})
	}
	for _, end := range []string{"refused", "stopped", "whole"} {
		if len(ends) > 0 && ends[end] == 0 {
			t.Errorf("no fit ended %s: the test shows less than it says: %v", end, ends)
		}
	}
}
