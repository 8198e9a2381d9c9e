package stores_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/budget"
	"github.com/stillpoint-dp/stillpoint/budget/stores"
)

// The owner of a table makes a store and registers a dataset. Whoever opens the store finds the
// dataset. Opening a store that does not exist fails.
func Example() {
	dir, err := os.MkdirTemp("", "budgets")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx, address := context.Background(), "sqlite:"+filepath.Join(dir, "budgets.db")
	_, err = stores.Open(ctx, address)
	fmt.Println("opened before it was made:", err == nil)

	book, err := stores.Make(ctx, address)
	if err != nil {
		log.Fatal(err)
	}
	limit, err := budget.NewCap(3, 1e-6, account.ReplaceOne, 0)
	if err != nil {
		log.Fatal(err)
	}
	if err := book.Create(ctx, "census-2026", limit); err != nil {
		log.Fatal(err)
	}
	if err := book.Close(); err != nil {
		log.Fatal(err)
	}

	again, err := stores.Open(ctx, address)
	if err != nil {
		log.Fatal(err)
	}
	defer again.Close()
	names, err := again.Names(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(names)
	// Output:
	// opened before it was made: false
	// [census-2026]
}
