package budget

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
)

// leaves calls visit with each number, text and truth below v, and its path.
func leaves(v reflect.Value, path string, visit func(path string, v reflect.Value)) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			leaves(v.Field(i), path+"."+v.Type().Field(i).Name, visit)
		}
	case reflect.Slice:
		for i := range v.Len() {
			leaves(v.Index(i), fmt.Sprintf("%s[%d]", path, i), visit)
		}
	default:
		visit(path, v)
	}
}

// alter gives a leaf another value.
func alter(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(v.String() + "x")
	case reflect.Float64:
		v.SetFloat(v.Float() + .5)
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Uint8:
		v.SetUint(3 - v.Uint()) // the other relation
	default:
		v.SetInt(v.Int() + 1)
	}
}

// TestEveryFieldOfALimit alters one field of a limit at a time: it is another limit, and a ledger of it settles no run of
// the first, unless the field is Mu.
func TestEveryFieldOfALimit(t *testing.T) {
	limit := func() Limit {
		return Limit{Guarantee: account.Guarantee{Relation: account.ReplaceOne, Epsilon: 1, Delta: .25, Unit: "person", Mu: .5},
			Schedule: []account.SampledSteps{{NoiseMultiplier: 2, Sampling: .5, Count: 3}, {NoiseMultiplier: 4, Sampling: .25, Count: 1}}}
	}
	if !limit().equal(limit()) || !limit().serves(limit()) {
		t.Fatal("a limit is not itself")
	}
	var paths []string
	first := limit()
	leaves(reflect.ValueOf(&first).Elem(), "", func(path string, _ reflect.Value) { paths = append(paths, path) })
	if len(paths) != 5+2*3 {
		t.Errorf("%d fields: %v", len(paths), paths)
	}
	for _, path := range paths {
		l := limit()
		leaves(reflect.ValueOf(&l).Elem(), "", func(p string, v reflect.Value) {
			if p == path {
				alter(v)
			}
		})
		if reflect.DeepEqual(l, limit()) || l.equal(limit()) || limit().equal(l) {
			t.Errorf("%s: another value is the same limit", path)
		}
		if got, want := limit().serves(l), path == ".Guarantee.Mu"; got != want || l.serves(limit()) != want {
			t.Errorf("%s: a ledger of another value settles the run: %v", path, got)
		}
	}
	fewer := limit()
	if fewer.Schedule = fewer.Schedule[:1]; fewer.equal(limit()) || fewer.serves(limit()) || limit().serves(fewer) {
		t.Error("a shorter schedule is the same limit")
	}
}

// TestEveryFieldOfAReservation alters one field of a reservation at a time: the chain and the state of a dataset do not
// have it.
func TestEveryFieldOfAReservation(t *testing.T) {
	c := grown(t, newCap(t, account.ReplaceOne, 0))
	for _, run := range []string{"a", "b"} {
		if err := c.reserve(run, gaussian(c.cap.Mu/4, account.ReplaceOne)); err != nil {
			t.Fatal(err)
		}
	}
	d, err := c.dataset()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range c.runs { // the last row of the chain is that of b
		good := account.Reservation{Dataset: "people", Run: r.Run, Row: r.Row, Head: r.Head}
		if run, err := c.reserved(good); err != nil || run.Run != r.Run {
			t.Errorf("%+v: %+v, %v", good, run, err)
		}
		if err := d.Has(good); err != nil {
			t.Error(err)
		}
		for path, change := range map[string]func(*account.Reservation){
			"Dataset":             func(r *account.Reservation) { r.Dataset = "others" },
			"Run":                 func(r *account.Reservation) { r.Run += "x" },
			"Row + 1":             func(r *account.Reservation) { r.Row++ },
			"Row - 1":             func(r *account.Reservation) { r.Row-- },
			"no Row":              func(r *account.Reservation) { r.Row = 0 },
			"Head":                func(r *account.Reservation) { r.Head = r.Head[1:] + "0" },
			"Head of another row": func(r *account.Reservation) { r.Head = c.heads[0] },
			"no Head":             func(r *account.Reservation) { r.Head = "" },
		} {
			bad := good
			change(&bad)
			if _, err := c.reserved(bad); (err == nil) != (path == "Dataset") { // the chain is that of one dataset
				t.Errorf("%s of %s: %v", path, r.Run, err)
			}
			if err := d.Has(bad); (err == nil) != (path == "Run") { // Holds compares it
				t.Errorf("%s of %s: %v", path, r.Run, err)
			}
		}
	}
}

// TestFieldsOfEachKind gives each kind of row each field that may be absent, or takes it away: a row has exactly those of its
// kind.
func TestFieldsOfEachKind(t *testing.T) {
	limit, charged := newCap(t, account.ReplaceOne, 0), .001
	l := gaussian(limit.Mu/2, account.ReplaceOne)
	cost, err := l.cost(t.Context(), limit)
	if err != nil {
		t.Fatal(err)
	}
	has := map[string]map[string]bool{
		kindCreated:  {"salt": true, "cap": true},
		kindReserved: {"run": true, "law": true, "cost": true, "label": false, "held": false}, // false: may be given
		kindSettled:  {"run": true, "charged": true},
		kindClosed:   {},
	}
	give := map[string]func(*entry){
		"salt": func(e *entry) { e.Salt = "s" }, "cap": func(e *entry) { e.Cap = &limit }, "run": func(e *entry) { e.Run = "a" },
		"label": func(e *entry) { e.Label = "text" }, "law": func(e *entry) { e.Limit = &l }, "cost": func(e *entry) { e.Cost = &cost },
		"held": func(e *entry) { e.Held = true }, "charged": func(e *entry) { e.Charged = &charged },
	}
	row := func(kind, without, with string) error {
		e := entry{Number: 3, Kind: kind, Dataset: "people", Time: "2026"}
		for field, needed := range has[kind] {
			if needed && field != without {
				give[field](&e)
			}
		}
		if with != "" {
			give[with](&e)
		}
		text, err := encode(e)
		if err != nil {
			t.Fatal(err)
		}
		_, err = parse(text)
		return err
	}
	for kind, fields := range has {
		if err := row(kind, "", ""); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		for field := range give {
			needed, may := fields[field]
			if err := row(kind, "", field); (err == nil) != may {
				t.Errorf("%s with %s: %v", kind, field, err)
			}
			if err := row(kind, field, ""); (err == nil) != !needed {
				t.Errorf("%s without %s: %v", kind, field, err)
			}
		}
	}
	for _, name := range []string{"", " 2026", "20\n26", strings.Repeat("2", 201)} {
		for field, set := range map[string]func(*entry){"time": func(e *entry) { e.Time = name }, "run": func(e *entry) { e.Run = name }} {
			e := entry{Number: 3, Kind: kindSettled, Dataset: "people", Time: "2026", Run: "a", Charged: &charged}
			set(&e)
			if err := e.check(); err == nil || !strings.Contains(err.Error(), field) {
				t.Errorf("%s = %q: %v", field, name, err)
			}
		}
	}
}

// TestFormsOfACertificate changes one member of a dataset's certificate at a time: its format, its version, what it has
// besides, and what follows it.
func TestFormsOfACertificate(t *testing.T) {
	c := grown(t, newCap(t, account.ReplaceOne, 0))
	first, err := entry{Number: 1, Kind: kindCreated, Dataset: "people", Time: "2026", Salt: "s", Cap: &c.cap}.write("")
	if err != nil {
		t.Fatal(err)
	}
	whole, err := NewBook(fixed{tail: Tail{Rows: []Row{first}, Length: 1, Head: first.Hash}}).Certificate(t.Context(), "people")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ old, new, want string }{
		{"", "", ""},
		{`"version": 1`, `"version": 0`, "version = 0"},
		{`"version": 1`, `"version": -1`, "version = -1"},
		{`"version": 1`, `"version": 2`, "version = 2"},
		{`"version": 1`, `"version": "1"`, "must be JSON"},
		{`"version": 1`, `"version": 1, "note": "x"`, "must be JSON"},
		{CertificateFormat, "stillpoint certificate", `format = "stillpoint certificate"`},
		{`"dataset": "people"`, `"dataset": "others"`, `dataset = "people": must be "others"`},
		{`"dataset": "people"`, `"dataset": " people"`, "must be a name without white space"},
		{`"head": "`, `"head": "0`, "must be the hash of the last row"},
		{"]\n}\n", "]\n} {}", "must be one JSON object"},
		{"]\n}\n", "]\n} \n", ""},
		{first.Text, "", "head = "},
	} {
		text := strings.Replace(string(whole), c.old, c.new, 1)
		if c.old == first.Text {
			text = strings.Replace(text, "[\n    \n  ]", "[]", 1)
		}
		d, err := Verify(t.Context(), []byte(text))
		if (err == nil) != (c.want == "") || err != nil && (!errors.Is(err, ErrChain) || !strings.Contains(err.Error(), c.want)) ||
			err == nil && d.Name != "people" {
			t.Errorf("%s in place of %s: %v: must say %q", c.new, c.old, err, c.want)
		}
	}
}

// TestAddressesHoldNoSecret tests addresses with a secret in each place that the driver of the database reads it from.
func TestAddressesHoldNoSecret(t *testing.T) {
	for _, text := range []string{"postgres://me:secret@host/db", "postgres://me:@host/db", "postgresql://:secret@host/db",
		"postgres://host/db?password=secret", "postgres://host/db?sslmode=require&password=secret",
		"postgres://host/db?%70assword=secret", "postgres://host/db?password=", "postgres://host/db?sslpassword=secret",
		"postgres://host/db?sslkey=k&sslpassword=secret", "postgres://host/db?password=secret;x", "postgres://host/db?x;password=secret"} {
		if a, err := ParseAddress(text); err == nil || a != (Address{}) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %+v, %v: must be refused without its secret", text, a, err)
		}
	}
	for _, text := range []string{"postgres://me@host/db", "postgres://me@host:5432/db?sslmode=verify-full&sslkey=k&passfile=/p/password"} {
		if a, err := ParseAddress(text); err != nil || a != (Address{Server: text}) {
			t.Errorf("%s: %+v, %v", text, a, err)
		}
	}
}

// unanswered is a store that carries out an update and loses its reply, as often as left says.
type unanswered struct {
	Store
	rows []Row
	left int
}

func (u *unanswered) Draw(context.Context) (string, error) { return "salt", nil }

func (u *unanswered) Update(_ context.Context, _ string, from int, next func(Tail) (*Row, error)) error {
	tail := Tail{Rows: u.rows[from:], Length: len(u.rows), Now: "2026"}
	if n := len(u.rows); n > 0 {
		tail.Head = u.rows[n-1].Hash
	}
	if from > 0 {
		tail.Before = u.rows[from-1].Hash
	}
	row, err := next(tail)
	if err != nil || row == nil {
		return err
	}
	u.rows = append(u.rows, *row)
	if u.left--; u.left >= 0 {
		return errors.New("no reply")
	}
	return nil
}

// TestLostReplies tests that a dataset whose registration, closing or reservation was stored, and whose reply was lost, is
// registered, closed and charged once, for each kind of cap.
func TestLostReplies(t *testing.T) {
	for _, unit := range []string{"", "person"} {
		for lost := range attempts {
			c := newCap(t, account.ReplaceOne, 0)
			c.Unit = unit
			u := &unanswered{left: lost}
			b := NewBook(u)
			if err := b.Create(t.Context(), "people", c); err != nil {
				t.Errorf("unit %q, %d lost: %v", unit, lost, err)
			}
			l := gaussian(c.Mu/2, account.ReplaceOne)
			l.Unit, u.left = unit, lost
			b.chain("people").cap = c
			cost, err := l.cost(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			err = b.update(t.Context(), "people", func(g *chain, _ string) (*entry, error) {
				if _, done := g.byID["a"]; done {
					return nil, nil
				}
				return &entry{Kind: kindReserved, Run: "a", Limit: &l, Cost: &cost}, nil
			})
			if err != nil {
				t.Errorf("unit %q, %d lost: %v", unit, lost, err)
			}
			for range 2 {
				if err := b.Shut(t.Context(), "people"); err != nil {
					t.Errorf("unit %q, %d lost: %v", unit, lost, err)
				}
				u.left = lost
			}
			if g := b.chain("people"); len(u.rows) != 3 || g.number != 3 || !g.closed || len(g.runs) != 1 {
				t.Errorf("unit %q, %d lost: %d rows, %d runs, closed %v", unit, lost, len(u.rows), len(g.runs), g.closed)
			}
		}
	}
}

// TestLeasesAreThoseOfTheLastRead tests that a chain has the leases of the tail that it followed last, and no earlier ones.
func TestLeasesAreThoseOfTheLastRead(t *testing.T) {
	c := grown(t, newCap(t, account.ReplaceOne, 0))
	for _, want := range [][]Lease{{{Run: "a", Charge: 1}}, {{Run: "a", Charge: 2}, {Run: "b"}}, {{Run: "b", Events: 3}}, nil} {
		now := fmt.Sprint("at ", len(want))
		if err := c.follow(Tail{Length: 1, Head: c.head, Before: c.head, Leases: want, Now: now}); err != nil {
			t.Fatal(err)
		}
		all := map[string]Lease{}
		for _, l := range want {
			all[l.Run] = l
		}
		if !reflect.DeepEqual(c.leases, all) || c.now != now {
			t.Errorf("leases %v at %s: must be %v at %s", c.leases, c.now, all, now)
		}
	}
}

// TestSchedulesAreComposedAgain tests that a certificate's schedule is composed once for all runs of the same relation, mu,
// schedule and cost, and again if one of these differs: with an ended context, a composition is an error.
func TestSchedulesAreComposedAgain(t *testing.T) {
	c := grown(t, newCap(t, account.ReplaceOne, 4))
	run := func() Limit {
		return Limit{Guarantee: account.Guarantee{Relation: account.ReplaceOne, Epsilon: 1, Delta: 1e-6, Mu: c.cap.Mu / 16},
			Schedule: []account.SampledSteps{{NoiseMultiplier: 20, Sampling: .01, Count: 10}}}
	}
	cost := Cost{Charge: c.cap.Mu * c.cap.Mu / 5, Delta: c.cap.sampledDelta()}
	costs := map[string]bool{}
	recheck := func(ctx context.Context, id string, l Limit, cost Cost) error {
		row, err := entry{Number: c.number + 1, Kind: kindReserved, Dataset: "people", Time: "2026", Run: id, Limit: &l, Cost: &cost}.write(c.head)
		if err != nil {
			t.Fatal(err)
		}
		return c.recheck(ctx, row, costs)
	}
	if err := recheck(t.Context(), "a", run(), cost); err != nil {
		t.Fatal(err)
	}
	ended, stop := context.WithCancel(t.Context())
	stop()
	for name, change := range map[string]func(*Limit, *Cost){
		"relation": func(l *Limit, _ *Cost) { l.Relation = account.AddOrRemove },
		"mu":       func(l *Limit, _ *Cost) { l.Mu = c.cap.Mu / 8 },
		"noise":    func(l *Limit, _ *Cost) { l.Schedule[0].NoiseMultiplier = 19 },
		"sampling": func(l *Limit, _ *Cost) { l.Schedule[0].Sampling = .02 },
		"count":    func(l *Limit, _ *Cost) { l.Schedule[0].Count = 11 },
		"charge":   func(_ *Limit, k *Cost) { k.Charge *= 15. / 16 },
	} {
		l, k := run(), cost
		change(&l, &k)
		if err := recheck(ended, "b", l, k); err == nil {
			t.Errorf("another %s: was not composed again", name)
			return // the chain has the run now
		}
		delete(costs, fmt.Sprint(l.Relation, l.Mu, l.Schedule, k))
	}
	if err := recheck(ended, "b", run(), cost); err != nil {
		t.Errorf("an equal run: %v", err)
	}
	// A verification that ended early has found nothing wrong.
	first, err := entry{Number: 1, Kind: kindCreated, Dataset: "people", Time: "2026", Salt: "s", Cap: &c.cap}.write("")
	if err != nil {
		t.Fatal(err)
	}
	l := run()
	second, err := entry{Number: 2, Kind: kindReserved, Dataset: "people", Time: "2026", Run: "a", Limit: &l, Cost: &cost}.write(first.Hash)
	if err != nil {
		t.Fatal(err)
	}
	text, err := NewBook(fixed{tail: Tail{Rows: []Row{first, second}, Length: 2, Head: second.Hash}}).Certificate(t.Context(), "people")
	if err != nil {
		t.Fatal(err)
	}
	if d, err := Verify(ended, text); d != nil || !errors.Is(err, context.Canceled) || errors.Is(err, ErrChain) {
		t.Errorf("%v: must be %v alone", err, context.Canceled)
	}
}

// TestCertificatesOfChainsThatFail tests that there is no certificate of a chain whose end is not what the store states, though
// its first rows are sound.
func TestCertificatesOfChainsThatFail(t *testing.T) {
	limit := newCap(t, account.ReplaceOne, 0)
	first, err := entry{Number: 1, Kind: kindCreated, Dataset: "people", Time: "2026", Salt: "s", Cap: &limit}.write("")
	if err != nil {
		t.Fatal(err)
	}
	second, err := entry{Number: 2, Kind: kindClosed, Dataset: "people", Time: "2026"}.write(first.Hash)
	if err != nil {
		t.Fatal(err)
	}
	for name, tail := range map[string]Tail{
		"a sound chain":       {Rows: []Row{first, second}, Length: 2, Head: second.Hash},
		"a lost row":          {Rows: []Row{first}, Length: 2, Head: second.Hash},
		"another length":      {Rows: []Row{first, second}, Length: 3, Head: second.Hash},
		"another end":         {Rows: []Row{first, second}, Length: 2, Head: first.Hash},
		"another text":        {Rows: []Row{first, {Text: second.Text + " ", Hash: second.Hash}}, Length: 2, Head: second.Hash},
		"another hash":        {Rows: []Row{first, {Text: second.Text, Hash: first.Hash}}, Length: 2, Head: first.Hash},
		"a row that is twice": {Rows: []Row{first, second, second}, Length: 3, Head: second.Hash},
	} {
		text, err := NewBook(fixed{tail: tail}).Certificate(t.Context(), "people")
		if name == "a sound chain" {
			if _, fails := Verify(t.Context(), text); err != nil || fails != nil {
				t.Errorf("%s: %v, %v", name, err, fails)
			}
		} else if !errors.Is(err, ErrChain) || text != nil {
			t.Errorf("%s: %v, %s", name, err, text)
		}
	}
}

// TestRowsAfterOthers tests which rows a chain takes after others: it is closed once, takes no run then and settles those that
// it has, and a settlement only rises, up to what the run itself reserved, whatever the cap counts for it.
func TestRowsAfterOthers(t *testing.T) {
	limit := newCap(t, account.ReplaceOne, 0)
	own, other := gaussian(limit.Mu/4, account.ReplaceOne), gaussian(limit.Mu/4, account.AddOrRemove)
	whole := downward(square(limit.Mu / 4))
	at := func(share float64) *float64 { charge := whole * share; return &charge }
	reserves := func(run string, l Limit) entry {
		cost, err := l.cost(t.Context(), limit)
		if err != nil {
			t.Fatal(err)
		}
		return entry{Kind: kindReserved, Run: run, Limit: &l, Cost: &cost}
	}
	settles := func(run string, charged *float64) entry { return entry{Kind: kindSettled, Run: run, Charged: charged} }
	closes := entry{Kind: kindClosed}
	above := whole * (1 + 0x1p-50)
	for name, c := range map[string]struct {
		rows  []entry
		want  string  // the error of the last row
		spent float64 // in units of mu^2, over whole
	}{
		"closed":                     {[]entry{closes}, "", 0},
		"closed twice":               {[]entry{closes, closes}, "the dataset is closed already", 0},
		"reserved when closed":       {[]entry{closes, reserves("a", own)}, "is closed: nothing more may be released of it", 0},
		"settled when closed":        {[]entry{reserves("a", own), closes, settles("a", at(.5))}, "", .5},
		"settled":                    {[]entry{reserves("a", own), settles("a", at(.25))}, "", .25},
		"settled at nothing":         {[]entry{reserves("a", own), settles("a", at(0))}, "", 0},
		"settled at all":             {[]entry{reserves("a", own), settles("a", at(1))}, "", 1},
		"settled at more":            {[]entry{reserves("a", own), settles("a", &above)}, "which run a reserved", 1},
		"settled again at the same":  {[]entry{reserves("a", own), settles("a", at(.5)), settles("a", at(.5))}, "a settlement only rises", .5},
		"settled again at nothing":   {[]entry{reserves("a", own), settles("a", at(0)), settles("a", at(0))}, "a settlement only rises", 0},
		"settled again at less":      {[]entry{reserves("a", own), settles("a", at(.5)), settles("a", at(.25))}, "a settlement only rises", .5},
		"settled again at more":      {[]entry{reserves("a", own), settles("a", at(.5)), settles("a", at(.75))}, "", .75},
		"another relation":           {[]entry{reserves("a", other)}, "", 4},
		"another relation, settled":  {[]entry{reserves("a", other), settles("a", at(.5))}, "", 2},
		"another relation, at all":   {[]entry{reserves("a", other), settles("a", at(1))}, "", 4},
		"another relation, at more":  {[]entry{reserves("a", other), settles("a", &above)}, "which run a reserved", 4},
		"another relation, at twice": {[]entry{reserves("a", other), settles("a", at(2))}, "which run a reserved", 4},
		"two runs, one settled":      {[]entry{reserves("a", own), reserves("b", own), settles("b", at(.5))}, "", 1.5},
		"a label of a run":           {[]entry{{Kind: kindReserved, Run: "a", Label: "x", Limit: &own, Cost: reserves("a", own).Cost}}, "", 1},
	} {
		chain := grown(t, limit)
		for i, e := range c.rows {
			err := chain.add(e)
			if last := i == len(c.rows)-1; err != nil && !last || last && ((err == nil) != (c.want == "") ||
				err != nil && (!errors.Is(err, ErrChain) || !strings.Contains(err.Error(), c.want))) {
				t.Errorf("%s: row %d: %v: must be %q", name, i, err, c.want)
			}
		}
		if got := upward(chain.spent) / whole; !(got >= c.spent*(1-1e-12) && got <= c.spent*(1+1e-12)) {
			t.Errorf("%s: spent %v times mu^2: must be %v", name, got, c.spent)
		}
	}
}

// TestChargesThatAreNone tests that a run ends at no charge that is negative, infinite or not a number, for each relation.
func TestChargesThatAreNone(t *testing.T) {
	c := newCap(t, account.ReplaceOne, 0)
	for _, r := range []account.Relation{account.ReplaceOne, account.AddOrRemove} {
		run := RunState{Run: "a", Limit: gaussian(c.Mu/4, r)}
		for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1, -5e-324} {
			if cost, err := run.end(c, x); err == nil || cost != (Cost{}) || err.Error() != fmt.Sprintf("budget: charged = %v: must be finite and >= 0", x) {
				t.Errorf("%v, charged %v: %+v, %v", r, x, cost, err)
			}
		}
	}
	for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1, -5e-324, 0} {
		l := gaussian(x, account.ReplaceOne)
		if err := l.check(); err == nil || !strings.Contains(err.Error(), "mu") {
			t.Errorf("a limit of mu = %v: %v", x, err)
		}
		if l.Schedule = []account.SampledSteps{{NoiseMultiplier: 1, Sampling: 1, Count: 1}}; (l.check() == nil) != (x == 0) {
			t.Errorf("a limit of samples and mu = %v: %v", x, l.check())
		}
		own := gaussian(c.Mu/4, account.ReplaceOne)
		if err := own.checkCost(t.Context(), c, Cost{Charge: x}, false); err == nil || !strings.HasPrefix(err.Error(), "budget: charge = ") {
			t.Errorf("a cost of %v: %v", x, err)
		}
		again := c
		if again.Mu = x; again.check() == nil {
			t.Errorf("a cap of mu = %v is sound", x)
		}
	}
}
