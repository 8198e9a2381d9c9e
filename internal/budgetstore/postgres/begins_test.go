package postgres

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"reflect"
	"strings"
	"testing"
	"time"
)

// begun returns the parameters with which a client begins a connection, and ends the connection.
func begun(c net.Conn) (map[string]string, error) {
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		return nil, err
	}
	var head [8]byte // the length of the message and the version of the protocol
	if _, err := io.ReadFull(c, head[:]); err != nil {
		return nil, err
	}
	text := make([]byte, binary.BigEndian.Uint32(head[:4])-8)
	if _, err := io.ReadFull(c, text); err != nil {
		return nil, err
	}
	told := map[string]string{}
	parts := strings.Split(strings.TrimRight(string(text), "\x00"), "\x00")
	for i := 0; i+1 < len(parts); i += 2 {
		told[parts[i]] = parts[i+1]
	}
	return told, nil
}

// TestConnectionsCommitSynchronously tests the parameters with which a connection begins: commits are synchronous,
// whatever the server's default or the address say, and the other parameters are those of the address.
func TestConnectionsCommitSynchronously(t *testing.T) {
	for _, name := range []string{"PGAPPNAME", "PGOPTIONS", "PGTZ"} {
		t.Setenv(name, "")
	}
	type result struct {
		told map[string]string
		err  error
	}
	for query, more := range map[string]map[string]string{
		"": {}, "&search_path=budgets": {"search_path": "budgets"},
		"&synchronous_commit=off&application_name=fits": {"application_name": "fits"},
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		met := make(chan result, 99)
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				told, err := begun(c)
				met <- result{told, err}
			}
		}()
		ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
		store, err := Open(ctx, "postgres://me@"+l.Addr().String()+"/people?sslmode=disable"+query, false)
		if store != nil || err == nil || !strings.HasPrefix(err.Error(), "budget: store people on 127.0.0.1: ") {
			t.Errorf("%s: %v, %v: must be the error of a connection that ends", query, store, err)
		}
		stop()
		_ = l.Close()
		r := <-met // the first of some, since the connection is tried again
		if r.err != nil {
			t.Fatal(r.err)
		}
		want := map[string]string{"user": "me", "database": "people", "synchronous_commit": "on"}
		for name, value := range more {
			want[name] = value
		}
		for name := range r.told { // such as the encoding of texts
			if _, ours := want[name]; !ours && name != "search_path" && name != "application_name" {
				delete(r.told, name)
			}
		}
		if !reflect.DeepEqual(r.told, want) {
			t.Errorf("%s: begins with %v: must be %v", query, r.told, want)
		}
	}
}
