package stillpoint_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/stillpoint-dp/stillpoint"
	"github.com/stillpoint-dp/stillpoint/dataset"
)

// TestFitOverShards tests a fit whose table workers hold in partitions (shards). It must have a
// model, and a certificate with the public number of records. A second table besides the shards,
// and shards without a name for the table, must be refused.
func TestFitOverShards(t *testing.T) {
	spec := short()
	key, err := stillpoint.NewShardKey()
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	spec.Table = stillpoint.Table{}.Named("patients")
	spec.Schema = ageAlone(t)
	spec.Shards = &stillpoint.Shards{Count: 2, Key: key, Listening: func(address string) {
		for i := range 2 {
			all.Go(func() {
				var text strings.Builder
				text.WriteString("age,ill\n")
				for j := range 2000 {
					text.WriteString([]string{"25,no\n", "80,yes\n", "90,no\n"}[(j+i)%3])
				}
				w := stillpoint.ShardWorker{Connect: address, Key: key, Partition: i, Reader: strings.NewReader(text.String())}
				if err := stillpoint.ServeShard(t.Context(), w); err != nil {
					t.Error(err)
				}
			})
		}
	}}
	r, err := stillpoint.Fit(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	all.Wait()
	if r.Planned.Records != 4000 || r.Model == nil || r.Certificate == nil {
		t.Errorf("%v records", r.Planned.Records)
	}
	for want, change := range map[string]func(s *stillpoint.Spec){
		"must be left out but for its name": func(s *stillpoint.Spec) { s.Table = stillpoint.CSV("people.csv") },
		"a public name":                     func(s *stillpoint.Spec) { s.Table = stillpoint.Table{} },
		"shards: must be left out": func(s *stillpoint.Spec) {
			*s = stillpoint.Spec{Config: &stillpoint.Config{}, Shards: s.Shards}
		},
		"each worker has its own": func(s *stillpoint.Spec) { s.Memory.Gigabytes = 1 },
	} {
		s := spec
		s.Shards = &stillpoint.Shards{Count: 2, Key: key}
		change(&s)
		ctx, stop := context.WithCancel(t.Context())
		stop()
		if _, err := stillpoint.Fit(ctx, s); err == nil || errors.Is(err, context.Canceled) ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// ageAlone returns the schema of a table with an age and a diagnosis.
func ageAlone(t *testing.T) *dataset.Schema {
	t.Helper()
	s := new(dataset.Schema)
	if err := yaml.Unmarshal([]byte("columns:\n  age: {number: [0, 100]}\ntarget: {column: ill, classes: [\"no\", \"yes\"]}\n"), s); err != nil {
		t.Fatal(err)
	}
	return s
}
