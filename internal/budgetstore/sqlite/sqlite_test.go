package sqlite

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stillpoint-dp/stillpoint/budget"
	"github.com/stillpoint-dp/stillpoint/internal/budgetstore/budgettest"
)

func TestConformance(t *testing.T) {
	budgettest.Run(t, func(t *testing.T) func() budget.Store {
		path := filepath.Join(t.TempDir(), "budgets of a #?% team.db")
		return func() budget.Store {
			s, err := Open(context.Background(), path, true)
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
	})
}
