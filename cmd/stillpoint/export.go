package main

import (
	"context"
	"errors"
	"io"

	"github.com/stillpoint-dp/stillpoint/export"
	"github.com/stillpoint-dp/stillpoint/internal/runfolder"
	"github.com/stillpoint-dp/stillpoint/model"
)

type exportCommand struct {
	Model   string   `arg:"" help:"Model file, or an output folder." placeholder:"MODEL"`
	ONNX    string   `help:"Write a graph for ONNX runtimes to FILE." name:"onnx" placeholder:"FILE"`
	Matrix  bool     `help:"With --onnx: one input [rows, numbers] in place of an input for each column of numbers."`
	Float32 bool     `help:"With --onnx: numbers as float32, which takes less time and rounds predictions." name:"float32"`
	SQL     string   `help:"Print a query: duckdb, postgresql, sqlite or bigquery." name:"sql" placeholder:"DIALECT"`
	Table   string   `help:"With --sql: the text after FROM, such as the table's name." placeholder:"TABLE" default:"people"`
	Keep    []string `help:"With --sql: columns of the table to write before the predictions, such as a key." placeholder:"COLUMN,..."`
	Out     string   `help:"With --sql: write to FILE instead of standard output." placeholder:"FILE"`
}

func (e *exportCommand) Run(_ context.Context, c *console) error {
	if (e.ONNX == "") == (e.SQL == "") {
		return errors.New("export: give either --onnx FILE or --sql DIALECT")
	}
	if e.ONNX == "" && (e.Matrix || e.Float32) {
		return errors.New("export: --matrix and --float32 are forms of a graph: give them with --onnx FILE")
	}
	if e.ONNX != "" && (len(e.Keep) > 0 || e.Out != "") {
		return errors.New("export: --keep and --out are of a query: give them with --sql DIALECT")
	}
	e.Model = inFolder(e.Model, runfolder.ModelFile)
	m, err := model.Read(e.Model)
	if err != nil {
		return err
	}
	if e.ONNX != "" {
		graph, err := export.ONNX(m, export.Graph{Matrix: e.Matrix, Single: e.Float32})
		if err != nil {
			return err
		}
		return writeFile(e.ONNX, []string{e.Model}, writes(graph))
	}
	query, err := export.SQL(m, export.Query{Dialect: e.SQL, Table: e.Table, Keep: e.Keep})
	if err != nil {
		return err
	}
	if e.Out != "" {
		return writeFile(e.Out, []string{e.Model}, writes([]byte(query)))
	}
	_, err = io.WriteString(c.out, query)
	return err
}

func writes(text []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	}
}
