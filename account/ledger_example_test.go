package account_test

import (
	"fmt"
	"log"

	"github.com/stillpoint-dp/stillpoint/account"
)

// Releases with noise of six times the sensitivity, charged until the budget refuses one.
func ExampleLedger_Reserve() {
	budget, err := account.NewBudget(1, 1e-6, account.ReplaceOne)
	if err != nil {
		log.Fatal(err)
	}
	ledger := account.NewLedger(budget)
	for range 3 {
		release, err := account.GaussianEvent("gradient", account.Everyone, 1, 6)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(ledger.Reserve(release))
	}
	fmt.Printf("%.4f of %.4f is charged\n", ledger.Charged(), budget.Charge())
	// Output:
	// <nil>
	// <nil>
	// account: over budget: charge 0.0277778 asked, 0.000473408 left (units of mu^2)
	// 0.0556 of 0.0560 is charged
}
