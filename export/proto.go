package export

import (
	"encoding/binary"
	"math"
)

// Numbers of fields and of enum values from onnx.proto, ONNX 1.15.
const (
	modelIRVersion, modelProducer, modelProducerVersion, modelGraph, modelOpset, modelMetadata = 1, 2, 3, 7, 8, 14
	graphNode, graphName, graphInitializer, graphInput, graphOutput                            = 1, 2, 5, 11, 12
	nodeInput, nodeOutput, nodeType, nodeAttribute, nodeDomain                                 = 1, 2, 4, 5, 7
	attributeName, attributeInt, attributeInts, attributeStrings, attributeType                = 1, 3, 8, 9, 20
	tensorDims, tensorType, tensorStrings, tensorName, tensorRaw                               = 1, 2, 6, 8, 9
	valueName, valueType, typeTensor, tensorElement, tensorShape                               = 1, 2, 1, 1, 2
	shapeDim, dimValue, dimName                                                                = 1, 1, 2
	opsetDomain, opsetVersion, entryKey, entryValue                                            = 1, 2, 1, 2

	kindInt, kindInts, kindStrings                      = 2, 7, 8
	float32Type, int64Type, stringType, float64Type int = 1, 7, 8, 11
)

// message is a protobuf message under construction: a sequence of fields, each a tag and a value. A tag is
// the field's number times 8 plus the form of the value. Tags, integers and lengths are varints.
type message []byte

// Forms of values in protobuf's encoding: a varint, or a length followed by bytes.
const varint, lengthAndBytes = 0, 2

func (m *message) bytes(field int, b []byte) {
	*m = binary.AppendUvarint(*m, uint64(field)<<3|lengthAndBytes)
	*m = append(binary.AppendUvarint(*m, uint64(len(b))), b...)
}

func (m *message) text(field int, s string) { m.bytes(field, []byte(s)) }

func (m *message) int(field int, x int64) {
	*m = binary.AppendUvarint(*m, uint64(field)<<3|varint)
	*m = binary.AppendUvarint(*m, uint64(x))
}

// tensor returns an initializer (a constant) of the given name, type and dimensions. The caller adds its
// values.
func tensor(name string, kind int, dims []int) message {
	var m message
	for _, d := range dims {
		m.int(tensorDims, int64(d))
	}
	m.int(tensorType, int64(kind))
	m.text(tensorName, name)
	return m
}

// floats returns an initializer with the given values, as float32 or float64.
func floats(name string, kind int, dims []int, values []float64) message {
	m := tensor(name, kind, dims)
	var raw []byte
	for _, v := range values {
		if kind == float32Type {
			raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(float32(v)))
		} else {
			raw = binary.LittleEndian.AppendUint64(raw, math.Float64bits(v))
		}
	}
	m.bytes(tensorRaw, raw)
	return m
}

func int64s(name string, dims []int, values []int64) message {
	m := tensor(name, int64Type, dims)
	var raw []byte
	for _, v := range values {
		raw = binary.LittleEndian.AppendUint64(raw, uint64(v))
	}
	m.bytes(tensorRaw, raw)
	return m
}

func texts(name string, dims []int, values []string) message {
	m := tensor(name, stringType, dims)
	for _, v := range values {
		m.text(tensorStrings, v)
	}
	return m
}

// value describes an input or output of the graph with the shape [rows, width]. kind is the type of its
// elements.
func value(name string, kind, width int) message {
	var rows, columns, shape, tensor, typ, m message
	rows.text(dimName, "rows")
	columns.int(dimValue, int64(width))
	shape.bytes(shapeDim, rows)
	shape.bytes(shapeDim, columns)
	tensor.int(tensorElement, int64(kind))
	tensor.bytes(tensorShape, shape)
	typ.bytes(typeTensor, tensor)
	m.text(valueName, name)
	m.bytes(valueType, typ)
	return m
}

// attribute returns an attribute of a node. Its value v is an int, a []int64 or a []string.
func attribute(name string, v any) message {
	var m message
	m.text(attributeName, name)
	switch v := v.(type) {
	case int:
		m.int(attributeInt, int64(v))
		m.int(attributeType, kindInt)
	case []int64:
		for _, x := range v {
			m.int(attributeInts, x)
		}
		m.int(attributeType, kindInts)
	case []string:
		for _, s := range v {
			m.text(attributeStrings, s)
		}
		m.int(attributeType, kindStrings)
	}
	return m
}

func opset(domain string, version int) message {
	var m message
	m.text(opsetDomain, domain)
	m.int(opsetVersion, int64(version))
	return m
}
