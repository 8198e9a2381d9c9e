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
	"github.com/stillpoint-dp/stillpoint/budget/budgettest"
)

// serverVariable names a server that is there, instead of one that a test starts.
const serverVariable = "STILLPOINT_POSTGRES"

// server starts a server of this machine's programs in a folder of its own, that
// listens on a socket there and nowhere else, and returns its address. Where there are
// none the test is skipped; so it is in CI.
func server(t *testing.T) string {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Skip("PostgreSQL is not tried in CI")
	}
	programs := folderOfPrograms()
	if programs == "" {
		t.Skip("PostgreSQL is not tried: no initdb and postgres in PATH or /usr/lib/postgresql/*/bin")
	}
	// The path of a socket is short.
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
			return exec.Command("setpriv", append([]string{"--reuid=postgres", "--regid=postgres", "--clear-groups"}, arguments...)...)
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
	run(filepath.Join(programs, "pg_ctl"), "-D", data, "-w", "-l", filepath.Join(dir, "log"), "-o", fmt.Sprintf("-k %s -h ''", dir), "start")
	t.Cleanup(func() { run(filepath.Join(programs, "pg_ctl"), "-D", data, "-m", "immediate", "stop") })
	return (&url.URL{Scheme: "postgres", Path: "/postgres", RawQuery: url.Values{"host": {dir}, "user": {"stillpoint"}}.Encode()}).String()
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
	address := server(t)
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

func connect(t *testing.T, address string) *sql.DB {
	t.Helper()
	c, err := pgx.ParseConfig(address)
	if err != nil {
		t.Fatal(err)
	}
	db := stdlib.OpenDB(*c)
	t.Cleanup(func() { db.Close() })
	return db
}
