//go:build !unix

package durable

import (
	"io/fs"
	"os"
)

const openFlags = 0

func share(*os.File, string) error { return nil }

func mayUnlink(string, fs.FileInfo) error { return nil }
