package inspect

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/recordedtest"
)

// TestReportsAreWhatTheyWere compares whole reports on tables, drafts and codebooks with testdata/reports.golden, which is
// written by go test ./internal/inspect -run WhatTheyWere -update.
func TestReportsAreWhatTheyWere(t *testing.T) {
	many := func(n int, line func(i int) string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(line(i) + "\n")
		}
		return b.String()
	}
	of := func(column, target string) string { return "columns:\n  x: " + column + "\ntarget: " + target + "\n" }
	const ill = `{column: y, classes: ["no", "yes"]}`
	y := []string{"no", "yes", "yes"}
	var got strings.Builder
	for _, c := range []struct {
		name, schema, table string
		as                  dataset.CSV
	}{
		{"many faults", columns, `age,income,seen,town,code,note,split,sick,w
33,"1,234",2020-01-05,aarau,x,,train,yes,1
44,"2,500.50",05.01.2020,Bern,,,train,Yes,.5
unknown,5%,31.12.2021,Chur,x,,train,no,2
120,€12,2020-02-30,,x,,train,maybe,1
,2020-05-05,13.4.2021, 7.0 ,x,,train,NO ,x
17,,,AARAU,x,,train
50,1,,Bern,x,,test,no,1
50,1,,Bern,x,,dev,no,1
`, dataset.CSV{}},
		{"beyond the bounds", of("{number: [0, 5]}", ill), "x,y\n" + many(9, func(i int) string { return fmt.Sprint(i*3-6) + "," + y[i%3] }), dataset.CSV{}},
		{"half beyond", of("{number: [0, 5]}", ill), "x,y\n1,no\n2,yes\n9,no\n-7,yes\n", dataset.CSV{}},
		{"a third beyond", of("{number: [0, 5]}", ill), "x,y\n1,no\n2,yes\n9,no\n", dataset.CSV{}},
		{"dates of two layouts", of("{date: [2019-01-01, 2022-12-31]}", ill), "x,y\n03/04/2020,no\n05/06/2020,yes\n2020-01-01,no\n43831,yes\nnever,no\n" +
			"unknown,yes\nnone,no\nlost,no\n", dataset.CSV{}},
		{"months as days", of(`{date: [2019-01-01, 2022-12-31], layout: "%m/%d/%Y"}`, ill), "x,y\n" + many(25, func(i int) string {
			return fmt.Sprintf("%02d/%02d/2020,%s", i%12+1, i%11+1, y[i%3])
		}), dataset.CSV{}},
		{"one day after the twelfth", of(`{date: [2019-01-01, 2022-12-31], layout: "%m/%d/%Y"}`, ill), "x,y\n" + many(25, func(i int) string {
			return fmt.Sprintf("%02d/%02d/2020,%s", i%12+1, []int{i%11 + 1, 13}[i/24], y[i%3])
		}), dataset.CSV{}},
		{"below a twentieth", of("{number: [0, 920]}", ill), "x,y\n1.234,no\n2.345,yes\n3.456,no\n45.678,yes\n", dataset.CSV{}},
		{"above a twentieth", of("{number: [0, 910]}", ill), "x,y\n1.234,no\n2.345,yes\n3.456,no\n45.678,yes\n", dataset.CSV{}},
		{"dates as numbers", of("{number: [0, 5]}", ill), "x,y\n05.01.2020,no\n31.12.2021,yes\n2020/01/02,no\n3,no\n", dataset.CSV{}},
		{"an identifier", strings.ReplaceAll(of("{number: [0, 5000]}", ill), "x:", "patient_id:"), "patient_id,y\n" + many(25, func(i int) string {
			return fmt.Sprintf("%d,%s", 1000+i*i%37, y[i%3])
		}), dataset.CSV{}},
		{"rising", of("{number: [0, 5000]}", ill), "x,y\n" + many(25, func(i int) string { return fmt.Sprintf("%d,%s", 7+i+i/2, y[i%3]) }), dataset.CSV{}},
		{"rising by two", of("{number: [0, 5000]}", ill), "x,y\n" + many(25, func(i int) string { return fmt.Sprintf("%d,%s", 7+2*i+i/5, y[i%3]) }), dataset.CSV{}},
		{"the same", of("{number: [0, 5000]}", ill), "x,y\n" + many(7, func(i int) string { return "12,yes" }), dataset.CSV{}},
		{"missing by numbers", of("{number: [0, 50]}", ill), "x,y\n999,no\n999,yes\n-1,no\n-1,no\n-1,yes\n12,no\n13,no\n14,yes\n15,no\n88,no\n", dataset.CSV{}},
		{"thousands", of("{number: [0, 500000]}", ill), "x,y\n1.234,no\n2.345,yes\n3.456,no\n45.678,yes\n", dataset.CSV{}},
		{"marked numbers", of("{number: [0, 5000]}", ill), "x,y\n1'234,no\n\"2,34\",yes\n12 kg,no\n5%,no\nabc,yes\n", dataset.CSV{}},
		{"decimal commas", of("{number: [0, 5000]}", ill), "x;y\n1,5;no\n2.5;yes\n2.5;no\nabc;no\n", dataset.CSV{Delimiter: ";", Decimal: ","}},
		{"half silent", of("{number: [0, 5]}", ill), "x,y\n1,no\n2,maybe\n3,\n4,yes\n", dataset.CSV{}},
		{"less than half silent", of("{number: [0, 5]}", ill), "x,y\n1,no\n2,maybe\n3,yes\n4,yes\n", dataset.CSV{}},
		{"all silent", of("{number: [0, 5]}", ill), "x,y\n1,n\n2,j\n", dataset.CSV{}},
		{"no rows", of("{number: [0, 5]}", ill), "x,y\n", dataset.CSV{}},
		{"ends", of("{number: [0, 5]}", ill), "x,y\n1,no,\n2,yes,\n3,no\n", dataset.CSV{}},
		{"few ends", of("{number: [0, 5]}", ill), "x,y\n1,no,\n2,yes\n3,no\n2.5,no\n", dataset.CSV{}},
		{"latin", of("{category: [Zürich, Bern]}", ill), "x,y\nZ\xfcrich,no\nZ\xfcrich,yes\nBern,no\n", dataset.CSV{}},
		{"spellings", of("{category: [Zug, Bern]}", ill), "x,y\nzug,no\nZUG,yes\nbern,no\nChur,yes\n", dataset.CSV{}},
		{"no value", of("{category: [Zug, Bern]}", ill), "x,y\nA,no\nB,yes\nB,no\n", dataset.CSV{}},
		{"times", of("{number: [0, 5]}", "{time: t, number: [0, 10], event: died, entry: came}"), "x,t,died,came\n1,3,1,0\n2,5,0,5\n3,20,1,12\n4,-2,1,0\n2,4,x,1\n" +
			"1,2,1,-3\n1,7,0,abc\n", dataset.CSV{}},
		{"exposures", of("{number: [0, 5]}", "{column: y, number: [0, 9], exposure: {column: years, number: [1, 4]}}"), "x,y,years\n1,3,2\n2,12,0.5\n3,0,9\n4,1,\n",
			dataset.CSV{}},
		{"a filter", "columns:\n  x: {number: [0, 5]}\n  s: {public: [a, b]}\ntarget: " + ill + "\nwhere: s=a\n", "x,s,y\n1,b,no\n2,b,yes\n", dataset.CSV{}},
		{"an open quote", of("{category: [a, b]}", ill), "x,y\na,no\n\"b,yes\na,no\n", dataset.CSV{}},
	} {
		s := schema(t, c.schema)
		r, err := Check(t.Context(), []string{write(t, c.table)}, c.as, s)
		if err != nil {
			fmt.Fprintf(&got, "== %s: %s\n", c.name, regexp.MustCompile(`\S*/t\.csv`).ReplaceAllString(err.Error(), "t.csv"))
			continue
		}
		fmt.Fprintf(&got, "== %s: %d findings, lost %q\n%s", c.name, r.Findings(), r.Lost(), recordedtest.JSON(t, r))
	}
	drafts := map[string]string{
		"kinds": "age,when,other,id,code,flag,layouts,same,none,big\n" + many(40, func(i int) string {
			flag := []string{"yes", "no", "?"}[i%3]
			return fmt.Sprintf("%v,2020-%02d-11,%d.%d.2021,u%d,c%d,%s,0%d/0%d/2020,7,,%d", 20.5+float64(i), i%12+1, i%28+1, i%12+1, i, i%33, flag, i%9+1, i%8+1,
				12345678+i*1000)
		}),
		"ragged": "a,b\n1,NA\n2\n3,N/A\n-4,x\n",
	}
	for _, name := range slices.Sorted(maps.Keys(drafts)) {
		drafted, missing, err := Draft(t.Context(), write(t, drafts[name]), dataset.CSV{}, "public.csv")
		if err != nil {
			t.Fatal(err)
		}
		header := strings.Split(strings.SplitN(drafts[name], "\n", 2)[0], ",")
		fmt.Fprintf(&got, "== draft of %s\n%s", name, Schema(append(header, "patientID", "birth_date", "country", "salary", "zzz", ""), drafted, missing))
	}
	book, err := Codebook(t.Context(), write(t, "Variable,Type,Min,Max,Values\nage,integer,18,99,\nsex,factor,,,m=1; f=2\nseen,date,2020-01-01,2021-06-30,\nnote,text,,,\n"+
		"low,number,3,,\nodd,,,,\nkind,category,,,a|b|c\n,number,1,2,\n"), dataset.CSV{}, "book.csv")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(&got, "== codebook\n%s", Schema(slices.Sorted(maps.Keys(book)), book, nil))
	recordedtest.Compare(t, "testdata/reports.golden", got.String())
}
