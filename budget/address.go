package budget

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
)

// Address is the location of a store of budgets: a file or a server. Exactly one of its fields is
// set.
type Address struct {
	// File is the path of an SQLite database.
	File string
	// Server is the address of a PostgreSQL database.
	Server string
}

const filePrefix = "sqlite:"

// ParseAddress reads sqlite:FILE or postgres://USER@HOST/DATABASE (postgresql:// is accepted, too).
// It returns an error for any other form and for an address with a password, since addresses are
// written to the files of a run. The PostgreSQL driver takes passwords from the environment
// variable PGPASSWORD and from password files.
func ParseAddress(text string) (Address, error) {
	if path, ok := strings.CutPrefix(text, filePrefix); ok && path != "" {
		return Address{File: path}, nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return Address{}, fmt.Errorf("budget: store: must be sqlite:FILE or postgres://USER@HOST/DATABASE")
	}
	if _, has := u.User.Password(); has || u.Query().Has("password") {
		return Address{}, fmt.Errorf("budget: store: must hold no password: set PGPASSWORD, or keep a password file")
	}
	return Address{Server: text}, nil
}

// In returns the address with a relative File joined to folder. An absolute File and a Server stay
// as they are.
func (a Address) In(folder string) Address {
	if a.File != "" && !filepath.IsAbs(a.File) {
		a.File = filepath.Join(folder, a.File)
	}
	return a
}

// String returns the address in the form that ParseAddress reads.
func (a Address) String() string {
	if a.File != "" {
		return filePrefix + a.File
	}
	return a.Server
}
