# The terms as a data frame with the columns term, estimate, noise.sd and per, and with class if each class has terms
# of its own. For a fit with intervals the terms are those with intervals. A term outside of the formula has no
# estimate.
terms_of <- function(x) {
  t <- x$effects$coefficients
  if (!is.null(t)) {
    estimate <- ifelse(t$state == "not in the formula", NA_real_, optional(t$estimate, nrow(t)))
    per <- if (is.null(t$per)) "" else ifelse(is.na(t$per), "", t$per)
    return(data.frame(term = one_name(t$term), estimate = estimate, noise.sd = NA_real_, per = per))
  }
  t <- x$coefficients$terms
  out <- data.frame(term = one_name(t$term))
  if (!is.null(t$class)) out$class <- t$class
  out$estimate <- as.numeric(t$value)
  out$noise.sd <- if (is.null(t$noise_sd)) NA_real_ else as.numeric(t$noise_sd)
  out$per <- ifelse(is.na(t$per), "", t$per)
  out$state <- if (is.null(t$state)) NA_character_ else t$state
  out$steps.sd <- if (is.null(t$steps_sd)) NA_real_ else as.numeric(t$steps_sd)
  out$share <- if (is.null(t$share)) NA_real_ else as.numeric(t$share)
  out
}

# The text that shows the noise of a term in every display.
noise_text <- function(t) {
  number <- function(v) formatC(v, digits = 2, format = "g")
  out <- ifelse(is.na(t$noise.sd), ifelse(t$state %in% "not arrived", t$state, "-"), number(t$noise.sd))
  part <- !is.na(t$steps.sd)
  out[part] <- sprintf("%s (noise %s, %.0f%% of the way)", number(t$noise.sd), number(t$steps.sd), 100 * t$share)[part]
  out
}

# The intercept, also that of a class, has the same name in all methods.
one_name <- function(term) sub("(^|: )(intercept|[(]intercept[)])$", "\\1(Intercept)", term)

coef.dp_fit <- function(object, complete = TRUE, ...) {
  no_more(...)
  t <- terms_of(object)
  if (is.null(t$class)) return(setNames(t$estimate, t$term)[complete | !is.na(t$estimate)])
  rows <- unique(t$term)
  columns <- unique(t$class)
  matrix(t$estimate[match(outer(rows, columns, paste, sep = "\r"), paste(t$term, t$class, sep = "\r"))],
    length(rows), dimnames = list(rows, columns))
}

noise_vcov <- function(object) {
  v <- object$coefficients$covariance
  if (is.null(v) || !is.null(object$effects)) refuse("the certificate states no covariance of the noise: its standard deviations are bounds, or not stated", "not_stated")
  t <- terms_of(object)
  names <- if (is.null(t$class)) t$term else paste(t$term, t$class, sep = ":")
  dimnames(v) <- list(names, names)
  v
}

# The ends of the intervals of the terms t at the given level. The command computes intervals of a level other than
# that of the fit.
ends <- function(object, t, level, name) {
  e <- object$effects
  if (!isTRUE(all.equal(level, e$level))) {
    if (!identical(e$method, "wald") || !isTRUE(level >= 0.5 && level <= 0.999)) {
      refuse(sprintf("%s: must be from 0.5 to 0.999, and %g, the level of the fit, for intervals of the method region", name, e$level), field = name)
    }
    of <- json_of(c("coefficients", object$folder, "--json", sprintf("--level=%.17g", level)))$intervals$coefficients
    t <- of[match(t$term, one_name(of$term)), ]
  }
  cbind(optional(t$low, nrow(t)), optional(t$high, nrow(t)))
}

confint.dp_fit <- function(object, parm, level, ...) {
  no_more(...)
  e <- object$effects
  if (is.null(e)) {
    refuse(paste(
      "no interval follows from this fit: the standard deviation of the noise leaves out the sampling error.",
      "Fit with inference = 0.95"
    ), "no_interval")
  }
  if (missing(level)) level <- e$level
  t <- interval_terms(object, "confint")
  out <- ends(object, t, level, "level")
  dimnames(out) <- list(t$term, paste(100 * (1 + c(-1, 1) * level) / 2, "%"))
  if (missing(parm)) out else out[parm, , drop = FALSE]
}

print.dp_fit <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  r <- x$report
  cat("Model trained under differential privacy: ", deparse1(x$formula), "\n", sep = "")
  cat(sprintf("(%g, %g)-differentially private under %s, %d rows\n", r$epsilon, r$delta, r$relation, r$records))
  if (isTRUE(x$spent$fits > 1L)) cat(sprintf("All %d releases of %s cost together epsilon %.4g at delta %g\n", x$spent$fits, x$table, x$spent$epsilon, x$spent$delta))
  cat("\n")
  print(coef(x), digits = digits)
  invisible(x)
}

summary.dp_fit <- function(object, ...) structure(list(fit = object, table = terms_of(object)), class = "summary.dp_fit")

VERDICTS <- c(
  better = "better than the best constant prediction",
  worse = "worse than the best constant prediction",
  unclear = "not shown to be better than the best constant prediction"
)

print.summary.dp_fit <- function(x, digits = 3L, ...) {
  f <- x$fit
  r <- f$report
  verdict <- if (is.null(r$verdict)) "not compared with a constant prediction" else VERDICTS[[r$verdict]]
  if (!is.null(r$comparison)) verdict <- r$comparison # one sentence, with the numbers
  cat("Call: ", deparse1(f$call, collapse = "\n"), "\n\n", sep = "")
  cat("Protects:   ", r$protects, "\n", sep = "")
  cat(sprintf("Guarantee:  (%g, %g)-differentially private under %s\n", r$epsilon, r$delta, r$relation))
  cat(sprintf("Rows:       %d (public)\n", r$records))
  cat(sprintf("Algorithm:  %s, %d steps, %d noisy answers\n", r$algorithm, r$steps, r$releases))
  cat(strwrap(paste("Model:     ", verdict), 80, exdent = 12), sep = "\n")
  cat(sprintf("All fits:   epsilon %.4g at delta %g for %d of %s\n\n", f$spent$epsilon, f$spent$delta, f$spent$fits, f$table))
  if (is.null(f$effects)) print_noise(x) else print_intervals(x)
  if (length(f$unasked)) {
    cat(strwrap(paste0(paste0(f$unasked, "=missing", collapse = ", "), ": the score of a row whose cell is missing. A curve or an interaction of a ",
      "number has no place for such a cell, so that the fit has this term unasked. Noise alone makes it where no cell is missing."), 80), sep = "\n")
  }
  invisible(x)
}

# The table of a fit without intervals.
print_noise <- function(x) {
  f <- x$fit
  t <- x$table
  at_most <- identical(f$coefficients$noise, "bounded")
  shown <- data.frame(
    Estimate = formatC(t$estimate, digits = 4, format = "g"),
    Noise = noise_text(t),
    Per = t$per, check.names = FALSE
  )
  names(shown)[2L] <- if (at_most) "Noise SD at most" else "Noise SD"
  if (!is.null(t$class)) shown <- cbind(Class = t$class, shown)
  row.names(shown) <- make.unique(t$term)
  print(shown, right = TRUE)
  cat("\nEstimates are in ", f$coefficients$unit, ".\n", sep = "")
  cat(strwrap(f$coefficients$meaning, 80), sep = "\n")
}

# The table of a fit with confidence intervals.
print_intervals <- function(x) {
  e <- x$fit$effects
  t <- e$coefficients
  number <- function(v) ifelse(is.na(v), "-", formatC(v, digits = 4, format = "g"))
  column <- function(name) optional(t[[name]], nrow(t)) # a fit without any interval has none of them
  estimate <- ifelse(t$state == "reported", column("estimate"), NA_real_)
  shown <- data.frame(Estimate = number(estimate), `Std. Error` = number(column("standard_error")), Low = number(column("low")),
    High = number(column("high")), Privacy = ifelse(is.na(column("privacy_share")), "-", sprintf("%.0f%%", 100 * column("privacy_share"))), check.names = FALSE)
  row.names(shown) <- make.unique(one_name(t$term))
  cat("Formula:    ", e$formula, "\n\n", sep = "")
  print(shown, right = TRUE)
  for (change in e$changes) cat("Changed: ", change, "\n", sep = "")
  for (i in seq_len(NROW(e$reasons))) {
    cat(strwrap(sprintf("%s (%s): %s.", e$reasons$state[i], paste(e$reasons$terms[[i]], collapse = ", "), e$reasons$text[i]), 80), sep = "\n")
  }
  cat(sprintf("\n%g%% intervals; Privacy is the share of an interval's width that comes from the privacy noise. Estimates are in %s.\n", 100 * e$level, e$unit))
  cat(strwrap(e$meaning, 80), sep = "\n")
}

# Contrasts with intervals: a data frame with a row for each text, such as "region=north - region=south" or
# "10 age". All numbers are those of stillpoint contrast --json.
dp_contrast <- function(object, contrasts) {
  if (!inherits(object, "dp_fit")) refuse("object: must be a fit of dp_fit", field = "object")
  if (is.null(object$effects)) refuse("object: must have intervals: inference = 0.95 asks for them", field = "object")
  if (!is.character(contrasts) || !length(contrasts) || anyNA(contrasts)) refuse("contrasts: must be texts, such as \"10 age\"", field = "contrasts")
  # The space keeps a leading minus from being taken for a flag.
  said <- json_of(c("contrast", object$folder, paste0(" ", contrasts), "--json"))$contrasts
  number <- function(name) optional(said[[name]], nrow(said))
  out <- data.frame(contrast = contrasts, estimate = number("estimate"), std.error = number("standard_error"), conf.low = number("low"),
    conf.high = number("high"), privacy.share = number("privacy_share"), state = said$state,
    reason = if (is.null(said$reason)) "" else ifelse(is.na(said$reason), "", said$reason), meaning = said$meaning)
  attr(out, "formula") <- said$formula[1L]
  attr(out, "level") <- said$level[1L]
  out
}

as.data.frame.dp_fit <- function(x, row.names = NULL, optional = FALSE, ...) terms_of(x)

tidy.dp_fit <- function(x, exponentiate = FALSE, conf.int = !is.null(x$effects), conf.level = x$effects$level, ...) {
  no_more(...)
  t <- terms_of(x)
  e <- if (isTRUE(conf.int)) interval_terms(x, "conf.int")
  if (!is.null(e)) {
    at <- ends(x, e, conf.level, "conf.level")
    t$std.error <- optional(e$standard_error, nrow(e))
    t$conf.low <- at[, 1L]
    t$conf.high <- at[, 2L]
  }
  if (exponentiate) {
    shown <- intersect(c("estimate", "conf.low", "conf.high"), names(t))
    t[shown] <- lapply(t[shown], exp)
  }
  t
}

glance.dp_fit <- function(x, ...) {
  no_more(...)
  r <- x$report
  data.frame(
    nobs = r$records, epsilon = r$epsilon, delta = r$delta, relation = r$relation, algorithm = r$algorithm,
    steps = r$steps, releases = r$releases, complete = r$complete, verdict = if (is.null(r$verdict)) NA_character_ else r$verdict,
    epsilon.together = x$spent$epsilon, delta.together = x$spent$delta, fits = x$spent$fits
  )
}

formula.dp_fit <- function(x, ...) x$formula

nobs.dp_fit <- function(object, ...) object$report$records

predict.dp_fit <- function(object, newdata, type = c("response", "link", "class", "survival"), interval = c("none", "confidence"),
                           se.fit = FALSE, horizon = NULL, ...) {
  no_more(...)
  type <- match.arg(type)
  if (identical(interval, "prediction")) {
    refuse("interval: must be none or confidence: a prediction interval needs the spread of single rows, which the fit does not release", field = "interval")
  }
  confidence <- match.arg(interval) == "confidence"
  timed <- !is.null(object$end)
  # The margin of the command is a share of the range of a number. The link of the mean is the identity.
  if (type == "link" && !timed && is.null(object$classes) && link_of(object)$name == "identity") type <- "response"
  if (!timed && (type == "survival" || !is.null(horizon))) refuse("type, horizon: must be of a fit of Surv(time, event): survival and risks by a time are of such", field = "type")
  if (timed && type == "class") refuse("type: must be response, link or survival: the outcome is the time to an event", field = "type")
  if (!is.null(horizon) && (!is.numeric(horizon) || !length(horizon) || anyNA(horizon) || type == "link")) {
    refuse("horizon: must be numbers, the times of risks or survival", field = "horizon")
  }
  if (!identical(se.fit, FALSE)) {
    if (!isTRUE(se.fit)) refuse("se.fit: must be TRUE or FALSE", field = "se.fit")
    if (type == "class" || confidence) refuse("se.fit: must be FALSE where type is class or interval is given", field = "se.fit")
    if (timed && type != "link") refuse("se.fit: must be FALSE: risks have interval = \"confidence\", and type = \"link\" a standard error", field = "se.fit")
    if (startsWith(object$loss, "ordered") && type != "link") refuse("type: must be link where se.fit is TRUE: interval = \"confidence\" has the probabilities of ordered classes", field = "type")
    interval_terms(object, "se.fit")
    if (missing(newdata)) refuse("newdata: must be given: a private fit keeps no rows", field = "newdata")
    at <- linear(object, design(object, newdata))
    se <- if (type == "link") at$se else at$se * link_of(object)$slope(at$fit)
    return(list(fit = predict(object, newdata, type), se.fit = se, residual.scale = NA_real_))
  }
  if (confidence && !type %in% c("response", "survival")) refuse("interval: must be none: intervals are of type response", field = "interval")
  if (confidence && is.null(object$effects)) refuse("interval: must be none: the fit has no intervals; inference = 0.95 asks for them", field = "interval")
  if (confidence && length(horizon) > 1L) refuse("horizon: must be one time where interval = \"confidence\"", field = "horizon")
  if (missing(newdata)) refuse("newdata: must be given: a private fit keeps no rows", field = "newdata")
  if (confidence && identical(object$effects$method, "not identified")) {
    why <- object$effects$reasons
    warning("no prediction has an interval: ", why$text[why$state == "not identified"], call. = FALSE)
  } else if (confidence && isTRUE(object$effects$short)) {
    warning("predictions of rows that depend on these terms have no interval, since the formula of the fit lacks the terms: ",
      paste(unlist(object$effects$changes), collapse = "; "), call. = FALSE)
  }
  if (type == "class" && is.null(object$classes)) refuse("type: must be response or link: the outcome is a number", field = "type")
  absent <- setdiff(object$columns, names(newdata))
  if (length(absent)) refuse(sprintf("newdata: must have the column %s", absent[1L]), field = "newdata")
  rows <- newdata[object$columns]
  for (name in object$columns) {
    if (kind_of(rows[[name]]) == "other") refuse(sprintf("newdata: %s: must be a column of numbers, texts, truths, days or moments", name), field = "newdata")
  }
  if (!nrow(rows)) return(if (confidence) matrix(numeric(), 0L, 3L, dimnames = list(NULL, c("fit", "lwr", "upr"))) else if (type == "class") character() else numeric())
  # The last column keeps a row of missing cells from being an empty line. The command does not read it.
  last <- "x"
  while (last %in% names(rows)) last <- paste0(last, "_")
  rows[[last]] <- "x"
  at <- if (!is.null(horizon)) paste0("--horizon=", paste(sprintf("%.17g", horizon), collapse = ","))
  printed <- run(c("predict", file.path(object$folder, "model.json"), "-", "--margin", at, if (confidence) "--intervals"), writer(rows, names(rows), object$levels), secret = TRUE)
  p <- read.csv(text = printed, check.names = FALSE, colClasses = if (is.null(object$classes)) NA else c(class = "character"), encoding = "UTF-8")
  if (nrow(p) != nrow(rows)) refuse(sprintf("%d predictions of %d rows", nrow(p), nrow(rows)), "system")
  if (type == "class") return(p$class)
  what <- if (type == "link") "margin" else if (timed) "risk" else if (is.null(object$classes)) "prediction" else "probability"
  some <- names(p) == what | startsWith(names(p), paste0(what, "="))
  if (!any(some)) refuse(sprintf("type: loss %s has no %s: must be link or class", object$loss, what), field = "type")
  # The margins of ordered classes are the logarithms of their probabilities. The sum of the terms is the log-odds of
  # a class above the first.
  if (type == "link" && startsWith(object$loss, "ordered")) return(log(expm1(-p[[which(some)[1L]]])))
  # For ordered classes: the ends of the intervals for the probability of each class or a higher one, without the
  # first class.
  if (confidence && startsWith(object$loss, "ordered")) return(as.matrix(p[grepl("^(lower|upper)=", names(p))]))
  ends <- if (confidence) cbind(lwr = as.numeric(p$lower), upr = as.numeric(p$upper))
  if (type == "survival") {
    p[some] <- 1 - p[some]
    if (confidence) ends[] <- 1 - ends[, 2:1]
  }
  if (confidence) return(cbind(fit = p[[which(some)]], ends))
  if (sum(some) == 1L) return(p[[which(some)]])
  out <- as.matrix(p[some])
  colnames(out) <- sub("^[a-z]+=", "", colnames(out))
  out
}

plot.dp_fit <- function(x, main = deparse1(x$formula), xlab = gsub("[\u201c\u201d]", "\"", x$coefficients$unit), ...) {
  t <- terms_of(x)
  t <- t[t$term != "(Intercept)", ]
  t <- t[rev(seq_len(nrow(t))), ]
  labels <- if (is.null(t$class)) t$term else paste(t$term, t$class, sep = ", ")
  old <- par(mar = c(4.5, min(20, max(nchar(labels)) * 0.55 + 2), 2.5, 1))
  on.exit(par(old))
  at <- seq_along(labels)
  e <- x$effects
  if (is.null(e)) {
    low <- t$estimate - 2 * t$noise.sd
    high <- t$estimate + 2 * t$noise.sd
    bars <- "bars: two standard deviations of the privacy noise; no confidence intervals"
  } else {
    of <- e$coefficients[match(t$term, one_name(e$coefficients$term)), ]
    low <- optional(of$low, nrow(of))
    high <- optional(of$high, nrow(of))
    bars <- sprintf("bars: %g%% confidence intervals", 100 * e$level)
  }
  plot(t$estimate, at, xlim = range(0, t$estimate, low, high, na.rm = TRUE), yaxt = "n", ylab = "", pch = 19, main = main, xlab = xlab, ...)
  abline(v = 0, lty = 3)
  segments(low, at, high, at)
  axis(2, at, labels, las = 1, tick = FALSE)
  graphics::mtext(bars, 3, cex = 0.7)
  invisible(t)
}
