package train

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stillpoint-dp/stillpoint/budget"
)

// TestStoresHaveAbsoluteAddresses: a store's file beside the configuration is opened by its absolute path, which the ledger
// states, so that a recovery from another folder finds it. Other addresses stay as they are.
func TestStoresHaveAbsoluteAddresses(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	stop := errors.New("stop")
	for _, c := range []struct{ folder, store, want string }{
		{"conf", "sqlite:budgets.db", "sqlite:" + filepath.ToSlash(filepath.Join(here, "conf", "budgets.db"))},
		{".", "sqlite:sub/budgets.db", "sqlite:" + filepath.ToSlash(filepath.Join(here, "sub", "budgets.db"))},
		{"", "sqlite:budgets.db", "sqlite:" + filepath.ToSlash(filepath.Join(here, "budgets.db"))},
		{"conf", "sqlite:/var/budgets.db", "sqlite:/var/budgets.db"},
	} {
		opened := ""
		config := &Config{folder: c.folder, Budget: &StoredBudget{Store: c.store, Dataset: "people"}}
		_, err := config.stored(t.Context(), func(_ context.Context, address string) (*budget.Book, error) {
			opened = address
			return nil, stop
		})
		if !errors.Is(err, stop) || opened != c.want {
			t.Errorf("%s in %q: opens %s, %v: must open %s", c.store, c.folder, opened, err, c.want)
		}
	}
}
