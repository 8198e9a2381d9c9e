//go:build small

package parquet

// unbrotli is nil: a program that was built with -tags small refuses pages in Brotli.
var unbrotli func(dst, src []byte) error
