package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/certificate"
	"github.com/stillpoint-dp/stillpoint/internal/train"
)

// TestErrorsAsJSON tests that an error printed as JSON states its kind, the field and the rule that
// was broken, and whether a budget was charged.
func TestErrorsAsJSON(t *testing.T) {
	for want, err := range map[string]error{
		`"code":"configuration","exit":1,"field":"privacy.epsilon","rule":"must be given (or --epsilon)","message":"privacy.epsilon: must be given (or --epsilon)","charged":false}`:               errors.New("privacy.epsilon: must be given (or --epsilon)"),
		`"code":"configuration","exit":1,"field":"columns.a.number","rule":"must be finite","message":"configuration x.yaml: dataset: columns.a.number = [0, 1]: must be finite","charged":false}`: errors.New("configuration x.yaml: dataset: columns.a.number = [0, 1]: must be finite"),
		`"code":"configuration","exit":1,"message":"any","charged":false}`:                       errors.New("any"),
		`"code":"system","exit":5,"message":"write m: no space left on device","charged":false}`: &fs.PathError{Op: "write", Path: "m", Err: syscall.ENOSPC},
		`"code":"system","exit":5,"message":"write m: no space left on device","charged":true}`:  &savedError{&fs.PathError{Op: "write", Path: "m", Err: syscall.ENOSPC}},
		`"code":"interrupted","exit":130,"message":"context canceled","charged":true}`:           &savedError{context.Canceled},
		`"code":"refused","exit":4,"message":"` + certificate.ErrAltered.Error() +
			`","charged":false}`: certificate.ErrAltered,
		`"code":"budget","exit":3,"message":"` + (&account.BudgetError{Want: 2, Have: 1}).Error() +
			`","charged":false}`: &account.BudgetError{Want: 2, Have: 1},
		`the whole budget stays charged in f/ledger.jsonl; stillpoint recover f saves the model in the journal there","charged":true}`: fmt.Errorf("fit: %w", &train.ChargedError{Ledger: "f/ledger.jsonl", Folder: "f"}),
	} {
		var stderr bytes.Buffer
		c := &console{err: &stderr, json: true}
		c.complain(err, exitCode(err))
		if got := stderr.String(); !strings.HasSuffix(got, want+"\n") ||
			!strings.HasPrefix(got, `{"event":"error","code":"`) || strings.Count(got, "\n") != 1 {
			t.Errorf("%v: got %s, want ...%s", err, got, want)
		}
	}
}

// TestErrorsAreOneLine: an error after the reservation is one line of text without escapes.
func TestErrorsAreOneLine(t *testing.T) {
	for _, folder := range []string{"", "f"} {
		var stderr bytes.Buffer
		err := fmt.Errorf("fit: %w", &train.ChargedError{Ledger: "f/ledger.jsonl", Folder: folder, Err: context.Canceled})
		(&console{err: &stderr}).complain(err, exitCode(err))
		if got := stderr.String(); strings.Contains(got, `\n`) || strings.Count(got, "\n") != 1 ||
			!strings.Contains(got, "context canceled; the whole budget stays charged") {
			t.Errorf("folder %q: %s", folder, got)
		}
	}
}

// TestEveryCodeIsNamed: every exit code of an error must have a name.
func TestEveryCodeIsNamed(t *testing.T) {
	for _, code := range []int{exitFailed, exitUsage, exitOverBudget, exitRefused, exitSystem, exitInterrupted} {
		if codes[code] == "" {
			t.Errorf("exit code %d has no name", code)
		}
	}
}

func TestStampIsTheVersion(t *testing.T) {
	defer func(old string) { stamp = old }(stamp)
	stamp = "v1.2.3"
	if got := software(); got != "stillpoint v1.2.3" {
		t.Errorf("got %q", got)
	}
}
