//go:build !small

package parquet

import (
	"bytes"

	"github.com/andybalholm/brotli"
)

func unbrotli(dst, src []byte) error { return fill(dst, brotli.NewReader(bytes.NewReader(src))) }
