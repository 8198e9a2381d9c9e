package model

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/stillpoint-dp/stillpoint/internal/targetpair"
	"github.com/stillpoint-dp/stillpoint/loss"
)

// record is one encoded row of a table. Its slices are overwritten by the next record.
type record struct {
	kept  bool      // kept by the row filter
	ok    bool      // the row could be encoded
	x     []float32 // features of the encoded row; zeros if ok is false
	y     float64   // encoded target; 0 if the table's targets are not read
	share float64   // encoded weight or exposure of the row, in [0, 1]; 1 if the table has none
	// joined is the target together with the row's weight or exposure, both encoded in one float64
	// as the loss expects it ([loss.Carry]).
	joined float64
	// entry and exit are the times, as shares of the end, between which a record with the time to an event was observed,
	// and event says whether the event occurred at exit.
	entry, exit float64
	event       bool
	level       int    // of the column whose hazard ratios change
	label       string // text of the target's cell; "" if targets are not read or ok is false
	group       string // text of the cell of the column by; "" without one
}

// checkEvery is the number of rows between two checks of the context.
const checkEvery = 1024

// scan encodes the rows of a table and calls visit for each, in order. where is a row filter; "" keeps every
// row. by names a column of groups, "" none. If labelled is true, scan also encodes targets, and the table must have the target's column. An error
// of visit, or a cancelled context, ends the scan.
func (m *Model) scan(ctx context.Context, from Source, where, by string, labelled bool,
	visit func(record) error) (err error) {
	schema, err := m.schema.Where(where)
	if err != nil {
		return err
	}
	rows, err := from.open(m.csv)
	if err != nil {
		return err
	}
	defer rows.Close()
	header := rows.Header()
	bind := schema.BindUnlabelled
	if labelled {
		bind = schema.Bind
	}
	rowMap, err := bind(header)
	if err != nil {
		return err
	}
	group := cellOf(by, header)
	if by != "" && group < 0 {
		return fmt.Errorf("by = %s: must be a column of the table", strconv.Quote(by))
	}
	if by == "" { // a reader for the map leaves out other columns
		if err := rows.For(rowMap); err != nil {
			return err
		}
	}
	target := cellOf(schema.Target().Column, header)
	t := schema.Target()
	times := m.times()
	carries := labelled && (schema.Target().Weight != "" || schema.Target().Least() > 0)
	r := record{x: make([]float32, rowMap.Dim()), share: 1}
	for i := 0; ; i++ {
		if i%checkEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if !labelled {
			columns, n, err := rows.Readings()
			if err != nil {
				return err
			}
			for j := range n {
				if j%checkEvery == 0 && ctx.Err() != nil {
					return ctx.Err()
				}
				r.kept = rowMap.KeepReadings(columns, j)
				r.joined, r.ok = rowMap.EncodeReadingsWhole(r.x, columns, j)
				r.level = targetpair.Level(r.joined)
				if err := visit(r); err != nil {
					return err
				}
			}
			if n > 0 {
				continue
			}
		}
		cells, more, err := rows.Next()
		if err != nil || !more {
			return err
		}
		r.kept = rowMap.Keep(cells)
		r.joined, r.ok = rowMap.Encode(r.x, cells)
		r.level = targetpair.Level(r.joined)
		if t.Event != "" && labelled && r.ok {
			r.entry, r.exit, r.event = targetpair.SplitTimes(r.joined)
			r.joined = times.Carried(r.joined)
		}
		r.y, r.share = r.joined, 1
		if carries {
			r.y, r.share = loss.Carried(m.loss.Target(), r.joined)
		}
		r.label = ""
		if labelled && r.ok {
			r.label = strings.TrimSpace(cells[target])
		}
		if group >= 0 && group < len(cells) {
			r.group = strings.TrimSpace(cells[group])
		}
		if err := visit(r); err != nil {
			return err
		}
	}
}

// cellOf returns the index of a column in a table's header, or -1 if the header lacks it.
func cellOf(column string, header []string) int {
	for i, name := range header {
		if strings.TrimSpace(name) == column {
			return i
		}
	}
	return -1
}
