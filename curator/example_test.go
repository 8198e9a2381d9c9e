package curator_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/goccy/go-yaml"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/choose"
	"github.com/stillpoint-dp/stillpoint/query"
)

// A service trains on a table that it may not look at: it opens a session, lets the planner choose,
// runs the plan and keeps the ledger.
func Example() {
	dir, err := os.MkdirTemp("", "people")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "people.csv")
	text := "age,job,ill\n"
	for range 500 {
		text += "31,nurse,no\n77,clerk,yes\n"
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		log.Fatal(err)
	}
	schema := new(dataset.Schema)
	err = yaml.Unmarshal([]byte(`
columns:
  age: {number: [18, 100]}
  job: {category: [nurse, clerk]}
target: {column: ill, classes: ["no", "yes"]}
`), schema)
	if err != nil {
		log.Fatal(err)
	}
	budget, err := account.NewBudget(1, 1e-6, account.ReplaceOne)
	if err != nil {
		log.Fatal(err)
	}

	ctx := context.Background()
	session, err := curator.Open(ctx, curator.Config{Path: path, Schema: schema, Loss: loss.Logistic(), Budget: budget})
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()

	problem, err := optimize.NewProblem(loss.Logistic(), budget, session)
	if err != nil {
		fmt.Println(err)
		return
	}
	plan, err := choose.Auto{}.Plan(ctx, problem)
	if err != nil {
		log.Fatal(err)
	}
	result, err := plan.Run(ctx, session, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(session)
	fmt.Println(session.All().Size(), "records,", len(result.W), "weights")
	fmt.Println("complete:", result.Complete, "within budget:", session.Ledger().Charged() <= budget.Charge())

	// The budget is spent, and nothing more is computed.
	question, err := query.New(budget.Charge()/2, query.GradientAt(session.All(), result.W, 1))
	if err != nil {
		log.Fatal(err)
	}
	_, err = session.Ask(ctx, question)
	over := new(account.BudgetError)
	fmt.Println("refused:", errors.As(err, &over))
	// Output:
	// curator.Session{records withheld}
	// 1000 records, 5 weights
	// complete: true within budget: true
	// refused: true
}
