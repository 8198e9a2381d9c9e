// Package inference computes estimates, covariances and confidence intervals of the coefficients of a
// generalised linear model from privately released quantities. It computes with released numbers only. It
// reads no records, draws no random numbers and charges nothing to a budget.
//
// All quantities are in the coordinates of a released metric P. A point b in these coordinates stands for the weights
// beta = P b of the formula's columns, and z = P x for a row x of the columns' features. The margin of a row is z'b. n
// is the number of records, u in [0, 1] is a weight of the row, a public function of its features alone, and phi is the
// loss as a function of the margin. At a point b the following are released:
//
//	g = mean u phi'(z'b) z + noise   of standard deviation a in each coordinate
//	H = mean u phi''(z'b) z z' + E   E symmetric, of deviation sigma on the diagonal, sigma/sqrt 2 off it
//	S = mean s s' + noise            s = u phi'(z'b) z, or its mean over the rows of a privacy unit
//
// The estimate is b + d with the Newton step d = -H^-1 g. It estimates the solution of E[u phi'(z'b) z] = 0 in the
// population from which the records are sampled. If the model is right, this solution is the vector of the population's
// coefficients. If the model is wrong, it is the best approximation within the model, with the rows weighted by u.
//
// # The Wald interval
//
// To first order the error of the estimate is -H^-1 (e + E d), where e is the error of g. The covariance of
// the estimate is therefore
//
//	H^-1 (V + sigma^2/2 (|d|^2 I + d d')) H^-1,   V = S_+/n + a^2 I
//
// S_+ is S with negative eigenvalues set to 0. V is the covariance of e, due to the sampling of the records and the
// noise of the gradient. sigma^2/2 (|d|^2 I + d d') is the covariance of E d, due to the noise of the curvature. This
// sandwich form does not assume that the model's variance is right. A privacy unit of several rows is one term of S.
//
// # The region
//
// For k columns, E's largest eigenvalue is about sigma sqrt(2k), its edge. If the smallest eigenvalue of H is below 2
// edges, H^-1 is not close to linear in E. The intervals are then computed from the set of steps d with
//
//	(g + H d)' V^-1 (g + H d) <= chi (1 + kappa |d|^2),   kappa = sigma^2/lambda_min(V)
//
// (Fieller 1954; Anderson and Rubin 1949). chi is the square of the number z for which a standard normal
// variable lies in [-z, z] with probability level. The interval of a contrast (a linear combination of the
// coefficients) is the set of its values at b + d for all d in this set. If K = H V^-1 H - chi kappa I is
// not positive definite, the set is unbounded, and the coefficients are not identified at this budget.
package inference
