package table

import (
	"io"
	"sync"
)

// Each takes a table's rows in their order, with work on them done by several
// goroutines: work gets chunks and yields what it makes of their rows, a part at a
// time, and stops when yield returns false; take gets the parts of all chunks, in
// order, from the caller's goroutine. Neither order nor parts depend on how many
// work. The first error ends it.
func Each[T any](r *Reader, workers int, work func(c Chunk, yield func(T) bool) error, take func(T) error) error {
	type job struct {
		chunk Chunk
		parts chan T
		err   error // once parts is closed
	}
	var all sync.WaitGroup
	stop := make(chan struct{})
	defer func() {
		close(stop)
		all.Wait()
	}()
	todo, order := make(chan *job), make(chan *job, 2*workers)
	var readErr error // once order is closed
	all.Go(func() {
		defer close(order)
		defer close(todo)
		for {
			j := &job{parts: make(chan T, 1)}
			if j.chunk, readErr = r.Chunk(); readErr != nil {
				return
			}
			for _, queue := range []chan *job{order, todo} {
				select {
				case queue <- j:
				case <-stop:
					return
				}
			}
		}
	})
	for range workers {
		all.Go(func() {
			for j := range todo {
				j.err = work(j.chunk, func(part T) bool {
					select {
					case j.parts <- part:
						return true
					case <-stop:
						return false
					}
				})
				close(j.parts)
			}
		})
	}
	for j := range order {
		for part := range j.parts {
			if err := take(part); err != nil {
				return err
			}
		}
		if j.err != nil {
			return j.err
		}
	}
	if readErr != io.EOF {
		return readErr
	}
	if err := r.whole(); err != io.EOF {
		return err
	}
	return nil
}
