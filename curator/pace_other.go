//go:build !unix

package curator

import "time"

// processorTime returns 0: measurements use the clock alone.
func processorTime() time.Duration { return 0 }
