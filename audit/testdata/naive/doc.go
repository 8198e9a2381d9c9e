// Package naive holds mechanisms as they are often written, each with the fault
// that an attack in package audit's tests makes use of. None of them keeps its
// promise.
package naive
