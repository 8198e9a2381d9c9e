package account

import (
	"fmt"
	"math"
)

func (m gaussianMechanism) renyi(order float64) (float64, error) {
	return 0, fmt.Errorf("todo")
}
func (m sampledGaussian) renyi(order float64) (float64, error) {
	return 0, fmt.Errorf("todo")
}
func (m gaussianMixture) renyi(order float64) (float64, error) {
	return 0, fmt.Errorf("todo")
}
func laplaceRenyi(order, epsilon float64) float64      { return math.NaN() }
func responseRenyi(order, epsilon float64) float64     { return math.NaN() }
func boundedRangeRenyi(order, epsilon float64) float64 { return math.NaN() }
