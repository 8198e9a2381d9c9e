package curator_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator"
	"github.com/stillpoint-dp/stillpoint/loss"
)

// TestTheLedgerSaysWhatWasOpened: from the beginning the ledger has the number of records, the
// unit, the row filter and the relation with which the rows were opened. Later assignments to
// schema or configuration do not change it.
func TestTheLedgerSaysWhatWasOpened(t *testing.T) {
	rows := unitRows(rand.New(rand.NewPCG(5, 1)))
	filter := account.Filter{Column: "split", Value: "train"}
	summed, err := loss.NewUnits(loss.Logistic(), 3, true)
	if err != nil {
		t.Fatal(err)
	}
	each := strings.Replace(unitSchema, "unit: {column: person, rows: 3}", "", 1)
	each = strings.Replace(each, "age:", "person: {public: [\"1\"]}\n  age:", 1)
	for name, c := range map[string]struct {
		schema string
		loss   loss.Loss
		unit   account.Unit
	}{
		"rows":         {each, loss.Logistic(), account.Unit{}},
		"units":        {unitSchema, units(t, 3), account.Unit{Column: "person", Rows: 3, Count: account.Mean}},
		"units summed": {unitSchema, summed, account.Unit{Column: "person", Rows: 3, Count: account.Sum}},
	} {
		for _, relation := range []account.Relation{account.ReplaceOne, account.AddOrRemove} {
			config := ofUnits(t, rows)
			config.Schema, config.Loss = schema(t, c.schema), c.loss
			if config.Budget, err = account.NewBudget(1, 1e-6, relation); err != nil {
				t.Fatal(err)
			}
			if relation == account.AddOrRemove {
				config.Declared = 55
			}
			s := must[*curator.Session](t)(curator.Open(t.Context(), config))
			*config.Schema = *schema(t, each)
			want := account.Records{Count: int64(s.All().Size()), Unit: c.unit, Filter: filter}
			got, opened := s.Ledger().Records()
			if !opened || got != want || s.Ledger().Budget().Relation() != relation {
				t.Errorf("%s under %v: the ledger says %+v: must be %+v", name, relation, got, want)
			}
			if relation == account.AddOrRemove && got.Count != 55 {
				t.Errorf("%s: %d records: must be as many as were declared", name, got.Count)
			}
			if s.Ledger().Ended() {
				t.Error("the ledger of an open session has ended")
			}
			s.Close()
			if !s.Ledger().Ended() {
				t.Error("the ledger of a closed session has not ended")
			}
		}
	}
}
