package sqlite

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	sqlite "modernc.org/sqlite"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/budget"
	"github.com/stillpoint-dp/stillpoint/internal/budgetstore/budgettest"
)

// TestMain runs reserveForever if the environment asks for it, so that tests can start this binary
// as a process to kill.
func TestMain(m *testing.M) {
	if path := os.Getenv("RESERVES_IN"); path != "" {
		reserveForever(path, os.Getenv("DIES_BEFORE"))
	}
	os.Exit(m.Run())
}

// perRun is the mu that each run reserves. It is so small that the cap covers all reservations of
// these tests.
const perRun = 1e-3

// reserveForever reserves runs without end and prints each reservation after it is made. It kills
// its process before statement number before, counted from 1 after the store is open; 0 means
// never.
func reserveForever(path, before string) {
	number, _ := strconv.Atoi(before)
	sql.Register("dying", &dying{Driver: &sqlite.Driver{}, before: number})
	driverName = "dying"
	ctx := context.Background()
	s, err := Open(ctx, path, false)
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	statements = 0
	b := budget.NewBook(s)
	t := &testing.T{}
	session := budgettest.NewSession(t, perRun)
	for {
		if err := b.Run("people", "").Reserve(ctx, session.Ledger()); err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		fmt.Println("reserved")
	}
}

// dying is an SQLite driver that kills its process before one of its statements.
type dying struct {
	driver.Driver
	before int
}

var statements int

func (d *dying) Open(name string) (driver.Conn, error) {
	c, err := d.Driver.Open(name)
	return &dyingConn{c, d}, err
}

type dyingConn struct {
	driver.Conn
	d *dying
}

func (c *dyingConn) count() {
	if statements++; statements == c.d.before {
		p, _ := os.FindProcess(os.Getpid())
		_ = p.Kill()
		select {}
	}
}

func (c *dyingConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	c.count()
	return c.Conn.(driver.ExecerContext).ExecContext(ctx, query, args)
}

func (c *dyingConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	c.count()
	return c.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
}

// store makes a store with a dataset and returns its path.
func store(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "budgets.db")
	b := open(t, path, true)
	if err := b.Create(context.Background(), "people", budgettest.Cap(t)); err != nil {
		t.Fatal(err)
	}
	return path
}

func open(t *testing.T, path string, create bool) *budget.Book {
	t.Helper()
	s, err := Open(context.Background(), path, create)
	if err != nil {
		t.Fatal(err)
	}
	b := budget.NewBook(s)
	t.Cleanup(func() { b.Close() })
	return b
}

func runs(t *testing.T, path string) int {
	t.Helper()
	d, err := open(t, path, false).Dataset(context.Background(), "people")
	if err != nil {
		t.Fatal(err)
	}
	return len(d.Runs)
}

// reserving runs a process that reserves until it ends. If after > 0, it kills the process once
// that many reservations are printed. It returns the number of printed reservations, and the
// output.
func reserving(t *testing.T, path string, before, after int) (told int, output string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, os.Args[0])
	c.Env = append(os.Environ(), "RESERVES_IN="+path, fmt.Sprint("DIES_BEFORE=", before))
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		output += lines.Text() + "\n"
		if lines.Text() == "reserved" {
			told++
		}
		if after > 0 && told == after {
			_ = c.Process.Kill() // what it has printed before is read to the end
		}
	}
	_ = c.Wait()
	return told, output
}

// TestKilledBetweenStatements kills a process before each of the statements of its first two
// reservations. Every printed reservation is in the store, at most one more is, and the store
// remains usable.
func TestKilledBetweenStatements(t *testing.T) {
	path := store(t)
	last, done := 0, 0
	for before := 1; ; before++ {
		told, out := reserving(t, path, before, 0)
		if strings.Contains(out, "error") {
			t.Fatalf("before statement %d: %s", before, out)
		}
		now := runs(t, path)
		if now < last+told || now > last+told+1 {
			t.Fatalf("killed before statement %d: the store has %d more reservations, the process was told of %d", before,
				now-last, told)
		}
		last = now
		if done = told; done == 2 {
			t.Logf("%d statements", before)
			if before < 16 {
				t.Errorf("two reservations are only %d statements", before)
			}
			return
		}
		if testing.Short() && before == 9 {
			return
		}
	}
}

// TestKilled kills processes that reserve runs at random times, two at once. Every reservation that
// they have printed must be in the store.
func TestKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	path := store(t)
	total := 0
	for i := range 6 {
		other := make(chan int)
		go func() { told, _ := reserving(t, path, 0, 2+i); other <- told }()
		told, _ := reserving(t, path, 0, 1+i)
		total += told + <-other
	}
	if now := runs(t, path); now < total || now > total+12 {
		t.Errorf("the store has %d reservations: processes that were killed were told of %d", now, total)
	}
}

// TestDamage overwrites each page of a store in turn, and truncates the store at each page. No
// reservation is lost: the store is refused, or has all reservations, or admits nothing.
func TestDamage(t *testing.T) {
	path := store(t)
	b := open(t, path, false)
	const made = 40
	reserve(t, b, made)
	b.Close()
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const page = 4096
	refused, same := 0, 0
	look := func(what string, text []byte) {
		t.Helper()
		damaged := filepath.Join(t.TempDir(), "budgets.db")
		if err := os.WriteFile(damaged, text, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Open(context.Background(), damaged, false)
		if err != nil {
			refused++
			return
		}
		b := budget.NewBook(s)
		defer b.Close()
		session := budgettest.NewSession(t, perRun)
		if b.Run("people", "").Reserve(context.Background(), session.Ledger()) != nil {
			refused++
			return
		}
		d, err := b.Dataset(context.Background(), "people")
		if err != nil {
			refused++
			return
		}
		same++
		if len(d.Runs) != made+1 {
			t.Errorf("%s: a run is admitted, and the store has %d of %d", what, len(d.Runs), made+1)
		}
	}
	for at := 0; at < len(whole); at += page {
		for name, fill := range map[string]byte{"zeros": 0, "ones": 255} {
			text := bytes.Clone(whole)
			for i := range page {
				text[at+i] = fill
			}
			look(fmt.Sprintf("%s in page %d", name, at/page), text)
		}
		if at > 0 {
			look(fmt.Sprintf("cut off after page %d", at/page), whole[:at])
		}
		// The page is replaced by the page before it.
		if at >= page {
			text := bytes.Clone(whole)
			copy(text[at:at+page], whole[at-page:at])
			look(fmt.Sprintf("page %d in the place of the next", at/page-1), text)
		}
	}
	look("nothing", whole)
	if same == 0 || refused == 0 {
		t.Errorf("%d damaged stores were refused and %d not: both must be seen", refused, same)
	}
	t.Logf("%d damaged stores: %d refused, %d unharmed", refused+same, refused, same)
}

func reserve(t *testing.T, b *budget.Book, n int) {
	t.Helper()
	session := budgettest.NewSession(t, perRun)
	for range n {
		if err := b.Run("people", "").Reserve(context.Background(), session.Ledger()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAltered changes rows in the database directly. Triggers refuse it, and without triggers the
// hash chain reveals it.
func TestAltered(t *testing.T) {
	path := store(t)
	b := open(t, path, false)
	reserve(t, b, 3)
	b.Close()
	db, err := sql.Open("sqlite", address(path))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, statement := range []string{
		"UPDATE stillpoint_rows SET content = replace(content, '0', '1')",
		"DELETE FROM stillpoint_rows WHERE number = 4",
		"UPDATE stillpoint_chains SET length = 3",
	} {
		if _, err := db.Exec(statement); err == nil ||
			!strings.Contains(err.Error(), "rows") && !strings.Contains(err.Error(), "row") {
			t.Errorf("%s: %v", statement, err)
		}
	}
	for _, trigger := range []string{"update", "delete", "less"} {
		if _, err := db.Exec("DROP TRIGGER stillpoint_no_" + trigger); err != nil {
			t.Fatal(err)
		}
	}
	for _, statement := range []string{
		"DELETE FROM stillpoint_rows WHERE number = 4",
		"DELETE FROM stillpoint_rows WHERE number = 2",
		"DELETE FROM stillpoint_rows",
		"UPDATE stillpoint_rows SET content = replace(content, 'replace-one', 'add-or-remove') WHERE number = 1",
		"UPDATE stillpoint_rows SET hash = 'x' || substr(hash, 2) WHERE number = 4",
		"UPDATE stillpoint_chains SET length = 3, head = (SELECT hash FROM stillpoint_rows WHERE number = 3)",
		"DELETE FROM stillpoint_chains",
	} {
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
		session := budgettest.NewSession(t, perRun)
		err = open(t, path, false).Run("people", "").Reserve(context.Background(), session.Ledger())
		if !errors.Is(err, budget.ErrChain) {
			t.Errorf("%s: a run is told %v: must be refused", statement, err)
		}
		if err := os.WriteFile(path, whole, 0o600); err != nil {
			t.Fatal(err)
		}
		db.Close()
		if db, err = sql.Open("sqlite", address(path)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSetBack restores an earlier state of a store. A process that has read the later state refuses
// it at once, and the certificates of the runs in between reveal it.
func TestSetBack(t *testing.T) {
	path := store(t)
	b := open(t, path, false)
	reserve(t, b, 2)
	backup, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	session := budgettest.NewSession(t, perRun)
	lost := b.Run("people", "")
	if err := lost.Reserve(context.Background(), session.Ledger()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, backup, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := b.Run("people", "").Reserve(context.Background(), session.Ledger()); !errors.Is(err, budget.ErrChain) {
		t.Errorf("the process that made the later rows is told %v", err)
	}
	other := open(t, path, false)
	reserve(t, other, 1)
	d, err := other.Dataset(context.Background(), "people")
	if err != nil {
		t.Fatal(err)
	}
	receipt, _ := lost.Receipt()
	if err := d.Has(receipt); !errors.Is(err, budget.ErrChain) {
		t.Errorf("the lost run's receipt: %v", err)
	}
}

// TestFullAndReadOnly: a store that cannot be written refuses runs, and works again when it can be
// written.
func TestFullAndReadOnly(t *testing.T) {
	path := store(t)
	reserve(t, open(t, path, false), 2)
	session := budgettest.NewSession(t, perRun)
	// The limit belongs to a connection, so the driver is registered under another name.
	sql.Register("full", full{&sqlite.Driver{}})
	driverName = "full"
	b := open(t, path, false)
	driverName = "sqlite"
	admitted := 0
	for range 400 {
		if err := b.Run("people", "").Reserve(context.Background(), session.Ledger()); err != nil {
			if !strings.Contains(err.Error(), "full") {
				t.Errorf("on a full disk: %v", err)
			}
			break
		}
		admitted++
	}
	b.Close()
	if admitted == 400 || runs(t, path) != 2+admitted {
		t.Errorf("%d were admitted until the disk was full, the store has %d", admitted, runs(t, path)-2)
	}
	reserve(t, open(t, path, false), 1)
	if os.Geteuid() != 0 { // root may write everything
		if err := os.Chmod(path, 0o400); err != nil {
			t.Fatal(err)
		}
		s, err := Open(context.Background(), path, false)
		if err == nil {
			err = budget.NewBook(s).Run("people", "").Reserve(context.Background(), session.Ledger())
		}
		if over := (*account.BudgetError)(nil); err == nil || errors.As(err, &over) {
			t.Errorf("a store that may only be read: %v", err)
		}
	}
	if runs(t, path) != 3+admitted {
		t.Error("the store has changed")
	}
}

// full is an SQLite driver on a disk with room for a few pages.
type full struct{ driver.Driver }

func (f full) Open(name string) (driver.Conn, error) {
	c, err := f.Driver.Open(name)
	if err == nil {
		_, err = c.(driver.ExecerContext).ExecContext(context.Background(), "PRAGMA max_page_count = 12", nil)
	}
	return c, err
}

// TestNoStore: opening a name that does not exist, or a file that is no store, does not begin a new
// budget.
func TestNoStore(t *testing.T) {
	dir := t.TempDir()
	table := filepath.Join(dir, "people.csv")
	if err := os.WriteFile(table, []byte(strings.Repeat("age,ill\n30,no\n", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	empty := filepath.Join(dir, "empty.db")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(dir, "missing.db"), dir, table, empty} {
		if _, err := Open(context.Background(), path, false); err == nil {
			t.Errorf("%s is a store", path)
		}
	}
	if _, err := Open(context.Background(), table, true); err == nil {
		t.Error("a table is made a store")
	}
	if _, err := os.Stat(filepath.Join(dir, "missing.db")); err == nil {
		t.Error("looking for a store makes one")
	}
}
