package table

import (
	"io"
	"sync"
)

// Each processes a table's rows in parallel and passes the results on in the order of the rows. As many
// goroutines as workers says call work, each for one chunk at a time. work calls yield for each of its
// results, called parts, and must return when yield returns false. The caller's goroutine calls take with
// the parts of all chunks in the order of the rows. The parts and their order do not depend on workers. The
// first error stops all work, and Each returns it.
func Each[T any](r *Reader, workers int, work func(c Chunk, yield func(T) bool) error, take func(T) error) error {
	type job struct {
		chunk Chunk
		parts chan T
		err   error // valid once parts is closed
	}
	var all sync.WaitGroup
	stop := make(chan struct{})
	defer func() {
		close(stop)
		all.Wait()
	}()
	todo, order := make(chan *job), make(chan *job, 2*workers)
	var readErr error // valid once order is closed
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
