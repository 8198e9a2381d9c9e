package certificate

import (
	"bytes"
	"io"
	"reflect"
	"strconv"

	"github.com/stillpoint-dp/stillpoint/internal/regularfile"
)

// mostBytes is the largest size of a certificate file, in bytes. This is enough for about two million
// releases.
const mostBytes = 512 << 20

// Read reads a certificate file as [Parse] does. If the file cannot be read, it returns the file system's
// error. If the first character after white space is not {, it returns an error without reading the rest of
// the file.
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
