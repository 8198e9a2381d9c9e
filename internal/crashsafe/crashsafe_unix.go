//go:build unix

package crashsafe

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// divert opens the null device at the path device as file descriptor 2. It returns a copy of the
// descriptor's former file.
func divert(device string) (*os.File, error) {
	null, err := os.OpenFile(device, os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	// Some containers have a regular file at this path. It would keep the output that is to be discarded.
	if info, err := null.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return nil, errors.Join(errors.New(device+": must be a character device"), err)
	}
	private, err := unix.Dup(2)
	if err != nil {
		return nil, err
	}
	unix.CloseOnExec(private)
	if err := unix.Dup2(int(null.Fd()), 2); err != nil {
		unix.Close(private)
		return nil, err
	}
	return os.NewFile(uintptr(private), "/dev/stderr"), nil
}
