package loss_test

import (
	"testing"

	"github.com/stillpoint-dp/stillpoint/internal/losscheck"
	"github.com/stillpoint-dp/stillpoint/loss"
)

// TestBitsAgreeAcrossMachines compares hashes of each loss's results with golden values, so that
// results have the same bits on every machine. The goldens were computed by this code on amd64.
// They were the same without the processor's fused multiply-add (GODEBUG=cpu.fma=off) and as a
// 32-bit program (GOARCH=386). Every loss has a golden in its row of registered. A machine on which this test
// fails would compute other contributions from the same rows: correct the code, not the goldens.
func TestBitsAgreeAcrossMachines(t *testing.T) {
	goldens := map[string]uint64{
		"softmax(7)":                            0x474177ac643de421,
		"weighted(hinge,0.3,2)":                 0xce3802fdd247133b,
		"weighted(softmax(3),1,2,0.3)":          0x75e2008164aa9f79,
		"network(3,tanh,logistic)":              0x3688339edbac8d3d,
		"network(4-3,relu,softmax(3),clip=0.5)": 0x07805f82787b8d5b,
	}
	for _, row := range registered {
		goldens[row.bits] = row.hash
	}
	for name, want := range goldens {
		l, err := loss.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := losscheck.Bits(l); got != want {
			t.Errorf("%s: %#016x, want %#016x", name, got, want)
		}
	}
}
