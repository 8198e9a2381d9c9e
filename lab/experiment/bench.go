package experiment

import (
	"fmt"
	"sync"

	"github.com/stillpoint-dp/stillpoint/stationarity"
)

// bench caches families and plans, since several runs use the same ones.
type bench struct {
	mu       sync.Mutex
	families map[string]*drawn
	plans    map[string]planned
	own      own
}

// drawn is a family whose rows are drawn when the first run needs them. fresh has the fresh rows for
// population gradients; it is empty if none are asked for.
type drawn struct {
	once   sync.Once
	family *Family
	fresh  stationarity.Sample
	err    error
}

func newBench() *bench {
	return &bench{families: map[string]*drawn{}, plans: map[string]planned{}}
}

func (b *bench) family(c Trial) (*Family, stationarity.Sample, error) {
	key := fmt.Sprint(c.Family, " ", c.Dim, " ", c.Rows, " ", c.FamilySeed, " ", c.Population)
	b.mu.Lock()
	f := b.families[key]
	if f == nil {
		f = new(drawn)
		b.families[key] = f
	}
	b.mu.Unlock()
	f.once.Do(func() {
		if f.family, f.err = NewFamily(c.Family, c.Dim, c.Rows, c.FamilySeed); f.err == nil && c.Population > 0 {
			f.fresh, f.err = f.family.Fresh(c.Population, 1)
		}
	})
	return f.family, f.fresh, f.err
}
