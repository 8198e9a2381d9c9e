// Package naive holds mechanisms as they are often written, each with the fault that an attack in
// package audit's tests exploits. None of them is as private as it claims.
package naive
