package account_test

import (
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
)

// TestProtects compares the text about what is protected with the expected one, under both
// relations, with a filter and a unit and without. Under replace-one the text must claim less:
// replace-one hides the content of a record, but not that the record is in the table.
func TestProtects(t *testing.T) {
	u, f := account.Unit{Column: "person", Rows: 8, Count: account.Mean}, account.Filter{Column: "split", Value: "train"}
	for _, c := range []struct {
		u    account.Unit
		f    account.Filter
		r    account.Relation
		want string
	}{
		{account.Unit{}, account.Filter{}, account.ReplaceOne, "any one row, whatever it says (a person is one row)"},
		{account.Unit{}, f, account.ReplaceOne, "any one row with split = train, whatever it says (a person is one row)"},
		{account.Unit{}, account.Filter{}, account.AddOrRemove,
			"whether any one row is in the table (a person is one row)"},
		{account.Unit{}, f, account.AddOrRemove,
			"whether any one row with split = train is in the table (a person is one row)"},
		{u, account.Filter{}, account.ReplaceOne, "all rows of any one person, whatever they say"},
		{u, f, account.ReplaceOne, "all rows of any one person with split = train, whatever they say"},
		{u, account.Filter{}, account.AddOrRemove, "whether all rows of any one person are in the table"},
		{u, f, account.AddOrRemove, "whether all rows of any one person with split = train are in the table"},
	} {
		if got := c.u.Protects(c.f, c.r); got != c.want {
			t.Errorf("%v, %v, %v: %q: must be %q", c.u, c.f, c.r, got, c.want)
		}
	}
}

// TestFilterNote compares the text about a row filter with the expected one: it must say that rows whose cell
// cannot be read are used.
func TestFilterNote(t *testing.T) {
	if got := (account.Filter{}).Note(); got != "" {
		t.Errorf("without a filter: %q", got)
	}
	const want = "public for every row; rows whose split cannot be read count as train"
	if got := (account.Filter{Column: "split", Value: "train"}).Note(); got != want {
		t.Errorf("%q: must be %q", got, want)
	}
}
