package main

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/means"
	"github.com/stillpoint-dp/stillpoint/internal/runfolder"
	"github.com/stillpoint-dp/stillpoint/internal/train"
)

// TestMeansInWords compares printed answers to the letter. Of more than five answers with one reason four are named.
func TestMeansInWords(t *testing.T) {
	x := func(v float64) *float64 { return &v }
	got := meansText(&means.Answers{
		Of: "the probability of ill = yes", Rows: 37, Level: .9, Short: true,
		Mean: means.Answer{Estimate: x(.24688), Low: x(.21), High: x(.28125)},
		List: []means.Answer{
			{Column: "sex", Level: "f", Estimate: x(.125), Low: x(.11), High: x(.13)},
			{Column: "sex", Level: "m", Against: "f", Estimate: x(-.0625), Reason: "withheld"},
			{Column: "sex", Level: "x", Reason: "not in the formula: noise hides it"},
			{Column: "sex", Level: "x", Against: "f", Reason: "not in the formula: noise hides it"},
			{Column: "age", Estimate: x(.5), Low: x(.375), High: x(.625), Reason: "also carries x2 (correlation 0.95)"},
			{Column: "x2", Reason: "not in the formula: noise hides it"},
		},
	}, []profilePrediction{{Profile: "age=40", Prediction: .3125, Low: x(.25), High: x(.4375)}})
	const want = `Mean prediction (the probability of ill = yes) over 37 rows of the population: 0.2469

profile prediction 90% interval
age=40 0.3125 0.25 to 0.4375

column of it estimate 90% interval
all mean 0.2469 0.21 to 0.2812
sex mean for f 0.125 0.11 to 0.13
sex m less f -0.0625 -
sex mean for x - -
sex x less f - -
age effect of one unit more 0.5 0.375 to 0.625
x2 effect of one unit more - -
The formula of the fit is SHORT: levels that it lacks count as the reference level, pairs of levels
as no interaction, and numbers that it lacks are left out. The intervals of means hold for all
predictions that rows with these may have. Differences and effects are those of the SHORT formula.
sex m less f: no interval: withheld
sex mean for x, sex x less f, x2: no interval: not in the formula: noise hides it
age: also carries x2 (correlation 0.95)
`
	if words := spaceText.ReplaceAllString(got, " "); words != want {
		t.Errorf("got\n%s\nwant\n%s", words, want)
	}
	list := means.Answers{Mean: means.Answer{Estimate: x(1)}}
	for _, level := range []string{"a", "b", "c", "d", "e", "f"} {
		list.List = append(list.List, means.Answer{Column: "g", Level: level, Reason: "hidden"})
	}
	if got := meansText(&list, nil); !strings.HasSuffix(got, "\ng mean for a, g mean for b, g mean for c, g mean for d, 2 others: no interval: hidden\n") {
		t.Errorf("got\n%s", got)
	}
}

// TestDescribedInWords compares the lines below a printed description to the letter.
func TestDescribedInWords(t *testing.T) {
	b := budgetOf(t, .75)
	d := &runfolder.Described{Folder: "told", Described: &train.Described{Budget: b, Charged: b.Charge() / 4}}
	d.Level = .9
	const want = "column  of it  value  90% interval\n\nbudget    epsilon 0.75, delta 1e-06, replace-one: 25% spent\n" +
		"folder    told\n"
	if got := describedText(t.Context(), d); got != want {
		t.Errorf("got %q: must be %q", got, want)
	}
}

// TestProfilesArePredictions: the prediction for a profile is that of the command predict for the same row.
func TestProfilesArePredictions(t *testing.T) {
	for _, c := range []struct{ loss, target, column string }{
		{"logistic", `{column: y, classes: ["0", "1"]}`, "probability"},
		{"squared(1)", "{column: y, number: [0, 2]}", "prediction"},
	} {
		dir := t.TempDir()
		var rows strings.Builder
		rows.WriteString("x,y\n")
		for i := range 200 {
			fmt.Fprintf(&rows, "%d,%d\n", i%50, i%50/25)
		}
		config := fmt.Sprintf("data: t.csv\nschema:\n  columns: {x: {number: [0, 50]}}\n  target: %s\nmodel: {loss: %s, family: lines}\n"+
			"privacy: {epsilon: 50, delta: 1e-3, relation: replace-one}\n", c.target, c.loss)
		for name, text := range map[string]string{"t.csv": rows.String(), "t.yaml": config, "new.csv": "x\n31\n"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		do := func(args ...string) string {
			t.Helper()
			var out, failures strings.Builder
			if code := run(t.Context(), args, &console{out: &out, err: &failures}); code != 0 {
				t.Fatalf("%v: %s", args, failures.String())
			}
			return out.String()
		}
		do("fit", filepath.Join(dir, "t.yaml"), "--out", filepath.Join(dir, "r"), "--anyway")
		table, err := csv.NewReader(strings.NewReader(do("predict", filepath.Join(dir, "r", "model.json"),
			filepath.Join(dir, "new.csv")))).ReadAll()
		if err != nil || table[0][0] != c.column {
			t.Fatalf("%v: %v", err, table)
		}
		var got struct {
			Profiles []profilePrediction
			Mean     means.Answer
		}
		if err := json.Unmarshal([]byte(do("means", filepath.Join(dir, "r"), "--profile", "x=31", "--json")), &got); err != nil {
			t.Fatal(err)
		}
		want, err := strconv.ParseFloat(table[1][0], 64)
		if err != nil || len(got.Profiles) != 1 || !(math.Abs(got.Profiles[0].Prediction-want) <= 1e-6) ||
			!(math.Abs(*got.Mean.Estimate-want) <= 1e-6) {
			t.Errorf("%s: %v: %+v: must be %v", c.loss, err, got, want)
		}
	}
}

// TestProfilesMustBeOfTheModel: a level that the model does not have, a text for a number and a number beyond its bounds
// are slips in a profile, and would count as the level other, as missing and as a bound.
func TestProfilesMustBeOfTheModel(t *testing.T) {
	s, err := dataset.New(dataset.Definition{Columns: []dataset.Column{
		{Name: "sex", Kind: dataset.Category, Categories: []string{"f", "m"}}, {Name: "age", Kind: dataset.Number, Low: 18, High: 90}},
		Target: dataset.Target{Column: "y", Kind: dataset.Category, Classes: []string{"no", "yes"}}, Missing: []string{"NA"}})
	if err != nil {
		t.Fatal(err)
	}
	for profile, want := range map[string]string{"sex=m,age=40": "", "sex=other,age=": "", "sex= f,age=90": "", "sex=NA,age=NA": "",
		"sex=M,age=40":  `profile: "sex" = "M": must be a level of the model, other, or empty`,
		"sex=m,age=old": `profile: "age" = "old": must be a number from 18 to 90, or empty`,
		"sex=m,age=91":  `profile: "age" = "91": must be a number from 18 to 90, or empty`,
		"sex=m,age=NaN": `profile: "age" = "NaN": must be a number from 18 to 90, or empty`} {
		people, err := profiles([]string{profile})
		if err == nil {
			err = checkProfiles(s, people)
		}
		if got := fmt.Sprint(err); want == "" && err != nil || want != "" && got != want {
			t.Errorf("%s: %s", profile, got)
		}
	}
}

// TestPopulationsAreTheirRows tests the population of a table and that of profiles: its header, and each of its rows.
func TestPopulationsAreTheirRows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.csv")
	if err := os.WriteFile(path, []byte("age,sex\n40,f\n41,m\n\n42,\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	people, err := publicRows(t.Context(), path)
	if got := fmt.Sprintf("%q %q %v", people.Header, people.Rows, err); got != `["age" "sex"] [["40" "f"] ["41" "m"] ["42" ""]] <nil>` {
		t.Error(got)
	}
	ended, stop := context.WithCancel(t.Context())
	stop()
	if _, err := publicRows(ended, path); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that has ended: %v", err)
	}
	people, err = profiles([]string{" age=40, sex =f", "age=41,sex= m=n"})
	if got := fmt.Sprintf("%q %q %v", people.Header, people.Rows, err); got != `["age" "sex"] [["40" "f"] ["41" " m=n"]] <nil>` {
		t.Error(got)
	}
	for text, want := range map[string]string{"age": `profile = "age": must be column=value, several joined by commas`,
		"sex=f,age=4": `profile = "sex=f,age=4": must name the columns of the first profile, in its order`} {
		if _, err := profiles([]string{"age=40,sex=f", text}); err == nil || err.Error() != want {
			t.Errorf("%v: must be %s", err, want)
		}
	}
}
