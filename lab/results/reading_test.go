//go:build results

package results_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator"
	"github.com/stillpoint-dp/stillpoint/internal/train"
	"github.com/stillpoint-dp/stillpoint/loss"
)

// TestReading measures how fast a session opens the table of the configuration in the environment variable
// READING: reading, encoding and storing its rows.
func TestReading(t *testing.T) {
	c, err := train.ReadConfig(os.Getenv("READING"))
	if err != nil {
		t.Skip("READING names no configuration: ", err)
	}
	budget, err := account.NewBudget(1, 1e-6, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(c.DataPath())
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	s, err := curator.Open(context.Background(),
		curator.Config{Path: c.DataPath(), Schema: c.Schema, Loss: loss.Logistic(), Budget: budget})
	if err != nil {
		t.Fatal(err)
	}
	took := time.Since(start).Seconds()
	t.Logf("%.0f records, %.3f s, %.1f MB/s", s.All().Size(), took, float64(info.Size())/1e6/took)
}
