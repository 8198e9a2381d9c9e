package model

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/stillpoint-dp/stillpoint/internal/arrowfile"
	"github.com/stillpoint-dp/stillpoint/internal/parquet"
)

// cell is a cell of the output of Predict. In the column "class" the number is the index of the class.
type cell struct {
	number float64
	absent bool
}

func numbers(to []cell, list ...float64) []cell {
	for _, x := range list {
		to = append(to, cell{number: x})
	}
	return to
}

// rowWriter writes the rows of the output of Predict. Without end the output is not whole.
type rowWriter interface {
	row([]cell) error
	end() error
}

// writer starts an output with these columns.
func (m *Model) writer(out io.Writer, columns []string, format string) (rowWriter, error) {
	classes := m.schema.Target().Classes
	texts := make([][]string, len(columns))
	if at := slices.Index(columns, "class"); at >= 0 {
		texts[at] = classes
	}
	w := bufio.NewWriterSize(out, 1<<16)
	switch format {
	case "", "csv":
		c := &csvRows{w: w, class: slices.Index(columns, "class")}
		for _, class := range classes {
			c.classes = append(c.classes, strings.TrimSuffix(csvLine([]string{class}), "\n"))
		}
		w.WriteString(csvLine(columns)) // Flush returns its error
		return c, nil
	case "parquet", "arrow":
	default:
		return nil, fmt.Errorf("format = %q: must be csv, parquet or arrow", format)
	}
	b := &batches{w: w, most: batchRows(columns, classes), numbers: make([][]float64, len(columns)),
		absent: make([][]bool, len(columns))}
	var err error
	if format == "parquet" {
		b.to, err = parquet.NewWriter(w, columns, texts)
	} else {
		b.to, err = arrowfile.NewWriter(w, columns, texts)
	}
	return b, err
}

// csvLine returns a row of CSV with its line end.
func csvLine(cells []string) string {
	var b strings.Builder
	w := csv.NewWriter(&b)
	w.Write(cells) // a Builder returns no errors
	w.Flush()
	return b.String()
}

// show appends numbers as cells of CSV: the shortest decimals that parse to them.
func show(to []byte, x float64) []byte { return strconv.AppendFloat(to, x, 'g', -1, 64) }

// csvRows writes CSV.
type csvRows struct {
	w       *bufio.Writer
	class   int      // index of the column of classes, or -1
	classes []string // as cells of CSV
}

func (c *csvRows) row(cells []cell) error {
	b := c.w.AvailableBuffer()
	for i, cell := range cells {
		if i > 0 {
			b = append(b, ',')
		}
		switch {
		case cell.absent && len(cells) == 1:
			b = append(b, `""`...)
		case cell.absent:
		case i == c.class:
			b = append(b, c.classes[int(cell.number)]...)
		default:
			b = show(b, cell.number)
		}
	}
	_, err := c.w.Write(append(b, '\n'))
	return err
}

func (c *csvRows) end() error { return c.w.Flush() }

// batches collects rows and writes them by columns, at most so many at a time.
type batches struct {
	w  *bufio.Writer
	to interface {
		Write(numbers [][]float64, absent [][]bool) error
		Close() error
	}
	most    int
	numbers [][]float64
	absent  [][]bool
}

// batchRows returns the number of rows of a batch: 65,536, and fewer if a batch would have more than 2^23 cells, where
// eight bytes of a class count as a cell.
func batchRows(columns, classes []string) int {
	longest := 0
	for _, c := range classes {
		longest = max(longest, len(c))
	}
	return max(1, min(1<<16, 1<<23/(len(columns)+longest/8)))
}

func (b *batches) row(cells []cell) error {
	for i, c := range cells {
		b.numbers[i], b.absent[i] = append(b.numbers[i], c.number), append(b.absent[i], c.absent)
	}
	if len(b.numbers[0]) == b.most {
		return b.flush()
	}
	return nil
}

func (b *batches) flush() error {
	if len(b.numbers[0]) == 0 {
		return nil
	}
	err := b.to.Write(b.numbers, b.absent)
	for i := range b.numbers {
		b.numbers[i], b.absent[i] = b.numbers[i][:0], b.absent[i][:0]
	}
	return err
}

func (b *batches) end() error {
	for _, step := range []func() error{b.flush, b.to.Close, b.w.Flush} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}
