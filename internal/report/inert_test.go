package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// elements and attributes list everything that a page may contain. Other elements or attributes could run
// code or refer to other files.
var (
	elements = strings.Fields("html head meta title style body header nav main section footer h1 h2 h3 p ul li a dl div dt dd span figure figcaption pre code" +
		" table caption thead tbody tr th td svg desc g path line rect circle text clipPath")
	attributes = strings.Fields("lang xmlns charset name content http-equiv class id role tabindex scope href aria-label aria-labelledby" +
		" viewBox font-family font-size d x y x1 y1 x2 y2 cx cy r width height fill fill-opacity stroke stroke-width stroke-dasharray stroke-linejoin text-anchor transform clip-path")
	numeric = strings.Fields("x y x1 y1 x2 y2 cx cy r width height font-size fill-opacity stroke-width")
	numbers = regexp.MustCompile(`^[-0-9. MLZrotate()]*$`)
	local   = regexp.MustCompile(`^url\(#[a-z0-9-]+\)$`)
)

// node is an element with all text inside it.
type node struct {
	name       string
	attributes map[string]string
	text       string
	depth      int
}

// inert fails the test unless the page is well-formed, has only allowed elements and attributes, refers to
// no other file, and draws finite numbers. It returns the page's elements.
func inert(t testing.TB, page []byte) []node {
	t.Helper()
	decoder := xml.NewDecoder(bytes.NewReader(page))
	decoder.Strict = true
	var nodes []node
	var open []int
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("not well-formed: %v", err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			n := node{name: token.Name.Local, attributes: make(map[string]string), depth: len(open)}
			if !slices.Contains(elements, n.name) {
				t.Errorf("element %s", n.name)
			}
			for _, a := range token.Attr {
				if !slices.Contains(attributes, a.Name.Local) || n.attributes[a.Name.Local] != "" {
					t.Errorf("attribute %s of %s", a.Name.Local, n.name)
				}
				n.attributes[a.Name.Local] = a.Value
			}
			open = append(open, len(nodes))
			nodes = append(nodes, n)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			for _, i := range open {
				nodes[i].text += string(token)
			}
		case xml.Comment, xml.ProcInst:
			t.Errorf("%T", token)
		case xml.Directive:
			if string(token) != "DOCTYPE html" {
				t.Errorf("directive %q", token)
			}
		}
	}
	checkReferences(t, nodes)
	checkNumbers(t, nodes)
	return nodes
}

func checkReferences(t testing.TB, nodes []node) {
	t.Helper()
	ids := make(map[string]bool)
	for _, n := range nodes {
		if id, has := n.attributes["id"]; has {
			if ids[id] || id == "" {
				t.Errorf("id %q of %s is not its own", id, n.name)
			}
			ids[id] = true
		}
	}
	for _, n := range nodes {
		if href, has := n.attributes["href"]; has && (len(href) < 2 || href[0] != '#' || !ids[href[1:]]) {
			t.Errorf("link to %q", href)
		}
		for id := range strings.FieldsSeq(n.attributes["aria-labelledby"]) {
			if !ids[id] {
				t.Errorf("%s is labelled by %q, which is not there", n.name, id)
			}
		}
		if c, has := n.attributes["clip-path"]; has && (!local.MatchString(c) || !ids[c[5:len(c)-1]]) {
			t.Errorf("clip-path %q", c)
		}
		for name, value := range n.attributes {
			if name != "xmlns" && name != "content" && name != "clip-path" && !strings.HasPrefix(name, "aria-") &&
				strings.ContainsAny(value, ":\\") {
				t.Errorf("%s = %q of %s", name, value, n.name)
			}
		}
		if n.name == "style" && (n.text != "\n"+styleText || strings.Contains(n.text, "url(") ||
			strings.Contains(n.text, "@import")) {
			t.Errorf("style %q", n.text)
		}
	}
}

func checkNumbers(t testing.TB, nodes []node) {
	t.Helper()
	for _, n := range nodes {
		for name, value := range n.attributes {
			if slices.Contains(numeric, name) && !(n.name == "svg" && name == "width") {
				if x, err := strconv.ParseFloat(value, 64); err != nil || !(math.Abs(x) <= 1e7) {
					t.Errorf("%s = %q of %s: must be a number that can be drawn", name, value, n.name)
				}
			}
			if (name == "d" || name == "viewBox" || name == "transform") && !numbers.MatchString(value) {
				t.Errorf("%s = %q of %s", name, value, n.name)
			}
		}
		if n.name == "svg" && (n.attributes["role"] != "img" || n.attributes["viewBox"] == "" ||
			n.attributes["aria-labelledby"] == "") {
			t.Errorf("an svg that does not say what it is: %v", n.attributes)
		}
	}
}

func render(t testing.TB, p Page) []byte {
	t.Helper()
	var b, again bytes.Buffer
	if err := p.Render(&b); err != nil {
		t.Fatal(err)
	}
	if err := p.Render(&again); err != nil || !bytes.Equal(b.Bytes(), again.Bytes()) {
		t.Fatalf("the same page twice is not the same bytes (%v)", err)
	}
	return b.Bytes()
}

// texts returns the text of each element with the given name.
func texts(nodes []node, name string) []string {
	var list []string
	for _, n := range nodes {
		if n.name == name {
			list = append(list, n.text)
		}
	}
	return list
}
