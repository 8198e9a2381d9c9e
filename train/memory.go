package train

import (
	"errors"
	"fmt"
	"math"
)

// Memory says how much of the table is kept in memory, encoded. It changes speed
// and nothing that is released.
type Memory struct {
	// Gigabytes, of 10^9 bytes, are kept in memory, 4 bytes of them for each row
	// wherever it is; zero means all. Rows beyond go to a private file
	// (curator.Config), which is read ahead of each pass.
	Gigabytes Positive `yaml:"gigabytes"`
	// Folder holds that file, relative to the configuration's folder; empty for
	// the system's folder for temporary files. Its disk must be one that may hold
	// records: the file is not encrypted.
	Folder string `yaml:"folder"`
}

func (m Memory) check() error {
	// 2^63 bytes, which an int64 does not hold, are 9.22e9 gigabytes.
	if !(m.Gigabytes >= 0 && m.Gigabytes <= 9e9) {
		return fmt.Errorf("memory.gigabytes = %v: must be > 0 and at most 9e9, or be left out for all", m.Gigabytes)
	}
	if m.Folder != "" && m.Gigabytes == 0 {
		return errors.New("memory.folder: is for rows beyond memory.gigabytes, which must be given with it")
	}
	return nil
}

// bytes is for curator.Config, where zero means all.
func (m Memory) bytes() int64 { return int64(math.Ceil(float64(m.Gigabytes) * 1e9)) }

// memoryFolder is the folder, resolved against the configuration's.
func (c *Config) memoryFolder() string {
	if c.Memory.Folder == "" {
		return ""
	}
	return c.resolve(c.Memory.Folder)
}
