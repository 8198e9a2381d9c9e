package curator

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/loss"
)

// TestShardsAtTheirLimits tests both sides of each limit of a session over shards: what is within them waits for workers, and
// ends with its context.
func TestShardsAtTheirLimits(t *testing.T) {
	b, err := account.NewBudget(1, 1e-6, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	s, err := dataset.New(dataset.Definition{Columns: []dataset.Column{{Name: "a", Kind: dataset.Number, High: 1}},
		Target: dataset.Target{Column: "y", Kind: dataset.Category, Classes: []string{"no", "yes"}}})
	if err != nil {
		t.Fatal(err)
	}
	key, err := NewShardKey()
	if err != nil {
		t.Fatal(err)
	}
	ended, stop := context.WithCancel(t.Context())
	stop()
	const silence = "curator: shards: silence = %v: must be between 100ms and 24h0m0s, or 0 for 1m0s"
	for name, c := range map[string]struct {
		change func(*Config)
		want   string // "" for a session that waits
	}{
		"nothing":             {func(*Config) {}, ""},
		"the least silence":   {func(c *Config) { c.Shards.Silence = 100 * time.Millisecond }, ""},
		"less silence":        {func(c *Config) { c.Shards.Silence = 100*time.Millisecond - 1 }, fmt.Sprintf(silence, 100*time.Millisecond-1)},
		"the most silence":    {func(c *Config) { c.Shards.Silence = 24 * time.Hour }, ""},
		"more silence":        {func(c *Config) { c.Shards.Silence = 24*time.Hour + 1 }, fmt.Sprintf(silence, 24*time.Hour+1)},
		"silence below 0":     {func(c *Config) { c.Shards.Silence = -1 }, fmt.Sprintf(silence, -time.Nanosecond)},
		"an hour of patience": {func(c *Config) { c.Shards.Patience = time.Hour }, ""},
		"patience below 0":    {func(c *Config) { c.Shards.Patience = -1 }, "curator: shards: patience: must be >= 0"},
		"no key":              {func(c *Config) { c.Shards.Key = ShardKey{} }, "curator: shards: key: must be given"},
		"memory":              {func(c *Config) { c.Memory = 1 }, "curator: shards: memory: must be left out: each worker has its own"},
		"a path":              {func(c *Config) { c.Path = "t.csv" }, "curator: shards: must not be given beside a path, rows or a reader"},
		"paths":               {func(c *Config) { c.Paths = []string{"t.csv"} }, "curator: shards: must not be given beside a path, rows or a reader"},
		"rows":                {func(c *Config) { c.Rows = &Rows{} }, "curator: shards: must not be given beside a path, rows or a reader"},
		"a reader":            {func(c *Config) { c.Reader = strings.NewReader("") }, "curator: shards: must not be given beside a path, rows or a reader"},
		"no partition":        {func(c *Config) { c.Shards.Count = 0 }, "shards: 0: must be between 1 and 1048576"},
		"too many partitions": {func(c *Config) { c.Shards.Count = 1<<20 + 1 }, "shards: 1048577: must be between 1 and 1048576"},
	} {
		config := Config{Schema: s, Loss: loss.Logistic(), Budget: b, Shards: &Shards{Count: 1, Key: key}}
		c.change(&config)
		listened := ""
		config.Shards.Listening = func(address string) { listened = address }
		_, err := Open(ended, config)
		if c.want == "" && (!errors.Is(err, context.Canceled) || !strings.HasPrefix(listened, "127.0.0.1:")) || c.want != "" && (err == nil || err.Error() != c.want) {
			t.Errorf("%s: %v, listening at %q: must be %q", name, err, listened, c.want)
		}
	}
	if defaultSilence != time.Minute || defaultPatience != 10*time.Minute {
		t.Errorf("silence %v, patience %v: must be as the comments of Shards say", defaultSilence, defaultPatience)
	}
}

// TestKeysOfShardsAtTheirLimits tests which texts are a key: 64 hexadecimal digits of at least twelve different bytes.
func TestKeysOfShardsAtTheirLimits(t *testing.T) {
	of := func(n, different int) string {
		key := make([]byte, n)
		for i := range key {
			key[i] = byte(i % different * 7)
		}
		return hex.EncodeToString(key)
	}
	for text, want := range map[string]bool{of(32, 12): true, of(32, 32): true, of(32, 11): false, of(32, 1): false, of(31, 31): false, of(33, 33): false,
		strings.ToUpper(of(32, 32)): true, "": false, of(32, 32)[1:] + "g": false} {
		k, err := ParseShardKey(text)
		if (err == nil) != want || want && k.Reveal() != strings.ToLower(text) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if (ShardKey{}).Reveal() != "" {
		t.Error("no key shows something")
	}
	for name, w := range map[string]Worker{"curator: shard: key: must be given": {}, "curator: shard: partition and attempt: must be >= 0": {Partition: -1}} {
		if w.Partition < 0 {
			w.Key, _ = ParseShardKey(of(32, 32))
			other := w
			other.Partition, other.Attempt = 0, -1
			if err := Serve(t.Context(), other); err == nil || err.Error() != name {
				t.Errorf("an attempt below 0: %v", err)
			}
		}
		if err := Serve(t.Context(), w); err == nil || err.Error() != name {
			t.Errorf("%v: must be %s", err, name)
		}
	}
}
