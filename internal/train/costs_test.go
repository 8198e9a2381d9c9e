package train

import (
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stillpoint-dp/stillpoint/curator"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/query"
)

// TestEstimatesAreSums recomputes estimates of a fit of a million narrow rows, by hand, with one change a case: nanoseconds
// and bytes by the number of rows, cells and queries.
func TestEstimatesAreSums(t *testing.T) {
	const mib = 1 << 20
	work := func(change func(*optimize.Workload)) func(*costs) {
		return func(c *costs) { change(&c.stages[0].work) }
	}
	gradients := func(queries, share float64) func(*costs) {
		return work(func(w *optimize.Workload) { *w = w.Count(query.Gradient, queries, share) })
	}
	for name, c := range map[string]struct {
		change      func(*costs)
		time, bytes float64 // above those of the fit without the change
	}{
		"none":             {func(*costs) {}, 0, 0},
		"chosen":           {func(c *costs) { c.chosen = true }, 14e7, 0},
		"compressed":       {func(c *costs) { c.zipped = true }, 40 * 1e7, 0},
		"parquet":          {func(c *costs) { c.typed = true }, (15 - 60) * 1e7, 10*2*mib - 12*mib},
		"compressed pages": {func(c *costs) { c.typed, c.zipped = true, true }, (15 - 60) * 1e7, 10*2*mib - 12*mib},
		"few rows":         {func(c *costs) { c.rows = 1e4 }, -60 * .99e7, 8*1e5 - 12*mib - 1.4*.99e8},
		"limit":            {func(c *costs) { c.memory = 5e7 }, 0, 5e7 + 5e6 + 8*mib - 1.4e8},
		"wide limit":       {func(c *costs) { c.memory = 2e9 }, 0, 0},
		"limited pages":    {func(c *costs) { c.memory, c.typed = 5e7, true }, (15 - 60) * 1e7, 5e7 + 5e6 + 8*mib - 1.4e8 + 5e7/4 - 12*mib},
		"kept edges":       {func(c *costs) { c.edges = 20 }, 0, 1.4 * 12 * 20 * 1e6},
		"many edges":       {func(c *costs) { c.edges = 30 }, 0, 0},
		"samples":          {work(func(w *optimize.Workload) { w.Samples = 3 }), 3*1.5*1e6 + 9e8, 0},
		"a block":          {work(func(w *optimize.Workload) { w.Block = 10 }), 50 * 50, 0},
		"gradients":        {gradients(4, 1), 4*(1e6*.5*21) + 4*(3e4+50*21), 0},
		"of a half":        {gradients(4, .5), 2*(1e6*.5*21) + 4*(3e4+50*21) + 2*1e6*40, 0},
		"measured": {func(c *costs) {
			gradients(4, 1)(c)
			c.stages[0].pace = curator.Pace{query.Gradient: 7}
		}, 4*1e6*7 + 4*(3e4+50*21), 0},
		"differences": {work(func(w *optimize.Workload) { *w = w.Count(query.Difference, 4, 1) }), 4*(1e6*21) + 4*(3e4+50*21), 0},
		"a metric":    {work(func(w *optimize.Workload) { w.Metrics = 2 }), 2 * (1e6*.04*20*21/2 + .3*20*20*20 + 1e3*20*20), 0},
		"two stages": {func(c *costs) {
			gradients(4, 1)(c)
			c.stages = append(c.stages, c.stages[0])
		}, 8*(1e6*.5*21) + 8*(3e4+50*21), 0},
		"pairs": {work(func(w *optimize.Workload) { *w = w.Count(query.SecondMoment, 1, 1) }),
			1e6*.12*20*21/2 + 3e4 + 50*20*21/2, 8*4*20*21/2 + 40*20*20},
		"lifted": {work(func(w *optimize.Workload) { *w = w.Count(query.MetricGradient, 3, 1) }),
			3*(1e6*.5*21) + 3*(3e4+50*21) + 3*20*21, 0},
		"kept waves": {func(c *costs) { c.waves, c.kept = 40, .25 }, .25 * 1e6 * 40 * 1.2,
			2*.25*1e6*40*4 + 4*(256*1024/100.)*40*4},
		"waves again": {func(c *costs) {
			gradients(4, 1)(c)
			c.waves, c.kept = 40, .25
		}, 4*(1e6*.5*21) + 4*(3e4+50*21) + (.25+.75*4)*1e6*40*1.2, 2*.25*1e6*40*4 + 4*(256*1024/100.)*40*4},
		"kept squares": {func(c *costs) {
			c.row = 4*128 + 12
			c.stages[0].work = c.stages[0].work.Count(query.SquaredSlope, 5, 1)
		}, 1e6*.5*21 + 5*(3e4+50), 1.4*(524-100)*1e6 + 8e6},
	} {
		base := costs{rows: 1e6, cells: 10, row: 100, stages: []stage{{features: 20, weights: 21}}}
		c.change(&base)
		e := base.estimate()
		wantTime, wantBytes := 6e7+60*1e7+c.time, 30*mib+1.4e8+12*mib+c.bytes
		if !(math.Abs(float64(e.Time)-wantTime) <= 2) || !(math.Abs(e.Memory-wantBytes) <= 1) {
			t.Errorf("%s: %v and %.0f bytes: must be %v and %.0f", name, e.Time, e.Memory, time.Duration(wantTime), wantBytes)
		}
	}
}

// TestCostsFollowTheConfiguration compares the public numbers from which a fit's cost is estimated with those of a plain
// configuration: each change of the configuration changes only its own numbers.
func TestCostsFollowTheConfiguration(t *testing.T) {
	const records = 3000
	plain := config(t, records)
	plain.Train.Algorithm = "gd"
	of := func(c *Config) costs {
		t.Helper()
		p, err := c.Plan(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got := p.costs
		got.stages = nil
		return got
	}
	// A row has age and the intercept in eight numbers, the target, and the code of sex.
	base := costs{rows: records, cells: 3, row: 4*8 + 12 + 4 + 2}
	if got := of(plain); !reflect.DeepEqual(got, base) {
		t.Fatalf("%+v: must be %+v", got, base)
	}
	for name, c := range map[string]struct {
		changes []string
		change  func(c *Config)
		want    func(*costs)
	}{
		"auto":    {[]string{"logistic", "logistic, family: lines"}, func(c *Config) { c.Train.Algorithm = "auto" }, func(c *costs) { c.chosen = true }},
		"memory":  {nil, func(c *Config) { c.Memory.Gigabytes = 1.5 }, func(c *costs) { c.memory = 1.5e9 }},
		"public":  {[]string{"note: ignore", "note: {public: [x]}"}, nil, func(c *costs) { c.cells = 4 }},
		"a curve": {[]string{"[0, 100]", "[0, 100], curve: 5"}, nil, func(c *costs) { c.edges = 1 }},
		"a curve where memory is limited": {[]string{"[0, 100]", "[0, 100], curve: 5"}, func(c *Config) { c.Memory.Gigabytes = 1 },
			func(c *costs) { c.memory = 1e9 }},
		"a curve under add-or-remove": {[]string{"[0, 100]", "[0, 100], curve: 5", "replace-one", "add-or-remove, records: 3000"}, nil,
			func(*costs) {}},
		"parquet": {nil, func(c *Config) { c.Data[0] = strings.TrimSuffix(c.Data[0], ".csv") + ".parquet" },
			func(c *costs) { c.typed = true }},
		"gzip": {nil, func(c *Config) { c.Data[0] += ".gz" }, func(c *costs) { c.zipped = true }},
		"zstd": {nil, func(c *Config) { c.Data[0] += ".zst" }, func(c *costs) { c.zipped = true }},
	} {
		k := config(t, records, c.changes...)
		k.Train.Algorithm = "gd"
		k.Privacy.Records = records
		if c.change != nil {
			c.change(k)
		}
		want := base
		if c.want(&want); !reflect.DeepEqual(of(k), want) {
			t.Errorf("%s: %+v: must be %+v", name, of(k), want)
		}
	}
}
