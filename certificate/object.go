package certificate

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/stillpoint-dp/stillpoint/internal/regularfile"
	"github.com/stillpoint-dp/stillpoint/internal/strictjson"
)

// checkJSON returns an error unless data is one JSON value in UTF-8, with nothing after it, in which no
// object has a key twice.
func checkJSON(data []byte) error {
	if f := (strictjson.Checker{Lenient: true}).Check(data); f != nil {
		return faulty(f)
	}
	return nil
}

// faulty returns the error for a fault of the file's text, and nil for nil.
func faulty(err error) error {
	if f, ok := errors.AsType[*strictjson.Fault](err); ok {
		return &fault{ErrMalformed, *f}
	}
	return err
}

// needed is the key that may not be absent though package json omits it if it is empty: every event of a file states
// its relation.
const needed = "relation"

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
// breaks. The value is empty if the message shows none.
type fault struct {
	kind error
	strictjson.Fault
}

func (e *fault) Error() string { return "certificate: " + e.Fault.Error() }

func (e *fault) Unwrap() error { return e.kind }

func faultOf(kind error, field, value, rule string) error {
	return &fault{kind, strictjson.Fault{Field: field, Value: value, Rule: rule}}
}

func malformed(field, value, rule string) error { return faultOf(ErrMalformed, field, value, rule) }

func unsound(field string, value any, rule string, args ...any) error {
	return faultOf(ErrUnsound, field, fmt.Sprint(value), fmt.Sprintf(rule, args...))
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

func (c *Certificate) read() error {
	var err error
	o := strictjson.NewObject("", c.text, &err, needed)
	f := file{document: &c.doc}
	readHead(o, f.document)
	o.Into(&f)
	c.checksum = f.Checksum
	return faulty(err)
}

// file is the content of a certificate's file.
type file struct {
	*document
	Checksum string `json:"checksum"`
}

// readHead reads format and version before all other members. The error for a file of another kind or
// version then names the format or version.
func readHead(o strictjson.Object, d *document) {
	if o.Read("format", &d.Format); d.Format != format {
		o.Fail("format", strconv.Quote(d.Format), "must be "+strconv.Quote(format))
	}
	if o.Read("version", &d.Version); d.Version != version {
		o.Fail("version", strconv.Itoa(d.Version), "must be "+strconv.Itoa(version)+", the only version this program reads")
	}
}
