package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/train"
)

// node is a JSON Schema.
type node = map[string]any

// scalarNode accepts every scalar: YAML reads 007, 1.0 and yes as numbers and truth values where a text is meant.
func scalarNode() node { return node{"type": []string{"string", "number", "boolean"}} }

// numberNode accepts numbers, also as text, and the placeholder of a draft in neither form.
func numberNode() node {
	return node{"anyOf": []node{{"type": "number"}, {"type": "string", "pattern": `^[-+]?[0-9.]+([eE][-+]?[0-9]+)?$`}}}
}

func listOf(of node) node { return node{"type": "array", "items": of} }

func objectOf(properties node) node {
	return node{"type": "object", "additionalProperties": false, "properties": properties}
}

// decoderOf reads the keys of a part of a schema: from the function of dataset's decoder that reads that part, in its
// table of keys. Each row names a key and the method that reads the key's value.
func decoderOf(t *testing.T, function string) node {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.FromSlash("../../dataset/yaml.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	properties := node{}
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Name.Name != function {
			continue
		}
		ast.Inspect(f, func(n ast.Node) bool {
			list, ok := n.(*ast.CompositeLit)
			if !ok {
				return true
			}
			if array, ok := list.Type.(*ast.ArrayType); !ok || fmt.Sprint(array.Elt) != "key" {
				return true
			}
			for _, e := range list.Elts {
				parts := e.(*ast.CompositeLit).Elts
				key, err := strconv.Unquote(parts[0].(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				properties[key] = valueOf(t, function, key, parts[1])
			}
			return false
		})
	}
	if len(properties) == 0 {
		t.Fatalf("dataset/yaml.go: %s has no key", function)
	}
	return properties
}

// valueOf returns the JSON Schema of a key's value, by the methods of the decoder that the key's row names, and the
// description from the text that the decoder shows where the value is a placeholder.
func valueOf(t *testing.T, function, key string, row ast.Expr) node {
	var methods []string
	description, lists := "", 0
	ast.Inspect(row, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.SelectorExpr:
			if of, ok := x.X.(*ast.Ident); ok && of.Name == "d" {
				methods = append(methods, x.Sel.Name)
			}
		case *ast.Ident:
			switch x.Name {
			case "number":
				methods = append(methods, x.Name)
			case "list": // of values that the methods in its parentheses read
				lists++
			}
		case *ast.BasicLit:
			if text, err := strconv.Unquote(x.Value); err == nil && strings.HasPrefix(text, "write ") {
				description = text
			}
		}
		return true
	})
	if len(methods) == 0 {
		t.Fatalf("dataset/yaml.go: %s: key %s: no method reads it", function, key)
	}
	var value node
	switch methods[0] {
	case "text":
		value = scalarNode()
	case "texts":
		value = listOf(scalarNode())
	case "number":
		value = numberNode()
	case "numbers":
		value = listOf(numberNode())
	case "oneOrMore":
		value = node{"anyOf": []node{numberNode(), listOf(numberNode())}}
	case "bounds":
		value = node{"anyOf": []node{{"enum": []string{"auto"}}, listOf(numberNode())}}
	case "dates":
		value = node{"anyOf": []node{{"enum": []string{"auto"}}, listOf(scalarNode())}}
	case "count":
		value = node{"type": "integer"}
	case "values", "category": // also 1..12, and the file of a category
		value = node{"anyOf": []node{listOf(scalarNode()), {"type": "string"}, objectOf(node{"file": scalarNode()})}}
	case "curve":
		value = node{"anyOf": []node{{"enum": []string{"auto", "none"}}, {"type": "integer"}, listOf(scalarNode())}}
	case "curves":
		value = node{"enum": []string{"auto"}}
	case "columns":
		column := objectOf(decoderOf(t, "column"))
		value = node{"type": "object", "additionalProperties": node{"anyOf": []node{{"const": dataset.Ignore.String()}, column}}}
	case "target", "exposure", "unit":
		value = objectOf(decoderOf(t, methods[0]))
	default:
		t.Fatalf("dataset/yaml.go: %s: key %s is read by %s, of which the JSON Schema has no form", function, key, methods[0])
	}
	for range lists {
		value = listOf(value)
	}
	if description != "" {
		value["description"] = strings.TrimSpace(strings.TrimPrefix(description, "write "))
	}
	return value
}

// structOf returns the JSON Schema of a struct of the configuration. docs has the comments of its fields, by type and
// key.
func structOf(t *testing.T, of reflect.Type, docs map[string]string) node {
	properties := node{}
	for i := range of.NumField() {
		f := of.Field(i)
		key := f.Tag.Get("yaml")
		if key == "" || key == "-" {
			continue
		}
		value := typeOf(t, f.Type, docs)
		if doc := docs[of.Name()+"."+key]; doc != "" {
			value["description"] = doc
		}
		properties[key] = value
	}
	return objectOf(properties)
}

func typeOf(t *testing.T, of reflect.Type, docs map[string]string) node {
	switch of {
	case reflect.TypeFor[*dataset.Schema]():
		return objectOf(decoderOf(t, "schema"))
	case reflect.TypeFor[train.Train]():
		return trainOf()
	case reflect.TypeFor[train.Files]():
		return node{"anyOf": []node{scalarNode(), listOf(scalarNode())}}
	case reflect.TypeFor[train.LossName]():
		return node{"anyOf": []node{scalarNode(), objectOf(node{"network": objectOf(node{"hidden": listOf(node{"type": "integer"}),
			"activation": scalarNode(), "output": scalarNode(), "clip": numberNode(), "seed": node{"type": "integer"}})})}}
	}
	switch of.Kind() {
	case reflect.Pointer:
		return typeOf(t, of.Elem(), docs)
	case reflect.String:
		return scalarNode()
	case reflect.Float64:
		return numberNode()
	case reflect.Int, reflect.Int64, reflect.Uint64:
		return node{"type": "integer"}
	case reflect.Bool:
		return node{"type": "boolean"}
	case reflect.Slice:
		return listOf(typeOf(t, of.Elem(), docs))
	case reflect.Map:
		return node{"type": "object", "additionalProperties": typeOf(t, of.Elem(), docs)}
	case reflect.Struct:
		return structOf(t, of, docs)
	}
	t.Fatalf("%v: is of a kind of which the JSON Schema has no form", of)
	return nil
}

// trainOf returns the JSON Schema of the section train: the fields of train.Train by their names in lower case, and the
// settings of all algorithms.
func trainOf() node {
	properties := node{}
	for of, i := reflect.TypeFor[train.Train](), 0; i < of.NumField(); i++ {
		switch key := strings.ToLower(of.Field(i).Name); {
		case of.Field(i).Type == reflect.TypeFor[train.Settings]():
		case of.Field(i).Type.Kind() == reflect.String:
			properties[key] = node{"enum": train.Algorithms()}
		case new(train.Train).Set(train.Settings{key: "off"}) == nil:
			properties[key] = node{"anyOf": []node{{"enum": []any{"off", false}}, numberNode()}}
		default:
			properties[key] = numberNode()
		}
	}
	for _, name := range append(train.Algorithms(), "selected") {
		for _, s := range train.HelpOf(name) {
			value := map[string]node{"yes or no": {"type": "boolean"}, "whole number": {"type": "integer"}, "number": numberNode(),
				"name": scalarNode()}[s.Type]
			if _, seen := properties[s.Key]; !seen {
				value["description"] = s.Doc
				properties[s.Key] = value
			}
		}
	}
	return objectOf(properties)
}

// editorText returns the JSON Schema of a configuration.
func editorText(t *testing.T) string {
	docs := map[string]string{}
	for _, of := range keysBelow {
		for _, f := range fieldsOf(t, filepath.Join("../..", filepath.FromSlash(of.file)), of.name) {
			docs[of.name+"."+f.key] = strings.Join(strings.Fields(f.doc), " ")
		}
	}
	schema := structOf(t, reflect.TypeFor[train.Config](), docs)
	schema["$schema"] = "http://json-schema.org/draft-07/schema#"
	schema["$id"] = "urn:stillpoint:configuration:1"
	schema["title"] = "Configuration of a fit of stillpoint"
	text, err := json.MarshalIndent(schema, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text) + "\n"
}

// TestEditorSchemaIsFresh: the JSON Schema that editors use must agree with the declarations of the keys. With -rewrite
// the test writes it instead.
func TestEditorSchemaIsFresh(t *testing.T) {
	const path = "stillpoint-1.schema.json"
	want := editorText(t)
	if *rewriteReference {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("%s is not what the declarations say (%v): go generate ./cmd/stillpoint", path, err)
	}
}

// editor compiles the JSON Schema.
func editor(t *testing.T) *jsonschema.Schema {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(editorText(t)))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("configuration.json", document); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("configuration.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// judged returns the verdict of the JSON Schema on a configuration.
func judged(t *testing.T, s *jsonschema.Schema, text string) error {
	t.Helper()
	as, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(string(as)))
	if err != nil {
		return err
	}
	return s.Validate(value)
}

// TestEditorAgreesWithTheReader: the JSON Schema must accept every configuration of the repository that the command
// reads, with each commented key of the page of keys in turn, and must refuse each of them with an unknown key or a
// mapping in place of a value, at every place.
func TestEditorAgreesWithTheReader(t *testing.T) {
	s := editor(t)
	texts := map[string]string{}
	for _, pattern := range []string{"../../examples/*/*.yaml", "../../lab/results/specs/*.yaml"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			if _, err := train.ReadConfig(path); err != nil {
				continue // of another kind, such as an experiment
			}
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			texts[path] = string(text)
		}
	}
	page, err := os.ReadFile("../../docs/reference/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	keys := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindSubmatch(page)
	lines := strings.Split(string(keys[1]), "\n")
	comment := regexp.MustCompile(`^( *)# ([a-z]+: .*|  [a-z]+: .*)$`)
	for i, line := range lines {
		m := comment.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		changed := slices.Clone(lines)
		changed[i] = m[1] + m[2]
		section := regexp.MustCompile(`^# train:`)
		for j, other := range changed {
			if section.MatchString(other) && strings.HasPrefix(m[2], "  ") {
				changed[j] = "train:"
			}
		}
		key, _, _ := strings.Cut(strings.TrimSpace(m[2]), ":")
		for j, other := range changed { // the key that the commented one replaces
			if j != i && strings.HasPrefix(other, m[1]+key+":") {
				changed[j] = ""
			}
		}
		texts["configuration.md: "+line] = strings.Join(changed, "\n")
	}
	if len(texts) < 25 {
		t.Fatalf("%d configurations: the test shows nothing", len(texts))
	}
	for name, text := range texts {
		if err := judged(t, s, text); err != nil {
			t.Errorf("%s: the JSON Schema refuses it: %v", name, err)
		}
		// A key that nobody knows, below each key that begins a section.
		for _, at := range regexp.MustCompile(`(?m)^( *)[a-z]+:(?: #.*)?\n( +)[a-z]`).FindAllStringSubmatchIndex(text, -1) {
			inner := text[at[4]:at[5]]
			if strings.Contains(text[at[0]:at[1]], "columns:") {
				continue // every name is a column's
			}
			broken := text[:at[4]] + inner + "quokka: 1\n" + text[at[4]:]
			if judged(t, s, broken) == nil {
				t.Errorf("%s: the JSON Schema accepts an unknown key at %d", name, at[4])
			}
		}
	}
	good := texts["../../examples/adult/adult.yaml"]
	for _, broken := range []struct{ old, new string }{
		{"epsilon: 1", "epsilon: one"}, {"epsilon: 1", "epsilom: 1"}, {"relation: replace-one", "relation: {a: b}"},
		{"number: [", "numbr: ["}, {"number: [", "number: [???, "}, {"columns:", "colums:"}, {"target: {", "target: {quokka: 1, "},
	} {
		if !strings.Contains(good, broken.old) {
			t.Fatalf("adult.yaml has no %q", broken.old)
		}
		if judged(t, s, strings.Replace(good, broken.old, broken.new, 1)) == nil {
			t.Errorf("the JSON Schema accepts %q in place of %q", broken.new, broken.old)
		}
	}
}
