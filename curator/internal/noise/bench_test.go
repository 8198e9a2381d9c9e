package noise

import (
	"testing"

	"github.com/stillpoint-dp/stillpoint/curator/internal/coin"
)

func BenchmarkNormals(b *testing.B) {
	s := coin.Simulated([32]byte{1})
	dst := make([]int64, 4096)
	b.ReportAllocs()
	for b.Loop() {
		Normals(dst, 32, s, 1)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(dst)), "ns/coordinate")
}
