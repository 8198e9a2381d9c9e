package certificate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/stillpoint-dp/stillpoint/internal/regularfile"
	"github.com/stillpoint-dp/stillpoint/internal/safetext"
	"github.com/stillpoint-dp/stillpoint/internal/strictjson"
)

// checkJSON returns an error unless data is one JSON value in UTF-8, with nothing after it, in which no
// object has a key twice.
func checkJSON(data []byte) error {
	same := func(key string) string { return key }
	if f := (strictjson.Checker{Same: same, Lenient: true}).Check(data); f != nil {
		return malformed(f.Field, f.Value, f.Rule)
	}
	return nil
}

func notJSON(err error) error { return malformed("", "", "must be JSON: "+err.Error()) }

// object is a JSON object in a certificate's file that is read member by member. The first error is stored
// in *err, and all later reads do nothing.
type object struct {
	field   string
	members map[string]json.RawMessage
	err     *error
}

// newObject reads the members of a JSON object, which must have passed checkJSON. It records an error if
// data is no object.
func newObject(field string, data json.RawMessage, err *error) object {
	o := object{field: field, err: err}
	if *err != nil {
		return o
	}
	if !bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		*err = malformed(field, string(data), "must be an object")
	} else if fail := json.Unmarshal(data, &o.members); fail != nil {
		*err = notJSON(fail)
	}
	return o
}

// only records an error if the object has a key that is not in the list keys. It also records an error if
// the object lacks a key of the list keys, unless this key is also in the list optional.
func (o object) only(keys []string, optional ...string) {
	if *o.err != nil {
		return
	}
	for _, key := range keys {
		if _, given := o.members[key]; !given && !slices.Contains(optional, key) {
			*o.err = malformed(strictjson.Join(o.field, key), "", "is missing")
			return
		}
	}
	for key := range o.members {
		if !slices.Contains(keys, key) {
			*o.err = malformed(strictjson.Join(o.field, key), "", "is unknown: the members here are "+strings.Join(keys, ", "))
			return
		}
	}
}

// members returns the fields of a struct, their keys in a file, and the keys that may be absent: those with omitempty
// but "relation", which every event of a file states.
func members(t reflect.Type) (fields []reflect.StructField, keys, optional []string) {
	fields = slices.DeleteFunc(reflect.VisibleFields(t), func(f reflect.StructField) bool { return f.Anonymous })
	for _, f := range fields {
		key, option, _ := strings.Cut(f.Tag.Get("json"), ",")
		if keys = append(keys, key); option == "omitempty" && key != "relation" {
			optional = append(optional, key)
		}
	}
	return fields, keys, optional
}

// into reads all members of the object into the fields of a struct. A member that may be absent must be absent if
// its value is zero, so that every fact is written in only one form.
func (o object) into(v reflect.Value) {
	fields, keys, optional := members(v.Type())
	o.only(keys, optional...)
	for i, key := range keys {
		raw, given := o.members[key]
		if !given {
			continue
		}
		field := v.FieldByIndex(fields[i].Index)
		decode(strictjson.Join(o.field, key), raw, field, o.err)
		if *o.err == nil && field.IsZero() && slices.Contains(optional, key) {
			*o.err = malformed(strictjson.Join(o.field, key), string(raw), "must be absent instead")
		}
	}
}

// decode reads a member into a variable: an object into a struct, also one of its own behind a pointer, an array into
// a slice and any object into a [json.RawMessage].
func decode(field string, raw json.RawMessage, into reflect.Value, err *error) {
	switch kind := into.Kind(); {
	case into.Type() == reflect.TypeFor[json.RawMessage]():
		newObject(field, raw, err)
		into.SetBytes(raw)
	case kind == reflect.Pointer:
		into.Set(reflect.New(into.Type().Elem()))
		decode(field, raw, into.Elem(), err)
	case kind == reflect.Struct:
		newObject(field, raw, err).into(into)
	case kind == reflect.Slice:
		var list []json.RawMessage
		decodeValue(field, raw, &list, err)
		into.Set(reflect.MakeSlice(into.Type(), len(list), len(list)))
		for i := range list {
			decode(strictjson.Item(field, i), list[i], into.Index(i), err)
		}
	default:
		decodeValue(field, raw, into.Addr().Interface(), err)
	}
}

// decodeValue reads a value into the variable to which into points. It records an error if the value has another type
// or is null.
func decodeValue(field string, raw json.RawMessage, into any, err *error) {
	if *err != nil {
		return
	}
	if string(raw) == "null" { // package json would accept null for any type
		*err = malformed(field, "null", "must be "+typeName(into))
		return
	}
	if fail := json.Unmarshal(raw, into); fail != nil {
		rule := "must be " + typeName(into)
		if kind := new(json.UnmarshalTypeError); !errors.As(fail, &kind) {
			rule = fail.Error() // the type decodes texts by rules of its own
		}
		*err = malformed(field, string(raw), rule)
	}
}

func typeName(into any) string {
	switch into.(type) {
	case *float64:
		return "a number in the range of float64"
	case *int, *int64:
		return "an integer"
	case *uint64:
		return "an integer >= 0"
	case *bool:
		return "true or false"
	case *[]json.RawMessage:
		return "an array"
	}
	return "a string"
}

// These are the kinds of failure, for [errors.Is]. Errors from opening and reading a file are returned
// unchanged.
var (
	// ErrMalformed means that the file is not a certificate of a known version, or breaks the rules of its
	// format.
	ErrMalformed = errors.New("not a valid certificate")
	// ErrAltered means that the checksum does not match the rest of the file.
	ErrAltered = errors.New("altered since it was written")
	// ErrUnsound means that the claim does not follow from the recorded events, or that a certificate
	// cannot be made.
	ErrUnsound = errors.New("unsound")
	// ErrModel means that the model file is not the certified model file.
	ErrModel = errors.New("not the certified model")
)

// fault is an error that names a field of the certificate, its value and the rule that the value
// breaks.
type fault struct {
	kind  error
	field string
	value string // empty if the message shows no value
	rule  string
}

func (e *fault) Error() string {
	where := "certificate"
	if e.field != "" {
		where += ": " + shorten(safetext.Text(e.field))
	}
	if e.value != "" {
		where += " = " + shorten(safetext.Text(e.value))
	}
	return where + ": " + safetext.Text(e.rule)
}

func (e *fault) Unwrap() error { return e.kind }

func malformed(field, value, rule string) error { return &fault{ErrMalformed, field, value, rule} }

func unsound(field string, value any, rule string, args ...any) error {
	return &fault{ErrUnsound, field, fmt.Sprint(value), fmt.Sprintf(rule, args...)}
}

// shorten cuts a text for an error message to 80 bytes and three dots.
func shorten(value string) string {
	const most = 80
	if len(value) <= most {
		return value
	}
	return value[:most] + "..."
}

// mostBytes is the largest size of a certificate file, in bytes. This is enough for about two million
// releases.
const mostBytes = 512 << 20

// Read reads a certificate file as [Parse] does. If the file cannot be read, it returns the file system's error. If the
// first character after white space is not {, it returns an error without reading the rest of the file.
func Read(path string) (*Certificate, error) {
	file, err := regularfile.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var text bytes.Buffer
	if _, err := io.CopyN(&text, file, 4096); err != nil && err != io.EOF {
		return nil, err
	}
	if head := bytes.TrimLeft(text.Bytes(), " \t\r\n"); len(head) > 0 && head[0] != '{' {
		return nil, malformed("", "", "must be a JSON object: it begins with "+strconv.QuoteToASCII(string(head[:1])))
	}
	if _, err := io.Copy(&text, io.LimitReader(file, mostBytes)); err != nil {
		return nil, err
	}
	if text.Len() > mostBytes {
		return nil, malformed("", "", "must be at most "+strconv.Itoa(mostBytes)+" bytes")
	}
	return Parse(text.Bytes())
}

// Parse reads the bytes of a certificate file. It returns [ErrMalformed] unless format and version are
// known, every required member is present, no member is given twice, every member has its type, and there
// are no unknown members. It does not decide whether the claim holds. [Certificate.Verify] decides this.
func Parse(data []byte) (*Certificate, error) {
	if err := checkJSON(data); err != nil {
		return nil, err
	}
	c := &Certificate{text: bytes.Clone(data)}
	if err := c.read(); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *Certificate) read() (err error) {
	o := newObject("", c.text, &err)
	f := file{document: &c.doc}
	readHead(o, f.document)
	o.into(reflect.ValueOf(&f).Elem())
	c.checksum = f.Checksum
	return err
}

// file is the content of a certificate's file.
type file struct {
	*document
	Checksum string `json:"checksum"`
}

// readHead reads format and version before all other members. The error for a file of another kind or
// version then names the format or version.
func readHead(o object, d *document) {
	if *o.err != nil {
		return
	}
	for _, key := range []string{"format", "version"} {
		if _, given := o.members[key]; !given {
			*o.err = malformed(key, "", "is missing")
			return
		}
	}
	decodeValue("format", o.members["format"], &d.Format, o.err)
	if *o.err == nil && d.Format != format {
		*o.err = malformed("format", strconv.Quote(d.Format), "must be "+strconv.Quote(format))
	}
	decodeValue("version", o.members["version"], &d.Version, o.err)
	if *o.err == nil && d.Version != version {
		*o.err = malformed("version", strconv.Itoa(d.Version),
			"must be "+strconv.Itoa(version)+", the only version this program reads")
	}
}
