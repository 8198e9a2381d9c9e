package budget_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/budget"
	"github.com/stillpoint-dp/stillpoint/budget/stores"
	"github.com/stillpoint-dp/stillpoint/curator"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// A service answers queries about a table until the cap, which the table's owner set, is reached.
// The sessions may be in this process, later, or on another machine.
func Example() {
	dir, err := os.MkdirTemp("", "people")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "people.csv")
	if err := os.WriteFile(path, []byte("age,ill\n"+strings.Repeat("31,no\n77,yes\n", 500)), 0o600); err != nil {
		log.Fatal(err)
	}
	schema := new(dataset.Schema)
	if err := yaml.Unmarshal([]byte(`{columns: {age: {number: [18, 100]}}, target: {column: ill, classes: ["no", "yes"]}}`), schema); err != nil {
		log.Fatal(err)
	}

	// The table's owner registers it once.
	ctx := context.Background()
	book, err := stores.Make(ctx, "sqlite:"+filepath.Join(dir, "budgets.db"))
	if err != nil {
		log.Fatal(err)
	}
	defer book.Close()
	limit, err := budget.NewCap(1.5, 1e-6, account.ReplaceOne, 0)
	if err != nil {
		log.Fatal(err)
	}
	if err := book.Create(ctx, "census-2026", limit); err != nil {
		log.Fatal(err)
	}

	// Each session charges its whole budget before its first answer.
	one, err := account.NewBudget(1, 1e-6, account.ReplaceOne)
	if err != nil {
		log.Fatal(err)
	}
	for _, label := range []string{"spring", "summer", "autumn", "winter"} {
		run := book.Run("census-2026", label)
		session, err := curator.Open(ctx, curator.Config{Path: path, Schema: schema, Loss: loss.Logistic(), Budget: one,
			Reserve: run.Reserve})
		if err != nil {
			log.Fatal(err)
		}
		question, err := query.New(one.Charge()*.9, query.GradientAt(session.All(), make([]float64, 2), 1))
		if err != nil {
			log.Fatal(err)
		}
		_, err = session.Ask(ctx, question)
		over := (*account.BudgetError)(nil)
		fmt.Printf("%s: over the cap: %v\n", label, errors.As(err, &over))
		// The budget that the session did not use is free again.
		if err := run.Settle(ctx, session); err != nil {
			log.Fatal(err)
		}
	}
	d, err := book.Dataset(ctx, "census-2026")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d runs, %.0f%% spent\n", len(d.Runs), 100*d.Spent/d.Charge)
	// Output:
	// spring: over the cap: false
	// summer: over the cap: false
	// autumn: over the cap: true
	// winter: over the cap: true
	// 2 runs, 85% spent
}
