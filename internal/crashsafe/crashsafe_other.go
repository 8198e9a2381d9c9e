//go:build !unix && !windows

package crashsafe

import (
	"errors"
	"os"
)

var errSystem = errors.New("is not possible on this system")

func divert(string) (*os.File, error) { return nil, errSystem }

func noImage() error { return errSystem }
