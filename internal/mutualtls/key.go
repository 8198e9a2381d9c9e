package mutualtls

import "errors"

// Key is a key of 256 random bits that the two sides of a connection share. A new key should be drawn for
// every use, such as one fit.
type Key [32]byte

// ErrStranger reports that the other side does not have the key.
var ErrStranger = errors.New("sealed: the other side does not have the same key")
