//go:build unix

package engine

import (
	"math/rand/v2"
	"testing"

	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
)

// This file is separate so that it can be left out of an earlier version, which stores all features
// of rows. Without this file, the benchmark writes out all features of the same records.
func init() {
	adultRows = func(b *testing.B, n int) *row.Table {
		groups, at := []row.Group(nil), 6
		for _, g := range adultGroups {
			groups = append(groups, row.Group{First: at, Width: g})
			at += g
		}
		l, err := row.NewLayout(at, groups)
		if err != nil {
			b.Fatal(err)
		}
		t, err := row.NewTableOf(l, 0)
		if err != nil {
			b.Fatal(err)
		}
		r, x, in := rand.New(rand.NewPCG(1, 4)), make([]float32, 6), make([]uint32, len(groups))
		for range n {
			for j := range x {
				x[j] = r.Float32() / 4
			}
			for k, g := range adultGroups {
				in[k] = uint32(r.IntN(g))
			}
			t.AppendCoded(x, .25, in, float64(2*r.IntN(2)-1), true)
		}
		return t
	}
}
