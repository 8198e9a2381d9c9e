// Package mutualtls connects processes that share a key, over TLS 1.3. Each side proves that it has the key. There are
// no certificate authorities, host names or resumed sessions. For each role (connecting or listening) both sides derive
// an Ed25519 key pair from the shared key, and accept only a certificate with the public key of the other role.
// Somebody who learns the key after a connection cannot decrypt the data of that connection.
//
// Package mutualtls is the only package that imports crypto/tls (internal/repotest/layer_test.go). It draws no
// random bits itself. Package crypto/tls draws the random bits of a connection.
package mutualtls
