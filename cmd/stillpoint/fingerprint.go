package main

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/table"
)

// fingerprint returns a keyed hash of a table's header and cells, in order, as hexadecimal digits. A copy of
// a table has the same fingerprint, even if only one of the two is compressed. The key is hashed before and
// after the table, as in HMAC, so that a fingerprint reveals nothing to anybody without the key.
func fingerprint(ctx context.Context, path string, as dataset.CSV, key string) (string, error) {
	t, err := table.Open([]string{path}, as)
	if err != nil {
		return "", err
	}
	defer t.Close()
	inner := sha256.New()
	inner.Write([]byte("inner " + key))
	add := func(cells []string) {
		inner.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(cells))))
		for _, cell := range cells {
			inner.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(cell))))
			inner.Write([]byte(cell))
		}
	}
	add(t.Header())
	for {
		cells, ok, err := t.Next()
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return "", err
		}
		if !ok {
			break
		}
		add(cells)
	}
	outer := sha256.Sum256(append([]byte("outer "+key), inner.Sum(nil)...))
	return hex.EncodeToString(outer[:]), nil
}
