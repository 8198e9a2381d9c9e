package train

import (
	"errors"
	"fmt"
	"math"
)

// Memory limits how much of the encoded table is kept in memory. The limit affects the speed of a fit and has
// no effect on its releases.
type Memory struct {
	// Gigabytes is the memory for the encoded table, in units of 10^9 bytes; zero means the whole table. The
	// limit includes 4 bytes for every row. Rows that do not fit are written to a private file
	// (curator.Config), which each pass over the table reads.
	Gigabytes Positive `yaml:"gigabytes"`
	// Folder is the folder of the file with the rows that do not fit, relative to the configuration's
	// folder; empty means the system's folder for temporary files. The file is not encrypted, so its disk
	// must be one on which records may be stored.
	Folder string `yaml:"folder"`
}

func (m Memory) check() error {
	// 9e9 gigabytes are below 2^63 bytes, the limit of an int64.
	if !(m.Gigabytes >= 0 && m.Gigabytes <= 9e9) {
		return fmt.Errorf("memory.gigabytes = %v: must be > 0 and at most 9e9, or be left out for all", m.Gigabytes)
	}
	if m.Folder != "" && m.Gigabytes == 0 {
		return errors.New("memory.folder: is for rows beyond memory.gigabytes, which must be given with it")
	}
	return nil
}

// bytes returns the memory limit in bytes for curator.Config, in which zero means no limit.
func (m Memory) bytes() int64 { return int64(math.Ceil(float64(m.Gigabytes) * 1e9)) }

// memoryFolder returns the folder for the rows that do not fit into memory, resolved against the
// configuration's folder.
func (c *Config) memoryFolder() string {
	if c.Memory.Folder == "" {
		return ""
	}
	return c.resolve(c.Memory.Folder)
}
