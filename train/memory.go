package train

import (
	"errors"
	"fmt"
	"math"
)

// Memory limits how much of the encoded table is kept in memory. It affects speed but no release.
type Memory struct {
	// Gigabytes is the memory for the table, in units of 10^9 bytes; zero means the whole table. It
	// includes 4 bytes for each row, wherever the row is kept. Further rows are written to a private
	// file (curator.Config), which is read ahead of each pass.
	Gigabytes Positive `yaml:"gigabytes"`
	// Folder is the folder of that file, relative to the configuration's folder; empty means the
	// system's folder for temporary files. The file is not encrypted, so its disk must be one that may
	// hold records.
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

// bytes returns the limit for curator.Config, where zero means no limit.
func (m Memory) bytes() int64 { return int64(math.Ceil(float64(m.Gigabytes) * 1e9)) }

// memoryFolder returns the folder, resolved against the configuration's folder.
func (c *Config) memoryFolder() string {
	if c.Memory.Folder == "" {
		return ""
	}
	return c.resolve(c.Memory.Folder)
}
