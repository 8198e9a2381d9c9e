package certificate_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/certificate"
)

func Example() {
	budget, err := account.NewBudget(1, 1e-6, account.ReplaceOne)
	if err != nil {
		log.Fatal(err)
	}
	// A session keeps such a ledger (curator.Open); this one is made by hand.
	ledger, err := account.OpenLedger(budget, account.Records{Count: 32561})
	if err != nil {
		log.Fatal(err)
	}
	for range 25 {
		e, err := account.GaussianEvent("gradient", account.Everyone, 2, 2/(0.19*budget.Mu()))
		if err != nil {
			log.Fatal(err)
		}
		if err := ledger.Reserve(e); err != nil {
			log.Fatal(err)
		}
	}
	ledger.End()
	c, err := certificate.FromJournal(ledger.View().Journal(), certificate.Params{
		Software:    "stillpoint v1.0.0",
		Algorithm:   certificate.Algorithm{Name: "gradient-descent", Plan: json.RawMessage(`{"steps":25}`)},
		Complete:    true,
		ModelSHA256: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
	})
	if err != nil {
		log.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "certificate.json")
	if err := c.Write(path); err != nil {
		log.Fatal(err)
	}

	// Anybody, without the data:
	read, err := certificate.Read(path)
	if err != nil {
		log.Fatal(err)
	}
	report, err := read.Verify(context.Background())
	switch {
	case errors.Is(err, certificate.ErrAltered), errors.Is(err, certificate.ErrUnsound):
		log.Fatal("do not rely on it: ", err)
	case err != nil:
		log.Fatal(err)
	}
	fmt.Print(report)
	// Output:
	// The run was (epsilon 1, delta 1e-06)-differentially private under replace-one.
	//   neighbour  a table with one row replaced by any other
	//   records    32561
	//   basis      gaussian-dp-filter: mu = 0.236704 was fixed before the first release and the filter kept every record within it
	//   charged    0.0505661 of mu^2 = 0.056029, the largest total of a record (informational)
	//   releases   25
	//   complete   yes
	//   trusted    nothing beyond the program itself
	// This follows from the certificate's own record. Its checksum finds accidents and
	// careless edits; it is not a signature.
}
