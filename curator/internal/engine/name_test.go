package engine

// FastestKernel is the name of the kernel by which engines compute, for the outputs of benchmarks.
var FastestKernel = fastest().name
