# Methods for packages that work with covariances: emmeans, marginaleffects, and parsnip.

# A table made of public facts: its rows have each level of each category beside the first and beside the last level of the others,
# so that emmeans takes no category for one that is nested in another. Numbers and dates are in the middle of their bounds.
public_rows <- function(object) {
  described <- object$described
  size <- vapply(described, function(d) length(d$category), 0L)
  of <- rep(seq_along(size), 2L * size) # the category whose levels the rows go through, twice
  last <- unlist(lapply(size, function(k) rep(c(FALSE, TRUE), each = k)))
  level <- unlist(lapply(size, function(k) rep(seq_len(k), 2L)))
  rows <- max(1L, length(of))
  as.data.frame(lapply(stats::setNames(seq_along(described), names(described)), function(i) {
    d <- described[[i]]
    if (!is.null(d$category)) return(factor(d$category[ifelse(of == i, level, ifelse(last, size[[i]], 1L))], as.character(d$category)))
    if (!is.null(d$date)) return(rep(mean(as.Date(as.character(d$date))), rows))
    rep(mean(as.numeric(d$number)), rows)
  }), optional = TRUE)
}

recover_data.dp_fit <- function(object, data = NULL, ...) {
  invisible(design(object, public_rows(object)[0L, , drop = FALSE])) # refuses what has no design
  frame <- if (is.null(data)) public_rows(object) else data
  emmeans::recover_data(object$call, stats::delete.response(stats::terms(object$formula, data = frame)), NULL, data = frame, ...)
}

emm_basis.dp_fit <- function(object, trms, xlev, grid, ...) {
  x <- design(object, grid)
  v <- vcov(object)
  b <- coef(object)
  # A quantity that depends on a term without an interval is called not estimable, as in emmeans.
  unknown <- which(is.na(diag(v)))
  b[unknown] <- NA_real_
  known <- setdiff(seq_along(b), unknown)
  nothing <- matrix(NA_real_, 1L, 1L)
  if (length(unknown)) {
    nothing <- matrix(0, length(b), length(unknown))
    nothing[cbind(unknown, seq_along(unknown))] <- 1
  }
  link <- link_of(object)$name
  list(X = x, bhat = unname(b), nbasis = nothing, V = v[known, known, drop = FALSE], dffun = function(k, dfargs) Inf,
    dfargs = list(), misc = if (link == "identity") list() else list(tran = link, inv.lbl = if (link == "logit") "prob" else "rate"))
}

get_coef.dp_fit <- function(model, ...) {
  b <- coef(model)
  ifelse(is.na(b), 0, b)
}

set_coef.dp_fit <- function(model, coefs, ...) {
  model$moved <- coefs
  model
}

get_vcov.dp_fit <- function(model, ...) {
  v <- vcov(model)
  v[is.na(v)] <- 0 # rows that depend on such a term have no prediction in get_predict
  v
}

get_predict.dp_fit <- function(model, newdata, type = "response", ...) {
  x <- design(model, newdata)
  b <- if (is.null(model$moved)) get_coef.dp_fit(model) else model$moved
  z <- drop(x %*% b)
  z[rowSums(x[, is.na(diag(vcov(model))), drop = FALSE] != 0) > 0] <- NA_real_
  data.frame(rowid = seq_len(nrow(x)), estimate = if (identical(type, "link")) z else link_of(model)$inverse(z))
}

# The engine "stillpoint" of parsnip's logistic_reg, multinom_reg, linear_reg and, if package poissonreg is installed,
# poisson_reg.
parsnip_engine <- function() {
  register <- function(model, mode, predictions, defaults = list()) {
    if (!model %in% parsnip::get_model_env()$models) return(invisible())
    if ("stillpoint" %in% parsnip::get_from_env(model)$engine) return(invisible())
    parsnip::set_model_engine(model, mode, "stillpoint")
    parsnip::set_dependency(model, "stillpoint", "stillpoint")
    parsnip::set_fit(model, "stillpoint", mode = mode, value = list(interface = "formula", protect = c("formula", "data"),
      func = c(pkg = "stillpoint", fun = "dp_fit"), defaults = defaults))
    parsnip::set_encoding(model, mode, "stillpoint",
      list(predictor_indicators = "none", compute_intercept = FALSE, remove_intercept = FALSE, allow_sparse_x = FALSE))
    for (type in names(predictions)) {
      parsnip::set_pred(model, mode = mode, eng = "stillpoint", type = type, value = list(pre = NULL, post = predictions[[type]]$post,
        func = c(fun = "predict"), args = list(object = quote(object$fit), newdata = quote(new_data), type = predictions[[type]]$type)))
    }
  }
  number <- list(numeric = list(type = "response", post = NULL))
  class <- list(type = "class", post = NULL)
  two <- function(x, object) stats::setNames(data.frame(1 - x, x), object$fit$classes)[object$lvl]
  several <- function(x, object) as.data.frame(x)[object$lvl]
  register("logistic_reg", "classification", list(class = class, prob = list(type = "response", post = two)))
  register("multinom_reg", "classification", list(class = class, prob = list(type = "response", post = several)))
  register("linear_reg", "regression", number)
  register("poisson_reg", "regression", number, list(loss = "poisson(1)"))
}

.onLoad <- function(libname, pkgname) {
  if (isNamespaceLoaded("parsnip")) parsnip_engine()
  setHook(packageEvent("parsnip", "onLoad"), function(...) parsnip_engine())
  classes <- getOption("marginaleffects_model_classes")
  options(marginaleffects_model_classes = unique(c(classes, "dp_fit")))
}
