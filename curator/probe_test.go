package curator_test

import (
	"context"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/curator"
	"github.com/stillpoint-dp/stillpoint/loss"
)

// broken is a loss that fails in one of its methods.
type broken struct {
	loss.RankOne
	values, slopes func(dst, z, y []float64)
}

func (broken) Name() string { return "broken" }

func (b broken) Values(dst, z, y []float64) {
	if b.values != nil {
		b.values(dst, z, y)
		return
	}
	b.RankOne.Values(dst, z, y)
}

func (b broken) Slopes(dst, z, y []float64) {
	if b.slopes != nil {
		b.slopes(dst, z, y)
		return
	}
	b.RankOne.Slopes(dst, z, y)
}

// brokenGeneral is a general loss that fails in one of its methods.
type brokenGeneral struct {
	loss.Loss
	value    func() float64
	gradient func(dst []float64)
}

func (brokenGeneral) Name() string { return "broken" }

func (b brokenGeneral) Value([]float64, []float32, float64) float64 { return b.value() }

func (b brokenGeneral) Gradient(dst, _ []float64, _ []float32, _ float64) { b.gradient(dst) }

// TestLossesThatFailAreRefused: Open must refuse a loss under which every record would be faulty. The error
// must name the loss and show nothing of its panic. Open must refuse before it reads the table, which does
// not exist here.
func TestLossesThatFailAreRefused(t *testing.T) {
	c := config(t, "no such file.csv")
	sound := c.Loss.(loss.RankOne)
	vices := map[string]func(dst []float64){
		"panics":             func([]float64) { panic("row 17") },
		"panics with nil":    func([]float64) { panic(nil) },
		"ends its goroutine": func([]float64) { runtime.Goexit() },
		"out of bounds":      func(dst []float64) { dst[len(dst)] = 1 },
		"writes nothing":     func([]float64) {},
		"NaN":                func(dst []float64) { clear(dst); dst[len(dst)-1] = math.NaN() },
		"infinity":           func(dst []float64) { clear(dst); dst[0] = math.Inf(-1) },
	}
	for name, v := range vices {
		one := func(dst, _, _ []float64) { v(dst) }
		ofLabel := func(dst, _, y []float64) {
			if clear(dst); y[0] > 0 {
				dst[0] = math.NaN()
				v(dst)
			}
		}
		value := func() float64 { dst := []float64{math.NaN()}; v(dst); return dst[0] }
		for form, l := range map[string]loss.Loss{
			"value": broken{sound, one, nil}, "slope": broken{sound, nil, one}, "one label": broken{sound, nil, ofLabel},
			"general value":    brokenGeneral{sound, value, func(dst []float64) { clear(dst) }},
			"general gradient": brokenGeneral{sound, func() float64 { return 0 }, v},
		} {
			c.Loss = l
			_, err := curator.Open(context.Background(), c)
			if err == nil || !strings.Contains(err.Error(), "loss broken") || strings.Contains(err.Error(), "17") {
				t.Errorf("%s, %s: %v", name, form, err)
			}
		}
	}
	// A loss may fail at one margin of one target, and at targets and margins that no record has.
	for _, x := range []struct {
		margin, target float64
		refused        bool
	}{{0, -1, true}, {1, -1, true}, {0, 1, true}, {1, 1, true}, {0, 0, false}, {-1, 1, false}, {2, 1, false}} {
		c.Loss = broken{sound, func(dst, z, y []float64) {
			if sound.Values(dst, z, y); z[0] == x.margin && y[0] == x.target {
				panic("row 17")
			}
		}, nil}
		if _, err := curator.Open(context.Background(), c); err == nil || strings.Contains(err.Error(), "loss broken") != x.refused {
			t.Errorf("at the margin %v of target %v: %v", x.margin, x.target, err)
		}
	}
	c.Loss = brokenGeneral{sound, func() float64 { return 0 }, func(dst []float64) { clear(dst) }}
	if _, err := curator.Open(context.Background(), c); err == nil || strings.Contains(err.Error(), "loss broken") {
		t.Errorf("a loss of zero: %v", err)
	}
}
