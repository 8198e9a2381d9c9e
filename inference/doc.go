// Package inference computes estimates, covariances and confidence intervals of the coefficients of a
// generalised linear model from privately released quantities. It computes with released numbers only: it
// reads no records, draws no random numbers and charges nothing to a budget.
//
// All quantities are in the coordinates b of a released metric P: the weights of the formula's columns are
// beta = P b, and a row x of the columns' features enters as z = P x. The margin of a row is z'b. n is the
// number of records, u in [0, 1] is a public weight of the row that depends on its features alone, and phi
// is the loss as a function of the margin. At a point b the following are released:
//
//	g = mean u phi'(z'b) z + a normal          a: deviation in each coordinate
//	H = mean u phi''(z'b) z z' + E             E: symmetric; deviation sigma on the diagonal, sigma/sqrt 2 off it
//	S = mean s s' + noise,  s = u phi'(z'b) z  for a unit of several rows, s is their mean
//
// The estimate is one Newton step, b - H^-1 g. It estimates the solution of E[u phi'(z'b) z] = 0 in the
// population from which the records are sampled. If the model is right, this solution is the vector of the
// population's coefficients; otherwise it is their projection with the weights u.
//
// # The Wald interval
//
// To first order the error of the estimate is H^-1 (g's error + E d) for the step d = H^-1 g. The
// variance is therefore
//
//	H^-1 (V + sigma^2/2 (|d|^2 I + d d')) H^-1,   V = S_+/n + a^2 I
//
// sigma^2/2 (|d|^2 I + d d') is the covariance of E d. V is due to the sampling of the records and the
// noise of the gradient; the other term is due to the noise of the curvature. This sandwich form does not
// assume that the model's variance is right. A unit of several rows is one term of S.
//
// # The region
//
// E's largest eigenvalue is about its edge, sigma sqrt(2k) for k columns. If the least eigenvalue of H is
// below 2 edges, H^-1 is not close to linear in E, and the intervals are computed from the set of steps d
// with
//
//	(g + H d)' V^-1 (g + H d) <= chi (1 + kappa |d|^2),   kappa = sigma^2/lambda_min(V)
//
// (Fieller 1954; Anderson and Rubin 1949). chi is the square of the normal quantile of the level. The
// interval of a contrast is the projection of this set onto the contrast. If K = H V^-1 H - chi kappa I is
// not positive definite, the set is unbounded, and the coefficients are not identified at this budget.
package inference
