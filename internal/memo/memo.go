// Package memo keeps results of searches that are asked for again and again with the same arguments.
package memo

import "sync"

// Most is the number of results that a memo keeps. With the next one it forgets all that it has, so that a long
// search over many arguments needs little memory.
const Most = 256

// Memo keeps results by the arguments of a function. The function must be one of its arguments alone, so that the
// result is the same, kept or not. The zero value is empty and ready to use, by several goroutines at a time.
type Memo[Q comparable, A any] struct {
	lock    sync.Mutex
	results map[Q]A
}

// Of returns the result for q: the one kept, or else the one of find, which is then kept. An error is not kept. Two
// goroutines that ask for the same result at the same time may both find it.
func (m *Memo[Q, A]) Of(q Q, find func() (A, error)) (A, error) {
	m.lock.Lock()
	kept, ok := m.results[q]
	m.lock.Unlock()
	if ok {
		return kept, nil
	}
	found, err := find()
	if err != nil {
		return found, err
	}
	m.lock.Lock()
	defer m.lock.Unlock()
	if m.results == nil || len(m.results) >= Most {
		m.results = map[Q]A{}
	}
	m.results[q] = found
	return found, nil
}
