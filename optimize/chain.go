package optimize

import "context"

// Chain runs plans one after another and returns the last result, with the steps and the traces of all. It calls next
// for the plan of each run k = 0, 1, ..., with the result of the run before, until next returns nil. observe is told
// the steps and charges of the whole, which has the given number of steps. An error ends the chain with the latest
// result that is complete, or else with the incomplete one.
func Chain(ctx context.Context, o Oracle, observe func(Step), steps int,
	next func(k int, from Result) (Plan, error)) (all Result, err error) {
	var charged, latest float64
	for k := 0; ; k++ {
		plan, err := next(k, all)
		if plan == nil || err != nil {
			return all, err
		}
		result, err := plan.Run(ctx, o, func(s Step) {
			s.Number, s.Of, s.Charged = s.Number+all.Steps, steps, s.Charged+charged
			if latest = s.Charged; observe != nil {
				observe(s)
			}
		})
		if k > 0 {
			result.Trace = all.Trace.Then(result.Trace)
		}
		result.Steps += all.Steps
		if all, charged = result, latest; err != nil {
			return all, err
		}
	}
}
