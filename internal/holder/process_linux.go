package holder

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"
)

// Self implements Machine.
func (machine) Self() Process { return self() }

var self = sync.OnceValue(func() Process {
	p := Process{ID: os.Getpid()}
	p.Host, _ = os.Hostname()
	if boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id"); err == nil {
		p.Boot = strings.TrimSpace(string(boot))
	}
	p.Space, _ = os.Readlink("/proc/self/ns/pid")
	p.Start, _ = started(p.ID)
	return p
})

// started returns the time at which the process with the number id started, in ticks since the machine's start.
// runs is false if there is no such process or if it has ended and its parent has not asked for its end. A
// process that may not be looked at runs.
func started(id int) (start string, runs bool) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(id) + "/stat")
	if errors.Is(err, fs.ErrNotExist) {
		return "", false
	}
	// The name of the program, in parentheses, may contain anything. The state is the first field after it,
	// and the start the twentieth.
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if err != nil || len(fields) < 20 {
		return "", true
	}
	return string(fields[19]), string(fields[0]) != "Z"
}
