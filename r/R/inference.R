# Statistical methods of a fit: covariances, standard errors and the family. Methods that need the rows are refused,
# since no fit keeps rows.

# The terms with intervals. If the fit has no intervals, an error says how to get them.
interval_terms <- function(object, what) {
  e <- object$effects
  if (is.null(e)) {
    refuse(sprintf(paste(
      "%s: must be asked of a fit with inference = 0.95: of another fit only the privacy noise is known,",
      "whose covariance noise_vcov() returns and which leaves out the sampling error"
    ), what), "no_interval")
  }
  t <- e$coefficients
  t$term <- one_name(t$term)
  t
}

# The covariance of the estimates: sampling error and privacy noise together. A term without an interval has NA.
vcov.dp_fit <- function(object, complete = TRUE, ...) {
  no_more(...)
  e <- interval_terms(object, "vcov")
  names <- e$term
  n <- length(names)
  v <- matrix(NA_real_, n, n, dimnames = list(names, names))
  said <- object$coefficients
  if (!identical(said$noise, "intervals") || is.null(said$covariance)) {
    refuse("vcov: the command states no covariance of the intervals: it is older than this package", "not_stated")
  }
  own <- said$terms$term
  if (!is.null(said$terms$class)) own <- paste0(said$terms$class, ": ", own)
  at <- match(names, one_name(own))
  given <- matrix(as.numeric(said$covariance), nrow(said$terms))[at, at]
  # The terms that the command prints may have another unit (a doubling in place of one unit of log1p). Intervals have
  # the unit of the formula.
  unit <- optional(e$standard_error, n) / sqrt(diag(given))
  v[] <- given * outer(unit, unit)
  keep <- complete | !is.na(diag(v))
  v[keep, keep, drop = FALSE]
}

# The design matrix of the terms for rows, as the command scores them: a number beyond its bounds counts as the bound.
design <- function(object, newdata) {
  e <- interval_terms(object, "design")
  if (startsWith(object$loss, "softmax")) {
    refuse("a fit of several classes has no design of one number a term: dp_contrast() says what follows from it", "not_stated")
  }
  described <- object$described
  if (length(object$pairs) || !is.null(object$features) || any(vapply(described, function(d) !is.null(d$curve), NA))) {
    refuse("a fit with curves, interactions or effects has no design of one number a term: dp_contrast(), plot_curves() and predict(interval = \"confidence\") say what follows from it",
      "not_stated")
  }
  absent <- setdiff(names(described), names(newdata))
  if (length(absent)) refuse(sprintf("newdata: must have the column %s", absent[1L]), field = "newdata")
  x <- matrix(0, nrow(newdata), nrow(e), dimnames = list(NULL, e$term))
  put <- function(term, values) if (term %in% colnames(x)) x[, term] <<- values
  for (name in names(described)) {
    d <- described[[name]]
    cells <- newdata[[name]]
    if (!is.null(d$category)) {
      cells <- trimws(texts(cells, TRUE))
      for (level in d$category[-1L]) put(paste0(name, "=", level), as.numeric(cells == level))
      put(paste0(name, "=other"), as.numeric(!cells %in% d$category))
      next
    }
    if (!is.null(d$date)) {
      first <- as.numeric(as.Date(as.character(d$date)))
      cells <- if (inherits(cells, "POSIXt")) as.numeric(cells) / 86400 else as.numeric(as.Date(cells))
      ends <- first - first[1L]
      cells <- cells - first[1L]
    } else {
      ends <- as.numeric(d$number)
      cells <- suppressWarnings(as.numeric(if (is.factor(cells)) as.character(cells) else cells))
    }
    cells <- pmin(pmax(cells, ends[1L]), ends[2L])
    if (identical(d$transform, "log1p")) {
      ends <- log1p(ends)
      cells <- log1p(cells)
    }
    put(paste0(name, "=missing"), as.numeric(is.na(cells)))
    put(name, ifelse(is.na(cells), mean(ends), cells))
  }
  put("(Intercept)", 1)
  x
}

# The linear predictor of a design and its standard error; NA where a row depends on a term without an interval.
linear <- function(object, x) {
  b <- coef(object)
  v <- vcov(object)
  unknown <- is.na(diag(v))
  fit <- drop(x %*% ifelse(is.na(b), 0, b))
  known <- !unknown
  part <- x[, known, drop = FALSE]
  se <- sqrt(pmax(rowSums((part %*% v[known, known, drop = FALSE]) * part), 0))
  se[rowSums(x[, unknown, drop = FALSE] != 0) > 0] <- NA_real_
  list(fit = fit, se = se)
}

# The inverse of the loss's link function, and its slope.
link_of <- function(object) {
  if (startsWith(object$loss, "logistic")) return(list(name = "logit", inverse = stats::plogis, slope = stats::dlogis))
  if (grepl("^(poisson|gamma|negbinomial|tweedie|hazard)", object$loss)) return(list(name = "log", inverse = exp, slope = exp))
  list(name = "identity", inverse = identity, slope = function(z) rep(1, length(z)))
}

family.dp_fit <- function(object, ...) {
  if (identical(object$loss, "logistic")) return(stats::binomial())
  if (startsWith(object$loss, "poisson")) return(stats::poisson())
  if (startsWith(object$loss, "gamma")) return(stats::Gamma("log"))
  if (startsWith(object$loss, "squared")) return(stats::gaussian())
  refuse(sprintf("family: loss %s is that of no exponential family: fit with logistic, poisson(clip), gamma(clip) or squared(clip)", object$loss), "not_stated")
}

# An unknown argument of a method is an error. It is never ignored without a message.
no_more <- function(...) {
  if (!...length()) return(invisible())
  name <- names(list(...))[1L]
  refuse(sprintf("%s: must be left out: the method has no such argument", if (is.null(name) || !nzchar(name)) "the last argument" else name))
}

no_rows <- function(what, instead) {
  refuse(sprintf("%s: a private fit keeps no rows: %s", what, instead), field = "newdata")
}

fitted.dp_fit <- function(object, ...) no_rows("fitted", "predict(object, data) predicts those of a table")

residuals.dp_fit <- function(object, ...) {
  no_rows("residuals", "compare predict(object, data) with the outcome of a table; residuals of the people of the fit tell about them")
}

model.frame.dp_fit <- function(formula, ...) no_rows("model.frame", "the table is with whoever fitted it")

model.matrix.dp_fit <- function(object, data, ...) {
  if (missing(data)) no_rows("model.matrix", "give data, a table whose design is asked for")
  design(object, data)
}

logLik.dp_fit <- function(object, ...) {
  refuse("logLik: the likelihood of the rows is no released number, nor are AIC and BIC: dp_report() has the comparison that was paid for", "not_stated")
}

# Fits the call of a fit again. The new fit is charged as every fit is.
update.dp_fit <- function(object, formula., ..., evaluate = TRUE) {
  call <- object$call
  if (!missing(formula.)) call$formula <- stats::update.formula(object$formula, formula.)
  more <- match.call(expand.dots = FALSE)$...
  for (name in names(more)) call[[name]] <- more[[name]]
  if (!evaluate) return(call)
  # A fit keeps the name of its data frame and the other arguments as the caller wrote them. The name may stand for
  # another table by now.
  if (!"data" %in% names(more)) refuse("data: must be given: a private fit keeps no rows", field = "data")
  eval(call, parent.frame())
}

augment.dp_fit <- function(x, newdata, interval = c("none", "confidence"), ...) {
  no_more(...)
  if (missing(newdata)) no_rows("augment", "give newdata")
  interval <- match.arg(interval)
  out <- as.data.frame(newdata)
  if (interval == "confidence") {
    p <- predict(x, newdata, interval = "confidence")
    out$.fitted <- p[, "fit"]
    out$.lower <- p[, "lwr"]
    out$.upper <- p[, "upr"]
  } else if (!is.null(x$classes)) {
    p <- predict(x, newdata, if (is.null(x$loss) || has_probability(x)) "response" else "link")
    if (is.matrix(p)) for (class in colnames(p)) out[[paste0(".fitted_", class)]] <- p[, class] else out$.fitted <- p
    out$.class <- predict(x, newdata, "class")
  } else {
    out$.fitted <- predict(x, newdata)
  }
  out
}

has_probability <- function(object) grepl("logistic|softmax|ordered", object$loss)
