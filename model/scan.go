package model

import (
	"context"
	"strings"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/loss"
)

// record is one row of a table. Its slices are overwritten by the next.
type record struct {
	kept  bool      // by the row filter
	ok    bool      // x and y are what the cells say
	x     []float32 // encoded, zero unless ok
	y     float64   // encoded target; 0 in a table that is not labelled
	share float64   // its weight or exposure
	// joined is the target as the loss takes it, with the share.
	joined float64
	label  string // the target's cell, of a labelled table and if ok
}

// checkEvery is the number of rows between looks at the context.
const checkEvery = 1024

// scan visits the rows of a table in order.
func (m *Model) scan(ctx context.Context, from Source, where string, labelled bool, visit func(record) error) (err error) {
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
	if err := rows.For(rowMap); err != nil {
		return err
	}
	target := targetCell(schema, header)
	carries := labelled && (schema.Target().Weight != "" || schema.Target().Least() > 0)
	r := record{x: make([]float32, rowMap.Dim())}
	for i := 0; ; i++ {
		if i%checkEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		cells, more, err := rows.Next()
		if err != nil || !more {
			return err
		}
		r.kept = rowMap.Keep(cells)
		r.joined, r.ok = rowMap.Encode(r.x, cells)
		r.y, r.share = r.joined, 1
		if carries {
			r.y, r.share = loss.Carried(m.loss.Target(), r.joined)
		}
		r.label = ""
		if labelled && r.ok {
			r.label = strings.TrimSpace(cells[target])
		}
		if err := visit(r); err != nil {
			return err
		}
	}
}

// targetCell returns where the target stands in a labelled table's header.
func targetCell(schema *dataset.Schema, header []string) int {
	for i, name := range header {
		if strings.TrimSpace(name) == schema.Target().Column {
			return i
		}
	}
	return -1
}
