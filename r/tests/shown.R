# What a fit shows, worked out by hand: an object of class dp_fit with numbers of which no two are alike. No command is
# run. The last part makes each number that a summary shows wrong, one at a time: a check must fail.
library(stillpoint)
of <- asNamespace("stillpoint")

terms <- data.frame(
  term = c("(Intercept)", "age", "sex=m", "tiny"), value = c(-1.5, 0.0345678, -0.5, 0.000123), noise_sd = c(0.75, 0.01234, 0.25, NA),
  per = c(NA, "1 year", NA, NA)
)
fit <- structure(list(
  formula = ill ~ age + sex, call = quote(dp_fit(ill ~ age + sex)), folder = "f", table = "people", classes = c("no", "yes"), columns = c("age", "sex"),
  report = list(protects = "what a row says", epsilon = 1.5, delta = 1e-6, relation = "replace-one", records = 4321L, algorithm = "gd",
    steps = 11L, of = 37L, releases = 13L, complete = TRUE, verdict = "worse"),
  spent = list(epsilon = 2.34567, delta = 2e-6, fits = 3L),
  coefficients = list(terms = terms, unit = "log-odds of ill", noise = "bounded", meaning = "Words.")
), class = "dp_fit")
effects <- list(level = 0.9, formula = "ill ~ age + sex", unit = "log-odds of ill", meaning = "Words.", changes = c("town is left out", "job is left out"),
  reasons = data.frame(state = "withheld", text = "noise hides them", terms = I(list(c("tiny", "small")))),
  coefficients = data.frame(
    term = c("(Intercept)", "age", "sex=m", "tiny"), per = c(NA, "1 year", NA, NA), estimate = c(-1.5, 0.0345678, -0.5, NA), standard_error = c(0.8, 0.0098765, 0.25, NA),
    low = c(-2.9, 0.01832, -0.9112, NA), high = c(-0.1, 0.05081, -0.0888, NA), privacy_share = c(0.9, 0.347, 0.62, NA), state = c(rep("reported", 3), "withheld")
  ))
with_intervals <- fit
with_intervals$effects <- effects

# Three classes whose terms come class by class, and of which the cells of the matrix are not symmetric.
classes <- fit
grid <- expand.grid(class = c("a", "b", "c"), term = c("(Intercept)", "age"), stringsAsFactors = FALSE)
classes$coefficients$terms <- data.frame(term = grid$term, class = grid$class, value = c(1, 2, 3, 40, 50, 60), noise_sd = 1:6 / 10, per = NA)

said <- function(x) capture.output(print(summary(x)))
flat <- function(lines) trimws(gsub(" +", " ", lines))
has <- function(lines, ...) for (line in c(...)) if (!flat(line) %in% flat(lines)) stop("no line ", dQuote(line, FALSE), " in\n", paste(lines, collapse = "\n"))

checks <- list(
  terms = function() {
    t <- of$terms_of(fit)
    stopifnot(identical(t$term, c("(Intercept)", "age", "sex=m", "tiny")), identical(t$estimate, terms$value), identical(t$noise.sd, terms$noise_sd),
      identical(t$per, c("", "1 year", "", "")))
    stopifnot(identical(coef(fit), setNames(terms$value, t$term)))
  },
  classes = function() {
    m <- coef(classes)
    stopifnot(identical(dimnames(m), list(c("(Intercept)", "age"), c("a", "b", "c"))), identical(unname(m), rbind(c(1, 2, 3), c(40, 50, 60))))
    # In another order of the terms, each number stays in its cell.
    mixed <- classes
    mixed$coefficients$terms <- classes$coefficients$terms[c(4, 2, 6, 1, 5, 3), ]
    stopifnot(mixed_is(coef(mixed)))
    has(said(classes), "            Class Estimate Noise SD at most Per", "(Intercept)       a        1              0.1", "age.2             c       60              0.6")
  },
  noise = function() {
    some <- data.frame(noise.sd = c(0.2, 0.3, NA, NA), steps.sd = c(0.0567, NA, NA, NA), share = c(0.876, 0.99, 0.3, NA),
      state = c("part of the way", "stated", "not arrived", "absent"))
    stopifnot(identical(of$noise_text(some), c("0.2 (noise 0.057, 88% of the way)", "0.3", "not arrived", "-")))
  },
  covariance = function() {
    known <- classes
    known$coefficients$covariance <- diag(1:6) / 10
    v <- of$noise_vcov(known)
    stopifnot(identical(rownames(v), paste(c(rep("(Intercept)", 3), rep("age", 3)), c("a", "b", "c"), sep = ":")), identical(rownames(v), colnames(v)),
      v["age:b", "age:b"] == 0.5)
  },
  facts = function() {
    lines <- said(fit)
    has(lines, "Protects:   what a row says", "Guarantee:  (1.5, 1e-06)-differentially private under replace-one", "Rows:       4321 (public)",
      "Algorithm:  gd, 11 steps, 13 noisy answers", "Model:      worse than the best constant prediction",
      "All fits:   epsilon 2.346 at delta 2e-06 for 3 of people", "Estimates are in log-odds of ill.")
    has(lines, "            Estimate Noise SD at most    Per", "age          0.03457            0.012 1 year", "tiny        0.000123                -")
    for (v in c("better", "worse", "unclear")) {
      other <- fit
      other$report$verdict <- v
      has(said(other), paste0("Model:      ", c(better = "better than the best constant prediction",
        worse = "worse than the best constant prediction", unclear = "not shown to be better than the best constant prediction")[[v]]))
      other$report$comparison <- "a sentence"
      has(said(other), "Model:      a sentence")
    }
    none <- fit
    none$report$verdict <- NULL
    none$coefficients$noise <- "estimated"
    has(said(none), "Model:      not compared with a constant prediction", "            Estimate Noise SD    Per")
    has(capture.output(print(fit)), "(1.5, 1e-06)-differentially private under replace-one, 4321 rows",
      "All 3 releases of people cost together epsilon 2.346 at delta 2e-06")
  },
  intervals = function() {
    lines <- said(with_intervals)
    has(lines, "Formula:    ill ~ age + sex", "            Estimate Std. Error     Low    High Privacy",
      "age          0.03457   0.009876 0.01832 0.05081     35%", "sex=m           -0.5       0.25 -0.9112 -0.0888     62%",
      "tiny               -          -       -       -       -", "Changed: town is left out", "Changed: job is left out",
      "withheld (tiny, small): noise hides them.", "90% intervals; Privacy is the share of an interval's width that the noise makes. Estimates are in log-odds of ill.")
    ends <- confint(with_intervals)
    stopifnot(identical(colnames(ends), c("5 %", "95 %")), identical(unname(ends["sex=m", ]), c(-0.9112, -0.0888)),
      identical(rownames(ends)[1], "(Intercept)"), identical(unname(confint(with_intervals, "age")[1, ]), c(0.01832, 0.05081)))
  },
  frames = function() {
    t <- of$tidy.dp_fit(with_intervals)
    stopifnot(identical(t$std.error, effects$coefficients$standard_error), identical(t$conf.low, effects$coefficients$low), identical(t$conf.high, effects$coefficients$high))
    e <- of$tidy.dp_fit(with_intervals, exponentiate = TRUE)
    stopifnot(all.equal(e$estimate, exp(effects$coefficients$estimate)), all.equal(e$conf.high[2], exp(0.05081)), identical(e$std.error, t$std.error))
    g <- of$glance.dp_fit(fit)
    stopifnot(identical(g$nobs, 4321L), g$epsilon == 1.5, g$delta == 1e-6, g$steps == 11L, g$releases == 13L, g$verdict == "worse",
      g$epsilon.together == 2.34567, g$fits == 3L, g$delta.together == 2e-6, nobs(fit) == 4321L, g$algorithm == "gd", g$relation == "replace-one", g$complete)
  },
  description = function() {
    d <- structure(list(table = "people", spent = list(epsilon = 2.34567, delta = 2e-6, fits = 3L), report = list(epsilon = 1.5, delta = 1e-6,
      relation = "replace-one", rows = list(estimate = 4321), level = 0.9, columns = list(
        list(name = "age", missing = list(estimate = 0.0123, low = 0, high = 0.0456), mean = list(estimate = 40.5678, low = 39.5, high = 41.5),
          quantiles = list(list(share = 0.25, estimate = 31.23456, low = 30.5))),
        list(name = "sex", levels = list(list(name = "f", count = list(estimate = 2200.7, low = 2100, high = 2300), share = list(estimate = 0.51, low = 0.5, high = 0.52),
          columns = list(list(name = "age", mean = list(estimate = 39.125, low = 38, high = 40.25))))))))), class = "dp_description")
    f <- as.data.frame(d)
    stopifnot(identical(f$column, c("age", "age", "age", "sex", "sex", "age")), identical(f$of, c("missing", "mean", "quantile 0.25", "count f", "share f", "mean")),
      identical(f$group, c(rep(NA, 5), "f")), identical(f$estimate, c(0.0123, 40.5678, 31.23456, 2200.7, 0.51, 39.125)),
      identical(f$conf.low, c(0, 39.5, 30.5, 2100, 0.5, 38)), identical(f$conf.high, c(0.0456, 41.5, NA, 2300, 0.52, 40.25)))
    lines <- capture.output(print(d))
    has(lines, "Description of people: (1.5, 1e-06)-differentially private under replace-one, 4321 rows",
      "All 3 releases of people cost together epsilon 2.346 at delta 2e-06", "90% intervals are of the table's own values and cover the privacy noise.",
      "age mean 40.57 39.5 41.5", "age quantile 0.25 31.23 30.5 -", "sex count f 2201 2100 2300", "age f mean 39.12 38 40.25")
  },
  formula = function() {
    f <- of$read_formula(ill ~ a * b + c + a:c + log1p(d) + e + b:e, c("a", "b", "c", "d", "e"))
    stopifnot(identical(f$outcome, "ill"), setequal(f$columns, c("a", "b", "c", "d", "e")), identical(f$log1p, "d"), length(f$pairs) == 3L,
      setequal(vapply(f$pairs, function(p) paste(sort(p), collapse = ":"), ""), c("a:b", "a:c", "b:e")))
  }
)
mixed_is <- function(m) identical(m[c("(Intercept)", "age"), c("a", "b", "c")], matrix(c(1, 40, 2, 50, 3, 60), 2, dimnames = list(c("(Intercept)", "age"), c("a", "b", "c"))))
for (check in checks) check()

# Each argument after the format of sprintf, and each value that is formatted, in the functions that show a fit.
wrong <- function(v) if (is.logical(v)) !v else if (is.integer(v)) v + 1L else if (is.numeric(v)) v * 1.0625 else paste0(v, "?")
places <- function(e, at = integer()) {
  found <- list()
  if (!is.call(e)) return(found)
  called <- if (is.name(e[[1L]])) as.character(e[[1L]]) else ""
  own <- if (called == "refuse") return(found) else if (called == "sprintf") seq_along(e)[-(1:2)] else if (called %in% c("formatC", "number")) 2L else integer()
  for (i in own) found <- c(found, list(c(at, i)))
  for (i in seq_along(e)) if (!identical(e[[i]], quote(expr = ))) found <- c(found, places(e[[i]], c(at, i)))
  found
}
bare <- character()
count <- 0L
for (name in c("print.dp_fit", "print.summary.dp_fit", "print_noise", "print_intervals", "confint.dp_fit", "print.dp_description")) {
  original <- get(name, of)
  unlockBinding(name, of)
  for (place in places(body(original))) {
    changed <- original
    code <- body(original)
    code[[place]] <- call("wrong_value", code[[place]])
    body(changed) <- code
    environment(changed) <- list2env(list(wrong_value = wrong), parent = of)
    assign(name, changed, of)
    if (grepl(".", name, fixed = TRUE)) registerS3method(sub("[.].*", "", name), sub("^[^.]*[.]", "", name), changed, envir = of)
    noticed <- any(vapply(checks, function(check) tryCatch({ check(); FALSE }, error = function(e) TRUE), NA))
    if (!noticed) bare <- c(bare, paste0(name, ": ", paste(deparse(body(original)[[place]]), collapse = " ")))
    count <- count + 1L
  }
  assign(name, original, of)
  if (grepl(".", name, fixed = TRUE)) registerS3method(sub("[.].*", "", name), sub("^[^.]*[.]", "", name), original, envir = of)
}
for (check in checks) check()
if (length(bare)) stop("no check fails where these are wrong:\n", paste(bare, collapse = "\n"))
stopifnot(count > 15L)
