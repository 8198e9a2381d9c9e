package certificate

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
)

// The file consists of head, the line of the checksum, and tail. The checksum covers head + tail.
const (
	checksumStart = `  "checksum": `
	checksumKind  = "sha256:"
	tail          = "}\n"
)

// seal returns the whole file for a given head, the text before the checksum's line.
func seal(head []byte) []byte {
	return slices.Concat(head, []byte(checksumStart+strconv.Quote(checksum(head))+"\n"+tail))
}

func checksum(head []byte) string {
	h := sha256.New()
	h.Write(head)
	h.Write([]byte(tail))
	return checksumKind + hex.EncodeToString(h.Sum(nil))
}

// checkSeal recomputes the checksum. It returns ErrAltered if the stated one differs or is not where seal
// writes it.
func (c *Certificate) checkSeal() error {
	altered := func(rule string) error {
		return &fault{ErrAltered, "checksum", strconv.Quote(c.checksum), rule}
	}
	body, found := bytes.CutSuffix(c.text, []byte("\n"+tail))
	line := bytes.LastIndexByte(body, '\n') + 1
	if !found || !bytes.HasPrefix(body[line:], []byte(checksumStart)) || bytes.Count(c.text, []byte("\n"+checksumStart)) != 1 {
		return altered("must stand alone on the last line but one: the file was reformatted or edited")
	}
	head := body[:line]
	if want := checksum(head); c.checksum != want || string(body[line:]) != checksumStart+strconv.Quote(want) {
		return altered("must be " + want + ", that of the rest of the file: the file was altered since it was written")
	}
	return nil
}
