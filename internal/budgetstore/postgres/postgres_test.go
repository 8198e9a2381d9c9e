package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/stillpoint-dp/stillpoint/budget"
	"github.com/stillpoint-dp/stillpoint/internal/budgetstore/budgettest"
)

// server starts a PostgreSQL server from the programs on this machine, in a folder of its own, and
// returns its address. The server listens on a socket in that folder only. crash stops the server
// at once, without a clean shutdown, as a power loss would. start starts it again. The test is
// skipped if the programs are missing, and in CI.
func server(t testing.TB) (address string, crash, start func()) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Skip("PostgreSQL is not tried in CI")
	}
	programs := folderOfPrograms()
	if programs == "" {
		t.Skip("PostgreSQL is not tried: no initdb and postgres in PATH or /usr/lib/postgresql/*/bin")
	}
	// the path of a socket must be short
	dir, err := os.MkdirTemp("", "pg")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	as := func(arguments ...string) *exec.Cmd { return exec.Command(arguments[0], arguments[1:]...) }
	if os.Geteuid() == 0 { // PostgreSQL refuses to run as root
		if _, err := user.Lookup("postgres"); err != nil {
			t.Skip("PostgreSQL is not tried: the tests run as root, and there is no user postgres")
		}
		if out, err := exec.Command("chown", "postgres", dir).CombinedOutput(); err != nil {
			t.Skipf("PostgreSQL is not tried: chown: %s", out)
		}
		as = func(arguments ...string) *exec.Cmd {
			return exec.Command("setpriv", append([]string{"--reuid=postgres", "--regid=postgres", "--clear-groups"},
				arguments...)...)
		}
	}
	run := func(arguments ...string) {
		t.Helper()
		c := as(arguments...)
		c.Dir = dir
		if out, err := c.CombinedOutput(); err != nil {
			if errors.Is(err, exec.ErrNotFound) {
				t.Skip("PostgreSQL is not tried: ", err)
			}
			t.Fatalf("%v: %v: %s", arguments, err, out)
		}
	}
	data := filepath.Join(dir, "data")
	run(filepath.Join(programs, "initdb"), "-D", data, "-U", "stillpoint", "-A", "trust", "--no-sync")
	start = func() {
		run(filepath.Join(programs, "pg_ctl"), "-D", data, "-w", "-l", filepath.Join(dir, "log"), "-o",
			fmt.Sprintf("-k %s -h ''", dir), "start")
	}
	crash = func() { run(filepath.Join(programs, "pg_ctl"), "-D", data, "-m", "immediate", "stop") }
	start()
	t.Cleanup(crash)
	address = (&url.URL{Scheme: "postgres", Path: "/postgres",
		RawQuery: url.Values{"host": {dir}, "user": {"stillpoint"}}.Encode()}).String()
	return address, crash, start
}

func folderOfPrograms() string {
	if path, err := exec.LookPath("initdb"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			if _, err := os.Stat(filepath.Join(filepath.Dir(path), "pg_ctl")); err == nil {
				return filepath.Dir(path)
			}
		}
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) == 0 {
		return ""
	}
	return filepath.Dir(found[len(found)-1])
}

func TestConformance(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a server")
	}
	address, _, _ := server(t)
	n := 0
	budgettest.Run(t, func(t *testing.T) func() budget.Store {
		n++
		name := fmt.Sprintf("suite%d", n)
		db := connect(t, address)
		if _, err := db.Exec("CREATE DATABASE " + name); err != nil {
			t.Fatal(err)
		}
		own := strings.Replace(address, "/postgres?", "/"+name+"?", 1)
		return func() budget.Store {
			s, err := Open(context.Background(), own, true)
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
	})
}

func connect(t testing.TB, address string) *sql.DB {
	t.Helper()
	c, err := pgx.ParseConfig(address)
	if err != nil {
		t.Fatal(err)
	}
	db := stdlib.OpenDB(*c)
	t.Cleanup(func() { db.Close() })
	return db
}

// TestServerStops tests a server that stops. While it is stopped no run is admitted; after a crash
// and a restart it must have all reservations. A server that does not write commits to disk must be
// refused.
func TestServerStops(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a server")
	}
	ctx := context.Background()
	address, crash, start := server(t)
	s, err := Open(ctx, address, true)
	if err != nil {
		t.Fatal(err)
	}
	b := budget.NewBook(s)
	defer b.Close()
	if err := b.Create(ctx, "people", budgettest.Cap(t)); err != nil {
		t.Fatal(err)
	}
	session := budgettest.NewSession(t, 1e-3)
	reserve := func() error { return b.Run("people", "").Reserve(ctx, session.Ledger()) }
	const made = 20
	for range made {
		if err := reserve(); err != nil {
			t.Fatal(err)
		}
	}
	crash()
	if err := reserve(); !errors.Is(err, budget.ErrStore) {
		t.Errorf("without a server a run is told %v", err)
	}
	start()
	if err := reserve(); err != nil {
		t.Error(err)
	}
	d, err := b.Dataset(ctx, "people")
	if err != nil || len(d.Runs) != made+1 {
		t.Errorf("after a crash the store has %+v, %v: must have %d runs", d, err, made+1)
	}
	db := connect(t, address)
	for _, statement := range []string{"DELETE FROM stillpoint_rows", "UPDATE stillpoint_rows SET content = ''",
		"TRUNCATE stillpoint_rows", "UPDATE stillpoint_chains SET length = 1"} {
		if _, err := db.Exec(statement); err == nil {
			t.Errorf("%s is carried out", statement)
		}
	}
	for _, statement := range []string{"ALTER SYSTEM SET fsync = off", "SELECT pg_reload_conf()", "SELECT pg_sleep(1)"} {
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Open(ctx, address, false); err == nil || !strings.Contains(err.Error(), "fsync") {
		t.Errorf("a server that forgets: %v", err)
	}
}
