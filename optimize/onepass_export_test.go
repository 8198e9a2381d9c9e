package optimize

// DepthFirst is depthFirst as pairs of depth and right.
func DepthFirst(depth int) func(func(int, bool) bool) {
	return func(yield func(int, bool) bool) {
		for v := range depthFirst(depth) {
			if !yield(v.depth, v.right) {
				return
			}
		}
	}
}

// DrawSizes draws cohorts of the given sizes and says what is left.
func DrawSizes(o Oracle, neighbours float64, sizes ...float64) (drawn []float64, left float64, err error) {
	d := newDrawer(o, neighbours)
	for _, size := range sizes {
		c, err := d.draw(size)
		if err != nil {
			return drawn, d.left, err
		}
		drawn = append(drawn, c.Size())
	}
	return drawn, d.left, nil
}

// PassWeights are the weights of the points of a pass over cohorts of these sizes.
func PassWeights(rule Output, sizes ...float64) []float64 {
	return choice{rule: rule, steps: len(sizes)}.passWeights(sizes)
}

func (g *OnePassSGDPlan) Sizes() []float64 { return g.sizes }

func (s *OnePassSTORMPlan) Sizes() []float64 { return s.sizes }

func (t *TreeSpiderPlan) Tree() (rounds, depth int, sizes []float64) {
	return t.rounds, t.depth, t.sizes
}

func (t *TreeSpiderPlan) Steps() (length, accuracy float64) { return t.length, t.accuracy }
