package certificate

import (
	"errors"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
)

// TestReservations: a certificate keeps the reservation, the row of a dataset's chain by which its run was
// charged. A row that no chain can have is refused by New, and in a file whose checksum was recomputed.
func TestReservations(t *testing.T) {
	head := strings.Repeat("0f", 32)
	good := account.Reservation{Dataset: "census 2026", Run: "ab12", Row: 2, Head: head}
	for _, c := range []struct {
		r  account.Reservation
		ok bool
	}{
		{good, true},
		{account.Reservation{Dataset: "", Run: "ab12", Row: 2, Head: head}, false},
		{account.Reservation{Dataset: " a", Run: "ab12", Row: 2, Head: head}, false},
		{account.Reservation{Dataset: "a", Run: "", Row: 2, Head: head}, false},
		{account.Reservation{Dataset: "a", Run: "ab12", Row: 1, Head: head}, false},
		{account.Reservation{Dataset: "a", Run: "ab12", Row: 2, Head: head[:62]}, false},
		{account.Reservation{Dataset: "a", Run: "ab12", Row: 2, Head: strings.ToUpper(head)}, false},
	} {
		p := params(t)
		p.Reservation = &c.r
		cert, err := p.certificate()
		if (err == nil) != c.ok || !c.ok && !errors.Is(err, ErrUnsound) {
			t.Errorf("new with %+v: %v", c.r, err)
		}
		if !c.ok {
			continue
		}
		if got, ok := cert.Budget(); !ok || got != c.r {
			t.Errorf("got %+v, %v", got, ok)
		}
		report, err := cert.Verify(t.Context())
		if err != nil || !strings.Contains(report.String(), head) {
			t.Errorf("the report does not tell the head: %v", err)
		}
		root := parseNode(t, cert.text)
		root.get("budget").set("row", "1")
		if _, err := verdict(root.sealed(t)); err == nil {
			t.Error("a file whose reservation is the first row of a chain verifies")
		}
	}
}
