package session

import (
	"math"
	"math/bits"
)

// tree is the binary tree mechanism (Dwork, Naor, Pitassi and Rothblum 2010; Chan, Shi and Song
// 2011). A prefix of t items is divided into blocks by the binary expansion of t, with the largest
// block first. Each block is a node of the tree. The last block ends at item t, and no earlier prefix
// has this block. The noise of each node is therefore drawn when the node's last item is added, and
// dropped when a larger block contains the node. If the number of items is a power of two, the last
// item completes the block of all items.
//
// Item 1 is in one node of each size 1, 2, 4, ... up to the number of items. No item is in more
// nodes.
type tree struct {
	most, taken int
	sum         []int64
	// nodes[j] is the noise of the current prefix's block of 2^j items, nil if the prefix has no
	// such block.
	nodes [][]int64
}

func newTree(items int) *tree {
	return &tree{most: items, nodes: make([][]int64, bits.Len(uint(items)))}
}

func (m *tree) law() (q int, square uint64) { return 0, uint64(bits.Len(uint(m.most))) }

func (m *tree) items() int { return m.taken }

func (m *tree) add(item []int64, normals func() []int64) (prefix []float64, deviation float64) {
	if m.sum == nil {
		m.sum = make([]int64, len(item))
	}
	for j, v := range item {
		m.sum[j] += v
	}
	m.taken++
	level := bits.TrailingZeros(uint(m.taken))
	clear(m.nodes[:level])
	m.nodes[level] = normals()
	noisy := append([]int64(nil), m.sum...)
	for _, noise := range m.nodes {
		for j, v := range noise {
			noisy[j] += v
		}
	}
	prefix = make([]float64, len(noisy))
	for j, v := range noisy {
		prefix[j] = float64(v)
	}
	return prefix, math.Sqrt(float64(bits.OnesCount(uint(m.taken))))
}
