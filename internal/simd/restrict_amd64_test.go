package simd

// restrictions simulate a machine without some instructions.
var restrictions = []struct {
	name string
	by   func() (restore func())
}{
	{"no AVX-512", func() func() {
		was := has512
		has512 = false
		return func() { has512 = was }
	}},
	{"portable", func() func() {
		was256, was512 := has256, has512
		has256, has512 = false, false
		return func() { has256, has512 = was256, was512 }
	}},
}
