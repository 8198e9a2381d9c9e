//go:build unix

package main

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestNothingRunsOnAfterATest: a program that a test has started and not ended is ended with the test.
func TestNothingRunsOnAfterATest(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "tests")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nsleep 300 >/dev/null 2>&1 &\necho $! >started\nexit 1\n"), 0o777); err != nil {
		t.Fatal(err)
	}
	w := &switched{scratch: dir, binaries: map[string]string{dir: script}, limit: time.Minute}
	if passed, _, err := w.run(dir, "any"); passed || err != nil {
		t.Fatalf("passed %v, %v: must fail", passed, err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "started"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	for range 200 {
		state, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) || strings.Contains(string(state), ") Z ") {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
	t.Error("the program runs on")
}
