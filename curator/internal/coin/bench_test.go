package coin

import (
	"fmt"
	"testing"
)

// BenchmarkHeads measures 64 coins, one for each of as many records.
func BenchmarkHeads(b *testing.B) {
	for _, p := range []float64{.001, .1, .5} {
		b.Run(fmt.Sprint(p), func(b *testing.B) {
			s := Simulated([32]byte{5})
			var all uint64
			for b.Loop() {
				all |= s.Heads(p, 64)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/64, "ns/record")
			if all == 0 {
				b.Error("no coin of any word is 1")
			}
		})
	}
}
