package certificate

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
)

// A certificate's file consists of three parts: the head, the line with the checksum, and the tail.
// The checksum covers head and tail.
const (
	checksumStart = `  "checksum": `
	checksumKind  = "sha256:"
	tail          = "}\n"
)

// seal returns the whole file of a certificate: head, which is the text before the line with the checksum,
// then this line, then the end of the file.
func seal(head []byte) []byte {
	return slices.Concat(head, []byte(checksumStart+strconv.Quote(checksum(head))+"\n"+tail))
}

// checksum returns the checksum of a file with the given head: "sha256:" and the SHA-256 of head and tail
// in hexadecimal.
func checksum(head []byte) string {
	h := sha256.New()
	h.Write(head)
	h.Write([]byte(tail))
	return checksumKind + hex.EncodeToString(h.Sum(nil))
}

// checkSeal recomputes the checksum. It returns ErrAltered if the stated checksum differs from it, or if
// the line with the checksum is not at the place where seal writes it.
func (c *Certificate) checkSeal() error {
	altered := func(rule string) error {
		return &fault{ErrAltered, "checksum", strconv.Quote(c.checksum), rule}
	}
	body, found := bytes.CutSuffix(c.text, []byte("\n"+tail))
	line := bytes.LastIndexByte(body, '\n') + 1
	if !found || !bytes.HasPrefix(body[line:], []byte(checksumStart)) ||
		bytes.Count(c.text, []byte("\n"+checksumStart)) != 1 {
		return altered("must stand alone on the last line but one: the file was reformatted or edited")
	}
	head := body[:line]
	if want := checksum(head); c.checksum != want || string(body[line:]) != checksumStart+strconv.Quote(want) {
		return altered("must be " + want + ", that of the rest of the file: the file was altered since it was written")
	}
	return nil
}
