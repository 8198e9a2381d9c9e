package curator_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/curator"
)

const filteredSchema = `
columns:
  age: {number: [0, 100]}
  split: {public: [train, test]}
  note: ignore
target: {column: ill, classes: ["no", "yes"]}
where: split=train
`

// TestNeighboursAgreeOnTheNumber: tables that differ in one row, which passes the filter in both,
// have the same number of records, whatever the row's other cells: missing, damaged, too few, too
// many, or not CSV. A row that passes in neither table changes nothing.
func TestNeighboursAgreeOnTheNumber(t *testing.T) {
	passes := []string{
		"31,train,x,no", "1e300,train,\"a,b\",yes", "x, train ,,", "NaN,\"train\",\xff,perhaps", ",train,\x00,no",
		"31,train,x", "31,train,x,no,yes", "31", "31,test,x", "test,test,test,test,test", // malformed: no cell of split
		"31,te\"st,x,no", "\"31\"1,train,x,no", "31,test,\"x\"y,no",
	}
	others := []string{"31,test,x,no", "31,,x,no", "31,Train,x,no", "31,other,train,no", "train,trains,train,train",
		",test,,"}
	coin := rand.New(rand.NewPCG(7, 7))
	number := func(rows []string) (int, float64) {
		c := config(t, write(t, "people.csv", "age,split,note,ill\n"+strings.Join(rows, "\n")+"\n"))
		c.Schema = schema(t, filteredSchema)
		n, err := curator.Count(context.Background(), c)
		if err != nil {
			t.Fatal(err)
		}
		s, err := curator.Open(context.Background(), c)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		return n, s.All().Size()
	}
	for range 10 {
		var rows []string
		kept := 0
		for range 12 {
			if coin.IntN(3) > 0 {
				rows = append(rows, passes[coin.IntN(len(passes))])
				kept++
			} else {
				rows = append(rows, others[coin.IntN(len(others))])
			}
		}
		rows, kept = append(rows, passes[0], others[0]), kept+1
		for _, change := range []struct {
			at   int
			with []string
		}{{12, passes}, {13, others}} {
			for _, with := range change.with {
				neighbour := append([]string(nil), rows...)
				neighbour[change.at] = with
				if n, size := number(neighbour); n != kept || size != float64(kept) {
					t.Errorf("%q in the place of %q: %d rows counted, %v in the session: must be %d", with, rows[change.at], n, size,
						kept)
				}
			}
		}
	}
}

// TestCountOfTypedRows: the count of a Parquet file's records, for which only the filter's column is read,
// must be the number of records of a session over the file.
func TestCountOfTypedRows(t *testing.T) {
	rows := [][]string{{"1", "train", "x", "no"}, {"2", "test", "", "yes"}, {"", " train", "x", "yes"},
		{"3", "", "x", "no"}, {"4", "train", "", ""}}
	c := config(t, write(t, "people.parquet", string(parquet([]string{"age", "split", "note", "ill"}, rows, 2))))
	c.Schema = schema(t, filteredSchema)
	n, err := curator.Count(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	s, err := curator.Open(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if n != 3 || s.All().Size() != 3 {
		t.Errorf("%d records are counted, a session has %v: want 3", n, s.All().Size())
	}
}
