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

# The arguments of each call of a function of package graphics while a picture is drawn.
recorded <- function(name, picture) {
  calls <- list()
  home <- asNamespace("graphics")
  own <- get(name, home)
  note <- function(...) {
    given <- match.call(own, expand.dots = TRUE)
    of <- lapply(as.list(given)[-1L], eval, parent.frame())
    calls[[length(calls) + 1L]] <<- of
    invisible(do.call(own, of))
  }
  places <- Filter(function(place) exists(name, place, inherits = FALSE), list(home, parent.env(of), as.environment("package:graphics")))
  put <- function(f) for (place in places) {
    if (bindingIsLocked(name, place)) unlockBinding(name, place)
    assign(name, f, place)
  }
  put(note)
  on.exit(put(own))
  force(picture)
  calls
}

# The message of the error of an expression; "" if it has none.
error <- function(expr) tryCatch({ expr; "" }, error = conditionMessage)

# The value of an expression while a function of the package gives an answer that was made up. The arguments of the last
# call, and the lines that it would have written, are its attributes.
answered <- function(name, answer, expr) {
  own <- of[[name]]
  asked <- written <- NULL
  put <- function(f) {
    if (bindingIsLocked(name, of)) unlockBinding(name, of)
    assign(name, f, of)
  }
  put(function(arguments, write = NULL, ...) {
    asked <<- arguments
    if (!is.null(write)) {
      to <- textConnection(NULL, "w", local = TRUE)
      write(to)
      written <<- textConnectionValue(to)
      close(to)
    }
    answer
  })
  on.exit(put(own))
  list(value = expr, asked = asked, written = written)
}

checks <- list(
  terms = function() {
    t <- of$terms_of(fit)
    stopifnot(identical(t$term, c("(Intercept)", "age", "sex=m", "tiny")), identical(t$estimate, terms$value), identical(t$noise.sd, terms$noise_sd),
      identical(t$per, c("", "1 year", "", "")))
    stopifnot(identical(coef(fit), setNames(terms$value, t$term)))
    whole <- data.frame(term = t$term, estimate = terms$value, noise.sd = terms$noise_sd, per = t$per, state = NA_character_, steps.sd = NA_real_, share = NA_real_)
    stopifnot(identical(t, whole), identical(as.data.frame(fit), whole), identical(of$tidy.dp_fit(fit), whole))
    full <- classes
    full$coefficients$terms[c("state", "steps_sd", "share")] <- list(letters[1:6], 6:1, c(1:5, NA))
    full$coefficients$terms$noise_sd <- NULL
    stopifnot(identical(of$terms_of(full), data.frame(term = grid$term, class = grid$class, estimate = c(1, 2, 3, 40, 50, 60), noise.sd = NA_real_, per = "", state = letters[1:6], steps.sd = c(6, 5, 4, 3, 2, 1),
      share = c(1, 2, 3, 4, 5, NA))))
    t <- of$terms_of(with_intervals)
    stopifnot(identical(t, data.frame(term = t$term, estimate = effects$coefficients$estimate, noise.sd = NA_real_, per = c("", "1 year", "", ""))),
      identical(names(of$tidy.dp_fit(with_intervals)), c(names(t), "std.error", "conf.low", "conf.high")), identical(of$tidy.dp_fit(with_intervals, conf.int = FALSE), t))
    bare <- with_intervals
    bare$effects$coefficients$per <- NULL
    stopifnot(identical(of$terms_of(bare)$per, rep("", 4L)), identical(names(of$glance.dp_fit(fit)), c("nobs", "epsilon", "delta", "relation", "algorithm", "steps", "releases", "complete", "verdict",
      "epsilon.together", "delta.together", "fits")), grepl("more: must be left out", error(of$glance.dp_fit(fit, more = 1)), fixed = TRUE), grepl("more: must be left out", error(of$tidy.dp_fit(fit, more = 1)), fixed = TRUE),
      grepl("conf.int: must be asked of a fit with inference", error(of$tidy.dp_fit(fit, conf.int = TRUE)), fixed = TRUE))
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
    some <- data.frame(noise.sd = c(0.2, 0.3, NA, NA), steps.sd = c(0.0567, NA, NA, NA), share = c(0.996, 0.99, 0.3, NA),
      state = c("part of the way", "stated", "not arrived", "absent"))
    stopifnot(identical(of$noise_text(some), c("0.2 (noise 0.057, 100% of the way)", "0.3", "not arrived", "-")))
  },
  covariance = function() {
    known <- classes
    known$coefficients$covariance <- diag(1:6) / 10
    v <- of$noise_vcov(known)
    stopifnot(identical(rownames(v), paste(c(rep("(Intercept)", 3), rep("age", 3)), c("a", "b", "c"), sep = ":")), identical(rownames(v), colnames(v)),
      v["age:b", "age:b"] == 0.5)
    one <- fit
    stopifnot(grepl("states no covariance of the noise", error(of$noise_vcov(one)), fixed = TRUE))
    one$coefficients$covariance <- diag(1:4)
    stopifnot(identical(of$noise_vcov(one), matrix(diag(1:4), 4L, dimnames = rep(list(c("(Intercept)", "age", "sex=m", "tiny")), 2L))))
    one$effects <- effects
    stopifnot(grepl("states no covariance of the noise", error(of$noise_vcov(one)), fixed = TRUE))
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
      "withheld (tiny, small): noise hides them.", "90% intervals; Privacy is the share of an interval's width that comes from the privacy noise. Estimates are in log-odds of ill.")
    ends <- confint(with_intervals)
    stopifnot(identical(colnames(ends), c("5 %", "95 %")), identical(unname(ends["sex=m", ]), c(-0.9112, -0.0888)),
      identical(rownames(ends)[1], "(Intercept)"), identical(unname(confint(with_intervals, "age")[1, ]), c(0.01832, 0.05081)))
  },
  frames = function() {
    t <- of$tidy.dp_fit(with_intervals)
    stopifnot(identical(t$std.error, effects$coefficients$standard_error), identical(t$conf.low, effects$coefficients$low), identical(t$conf.high, effects$coefficients$high))
    e <- of$tidy.dp_fit(with_intervals, exponentiate = TRUE)
    stopifnot(all.equal(e$estimate, exp(effects$coefficients$estimate)), all.equal(e$conf.high[2], exp(0.05081)), all.equal(e$conf.low[2], exp(0.01832)), identical(e$std.error, t$std.error))
    g <- of$glance.dp_fit(fit)
    stopifnot(identical(g$nobs, 4321L), g$epsilon == 1.5, g$delta == 1e-6, g$steps == 11L, g$releases == 13L, g$verdict == "worse",
      g$epsilon.together == 2.34567, g$fits == 3L, g$delta.together == 2e-6, nobs(fit) == 4321L, g$algorithm == "gd", g$relation == "replace-one", g$complete)
  },
  description = function() {
    d <- structure(list(table = "people", spent = list(epsilon = 2.34567, delta = 2e-6, fits = 3L), report = list(epsilon = 1.5, delta = 1e-6,
      relation = "replace-one", rows = list(estimate = 4321), level = 0.9, columns = list(
        list(name = "age", missing = list(estimate = 0.0123, low = 0, high = 0.0456), mean = list(estimate = 40.5678, low = 39.5, high = 41.5),
          standard_deviation = list(estimate = 12.75, low = 12, high = 13.5), beyond = list(estimate = 0.03125, low = 0, high = 0.0625),
          quantiles = list(list(share = 0.25, estimate = 31.23456, low = 30.5))),
        list(name = "sex", levels = list(list(name = "f", count = list(estimate = 2200.7, low = 2100, high = 2300), share = list(estimate = 0.51, low = 0.5, high = 0.52),
          columns = list(list(name = "age", mean = list(estimate = 39.125, low = 38, high = 40.25))))))))), class = "dp_description")
    f <- as.data.frame(d)
    stopifnot(identical(f$column, c(rep("age", 5), "sex", "sex", "age")), identical(f$of, c("missing", "mean", "standard_deviation", "beyond", "quantile 0.25", "count f", "share f", "mean")),
      identical(f$group, c(rep(NA, 7), "f")), identical(f$estimate, c(0.0123, 40.5678, 12.75, 0.03125, 31.23456, 2200.7, 0.51, 39.125)),
      identical(f$conf.low, c(0, 39.5, 12, 0, 30.5, 2100, 0.5, 38)), identical(f$conf.high, c(0.0456, 41.5, 13.5, 0.0625, NA, 2300, 0.52, 40.25)))
    stopifnot(identical(row.names(f), as.character(1:8)))
    lines <- capture.output(print(d))
    has(lines, "Description of people: (1.5, 1e-06)-differentially private under replace-one, 4321 rows",
      "All 3 releases of people cost together epsilon 2.346 at delta 2e-06", "90% intervals are of the table's own values and cover the privacy noise.",
      "age mean 40.57 39.5 41.5", "age quantile 0.25 31.23 30.5 -", "sex count f 2201 2100 2300", "age f mean 39.12 38 40.25")
  },
  levels = function() {
    fails <- function(expr) inherits(try(expr, silent = TRUE), "try-error")
    other <- with_intervals
    other$effects$method <- "wald"
    asked <- NULL
    answer <- effects$coefficients[c(3, 1, 4, 2), ] # in another order, as any answer may be
    answer$low <- answer$estimate - 7 * answer$standard_error
    answer$high <- answer$estimate + 9 * answer$standard_error
    own <- of$json_of
    unlockBinding("json_of", of)
    assign("json_of", function(arguments, ...) {
      asked <<- arguments
      list(intervals = list(coefficients = answer))
    }, of)
    on.exit(assign("json_of", own, of))
    ends <- confint(other, level = 0.75)
    stopifnot(identical(asked, c("coefficients", "f", "--json", "--level=0.75")), identical(colnames(ends), c("12.5 %", "87.5 %")),
      identical(rownames(ends), c("(Intercept)", "age", "sex=m", "tiny")), all(is.na(ends["tiny", ])),
      all.equal(unname(ends[1:3, 1L]), c(-1.5 - 7 * 0.8, 0.0345678 - 7 * 0.0098765, -0.5 - 7 * 0.25)),
      all.equal(unname(ends[1:3, 2L]), c(-1.5 + 9 * 0.8, 0.0345678 + 9 * 0.0098765, -0.5 + 9 * 0.25)))
    t <- of$tidy.dp_fit(other, conf.level = 0.75)
    stopifnot(identical(t$conf.low, unname(ends[, 1L])), identical(t$conf.high, unname(ends[, 2L])))
    for (level in c(0.5, 0.999)) stopifnot(all.equal(unname(confint(other, level = level)[1L, ]), c(-1.5 - 7 * 0.8, -1.5 + 9 * 0.8)))
    stopifnot(fails(confint(other, level = 0.4)), fails(confint(other, level = 0.9995)), fails(confint(with_intervals, level = 0.95)))
    other$effects$method <- "region"
    stopifnot(fails(confint(other, level = 0.95)), !fails(confint(other, level = 0.9)))
  },
  absent = function() {
    other <- with_intervals
    other$effects$coefficients$estimate[4] <- 0.7
    stopifnot(coef(other)[["tiny"]] == 0.7)
    other$effects$coefficients$state[4] <- "not in the formula"
    stopifnot(is.na(coef(other)[["tiny"]]), identical(names(coef(other, complete = FALSE)), c("(Intercept)", "age", "sex=m")))
    once <- fit
    once$spent$fits <- 1L
    stopifnot(!any(grepl("cost together", capture.output(print(once)), fixed = TRUE)))
  },
  bars = function() {
    grDevices::pdf(NULL)
    on.exit(grDevices::dev.off())
    t <- plot(fit)
    stopifnot(identical(t$term, c("tiny", "sex=m", "age")), par("usr")[1L] < -1, par("usr")[2L] > 0.034 + 2 * 0.012)
    # The bars of a fit with intervals are these, and the words above them say so.
    bars <- NULL
    for (f in list(fit, with_intervals)) bars <- rbind(bars, recorded("segments", plot(f))[[1L]][c("x0", "x1")])
    stopifnot(all.equal(bars[[1L, "x0"]], c(NA, -1, 0.0345678 - 2 * 0.01234)), all.equal(bars[[2L, "x0"]], c(NA, -0.9112, 0.01832)),
      all.equal(bars[[2L, "x1"]], c(NA, -0.0888, 0.05081)))
    words <- vapply(list(fit, with_intervals), function(f) recorded("mtext", plot(f))[[1L]]$text, "")
    stopifnot(identical(words, c("bars: two standard deviations of the privacy noise; no confidence intervals", "bars: 90% confidence intervals")))
  },
  withheld = function() { # an estimate without an interval is shown by no display of the command
    other <- with_intervals
    other$effects$coefficients$estimate[4] <- 0.7
    has(said(other), "tiny - - - - -")
  },
  nothing = function() { # no coefficient has an interval, so that the command prints none of its numbers
    none <- with_intervals
    none$effects$coefficients <- data.frame(term = c("age", "(Intercept)"), per = NA, state = "not in the formula")
    has(said(none), "Estimate Std. Error Low High Privacy", "age - - - - -", "(Intercept) - - - - -")
    stopifnot(all(is.na(coef(none))), identical(of$tidy.dp_fit(none, conf.level = 0.9)$std.error, c(NA_real_, NA_real_)))
  },
  surfaces = function() {
    grDevices::pdf(NULL)
    on.exit(grDevices::dev.off())
    s <- list(column = "region:age", class = "a", effect = matrix(c(0.1, -0.4, 0.2, 0.5, 0.3, -0.6), 2L, dimnames = list(c("n", "other"), c("20", "45", "70"))),
      thin = matrix(c(FALSE, FALSE, TRUE, FALSE, FALSE, FALSE), 2L))
    other <- fit
    other$coefficients$ratio <- "odds"
    draw <- function(name) recorded(name, of$draw_surface(other, s))
    # The first row of the matrix is the uppermost: n is at height 2 and other at 1, and ages go from left to right.
    seen <- draw("image")[[1L]]
    stopifnot(identical(seen$x, 1:3), identical(seen[[2L]], 1:2), identical(unname(seen[[3L]]), cbind(c(-0.4, 0.5, -0.6), c(0.1, 0.2, 0.3))), identical(seen$zlim, c(-0.6, 0.6)),
      seen$xlab == "age", seen$ylab == "region")
    cells <- draw("text")[[1L]]
    stopifnot(identical(as.vector(cells$x), c(1L, 1L, 2L, 2L, 3L, 3L)), identical(as.vector(cells[[2L]]), c(2L, 1L, 2L, 1L, 2L, 1L)),
      identical(as.vector(cells[[3L]]), c("1.1", "0.67", "-", "1.6", "1.3", "0.55")))
    axes <- draw("axis")
    stopifnot(identical(axes[[1L]][[3L]], c("20", "45", "70")), identical(axes[[1L]]$at, 1:3), identical(axes[[2L]][[3L]], c("n", "other")), identical(axes[[2L]]$at, 2:1))
    stopifnot(draw("mtext")[[1L]]$text == "interaction (odds, times), a")
    other$coefficients$ratio <- NULL
    stopifnot(identical(as.vector(draw("text")[[1L]][[3L]]), c("0.1", "-0.4", "-", "0.5", "0.3", "-0.6")), draw("mtext")[[1L]]$text == "interaction (log-odds of ill), a")
  },
  pictures = function() { # the parts of a picture of curves: lines, bands, grey places of few rows and words
    grDevices::pdf(NULL)
    on.exit(grDevices::dev.off())
    points <- data.frame(x = c(1, 2, 4, 8, 16), effect = c(0.1, 0.2, -0.3, 0.4, 0.5), low = c(0, NA, -0.5, 0.3, 0.25), high = c(0.25, NA, -0.1, 0.6, 0.75), thin = c(FALSE, TRUE, TRUE, FALSE, FALSE))
    curve <- list(column = "age", class = NA_character_, date = FALSE, log = FALSE, level = 0.9, points = points)
    with <- function(...) utils::modifyList(curve, list(...))
    bare <- with(points = transform(points, low = NA_real_, high = NA_real_))
    odds <- fit
    odds$coefficients$ratio <- "odds"
    draw <- function(name, curves = list(curve), x = fit) recorded(name, of$draw_curve(x, curves))
    xy <- function(call) unname(lapply(call[1:2], as.numeric))
    stopifnot(identical(xy(draw("lines")[[1L]]), list(points$x, c(0.1, NA, -0.3, 0.4, 0.5))), identical(xy(draw("lines", list(with(level = NA_real_)))[[1L]]), list(points$x, points$effect)),
      all.equal(xy(draw("lines", x = odds)[[1L]]), list(points$x, exp(c(0.1, NA, -0.3, 0.4, 0.5)))))
    bands <- draw("polygon")
    stopifnot(length(bands) == 2L, identical(xy(bands[[1L]]), list(c(1, 1), c(0.25, 0))), identical(xy(bands[[2L]]), list(c(4, 8, 16, 16, 8, 4), c(-0.1, 0.6, 0.75, 0.25, 0.3, -0.5))))
    whole <- with(level = NA_real_, points = transform(points, low = effect - 1, high = effect + 2))
    bands <- draw("polygon", list(whole), odds)
    stopifnot(length(bands) == 1L, all.equal(xy(bands[[1L]]), list(c(points$x, rev(points$x)), exp(c(points$effect + 2, rev(points$effect - 1))))), length(draw("polygon", list(bare))) == 0L)
    grey <- function(...) vapply(draw("rect", ...), function(r) c(r[[1L]], r[[3L]]), c(0, 0))
    stopifnot(identical(grey(), cbind(c(1, 2), c(2, 4), c(4, 8))), identical(grey(list(with(level = NA_real_))), cbind(c(2, 4))))
    tall <- function(x) { r <- draw("rect", x = x)[[1L]]; all.equal(c(r[[2L]], r[[4L]]), if (of$multiplies(x)) 10^par("usr")[3:4] else par("usr")[3:4]) }
    stopifnot(isTRUE(tall(fit)), isTRUE(tall(odds)))
    words <- function(...) vapply(draw("mtext", ...), function(m) m$text, "")
    stopifnot(identical(words(), "band: 90% confidence intervals"), identical(words(list(bare)), "noise hides a knot: no confidence intervals"),
      identical(words(list(whole)), "band: privacy noise only"), identical(words(list(utils::modifyList(bare, list(level = NA_real_)))), character()))
    stopifnot(identical(draw("abline")[[1L]]$h, 0), identical(draw("abline", x = odds)[[1L]]$h, 1))
    window <- function(...) draw("plot.window", ...)[[1L]]
    stopifnot(identical(window()[[2L]], c(-0.5, 0.75)), all.equal(window(x = odds)[[2L]], exp(c(-0.5, 0.75))), identical(window()[[3L]], ""), identical(window(x = odds)[[3L]], "y"),
      identical(window(list(with(log = TRUE)), odds)[[3L]], "xy"), identical(window(list(with(log = TRUE)))[[3L]], "x"), identical(window(list(bare, with(points = points + 1)))[[2L]], c(-0.3, 1.75)))
    labels <- function(...) { t <- draw("title", ...)[[1L]]; c(t$xlab, t$ylab) }
    stopifnot(identical(labels(), c("age", "log-odds of ill")), identical(labels(list(with(log = TRUE)), odds), c("1 + age", "odds, times")))
    stopifnot(identical(xy(draw("lines", list(with(log = TRUE)))[[1L]])[[1L]], points$x + 1), identical(draw("lines", list(with(date = TRUE)))[[1L]][[1L]], as.Date("1970-01-01") + points$x))
    two <- list(with(class = "a"), with(class = "b", points = transform(points, effect = -effect)))
    key <- draw("legend", two)[[1L]]
    stopifnot(identical(key[[2L]], c("a", "b")), identical(key$col, 1:2), identical(vapply(draw("lines", two), function(l) l$col, 0L), 1:2), length(draw("legend")) == 0L,
      identical(xy(draw("lines", two)[[2L]])[[2L]], c(-0.1, NA, 0.3, -0.4, -0.5)))
  },
  grid = function() { # no category of the public rows is nested in another: each level stands beside two levels of the others
    other <- fit
    other$described <- list(age = list(number = c(20, 70)), sex = list(category = c("f", "m")), town = list(category = c("x", "y", "z", "w")))
    rows <- of$public_rows(other)
    stopifnot(identical(levels(rows$town), c("x", "y", "z", "w")), all(rows$age == 45), all(table(rows$sex, rows$town) > 0L))
    other$described <- other$described["age"]
    stopifnot(identical(of$public_rows(other), data.frame(age = 45)))
  },
  curves = function() {
    curved <- fit
    curved$coefficients$curves <- data.frame(column = c("age", "weight"), class = c("a", "b"), confidence_level = c(0.9, 0.95), date = c(NA, TRUE), log = c(TRUE, NA))
    curved$coefficients$curves$points <- list(
      data.frame(x = 1:3, effect = c(0.1, 0.2, 0.3), low = c(0, NA, 0.15), high = c(0.25, NA, 0.5), mass = c(5, 6, 7), thin = c(TRUE, NA, FALSE)),
      data.frame(x = 4:5, effect = c(0.4, 0.6)))
    drawn <- of$curves_of(curved)
    stopifnot(length(drawn) == 2L, identical(vapply(drawn, `[[`, "", "column"), c("age", "weight")), identical(vapply(drawn, `[[`, "", "class"), c("a", "b")),
      identical(vapply(drawn, `[[`, 0, "level"), c(0.9, 0.95)), identical(vapply(drawn, `[[`, NA, "date"), c(FALSE, TRUE)),
      identical(vapply(drawn, `[[`, NA, "log"), c(TRUE, FALSE)))
    p <- drawn[[1L]]$points
    stopifnot(identical(p$x, 1:3), identical(p$effect, c(0.1, 0.2, 0.3)), identical(p$low, c(0, NA, 0.15)), identical(p$high, c(0.25, NA, 0.5)),
      identical(p$mass, c(5, 6, 7)), identical(p$thin, c(TRUE, FALSE, FALSE)))
    q <- drawn[[2L]]$points
    stopifnot(all(is.na(q$low)), all(is.na(q$high)), all(is.na(q$mass)), identical(q$thin, c(FALSE, FALSE)))
    curved$coefficients$surfaces <- list(list(axes = list(list(column = "region", levels = c("region=n", "other")), list(column = "age", knots = c(20, 45.25, 70))),
      effect = rbind(1:3, 4:6) / 10))
    s <- of$surfaces_of(curved)[[1L]]
    stopifnot(identical(s$column, "region:age"), is.na(s$class), identical(dimnames(s$effect), list(c("n", "other"), c("20", "45.2", "70"))),
      s$effect["other", "20"] == 0.4, s$effect["n", "70"] == 0.3, !any(s$thin), identical(dim(s$thin), c(2L, 3L)))
    curved$coefficients$surfaces[[1L]][c("class", "thin")] <- list("b", rbind(c(FALSE, TRUE, FALSE), c(FALSE, FALSE, FALSE)))
    s <- of$surfaces_of(curved)[[1L]]
    stopifnot(identical(s$class, "b"), identical(which(s$thin), 3L), s$thin["n", "45.2"], identical(of$curves_of(fit), list()))
    stopifnot(identical(of$axis_names(list(date = TRUE, knots = c(0.9, 31))), c("1970-01-01", "1970-02-01")))
  },
  drawn = function() {
    grDevices::pdf(NULL)
    on.exit(grDevices::dev.off())
    points <- data.frame(x = c(0, 1, 3, 7, 9), effect = c(0.05, 0.1, 0.3, 0.2, 0.4), low = c(-0.1, 0, NA, 0.1, 0.2), high = c(0.1, 0.3, NA, 0.4, 0.6),
      mass = NA_real_, thin = c(TRUE, TRUE, FALSE, FALSE, TRUE))
    draw <- function(name, level, ratio = NULL, date = FALSE, log = FALSE, with = points) {
      other <- fit
      other$coefficients$ratio <- ratio
      curve <- list(column = "age", class = NA_character_, date = date, log = log, level = level, points = with)
      recorded(name, of$draw_curve(other, list(curve)))
    }
    whole <- transform(points, low = effect - 0.1, high = effect + 0.2)
    none <- transform(points, low = NA_real_, high = NA_real_)
    # With intervals a stretch is grey if rows are few at one of its ends, and otherwise if they are at both.
    greys <- function(...) lapply(draw("rect", ...), function(r) as.numeric(unlist(r[c(1L, 3L)])))
    stopifnot(identical(greys(0.9), list(c(0, 1), c(1, 3), c(7, 9))), identical(greys(NA_real_, with = whole), list(c(0, 1))))
    # A number under log1p is drawn as 1 + x and labelled so, and a date as a day.
    stopifnot(identical(greys(NA_real_, log = TRUE, with = whole), list(c(1, 2))), identical(greys(NA_real_, date = TRUE, with = whole), list(c(0, 1))))
    for (log in c(TRUE, FALSE)) for (ratio in list(NULL, "odds")) {
      with_log <- draw("title", 0.9, ratio, log = log)[[1L]]
      stopifnot(with_log$xlab == if (log) "1 + age" else "age", with_log$ylab == if (is.null(ratio)) "log-odds of ill" else "odds, times",
        identical(draw("plot.window", 0.9, ratio, log = log)[[1L]]$log, paste0(if (log) "x" else "", if (is.null(ratio)) "" else "y")))
      shown <- if (is.null(ratio)) identity else exp
      line <- draw("lines", 0.9, ratio, log = log)[[1L]]
      stopifnot(all.equal(as.numeric(line[[1L]]), points$x + log), all.equal(line[[2L]], ifelse(is.na(points$low), NA, shown(points$effect))),
        all.equal(draw("abline", 0.9, ratio, log = log)[[1L]]$h, shown(0)))
      # The band is drawn where it is stated, each stretch apart, from its upper ends back by its lower ones.
      band <- draw("polygon", 0.9, ratio, log = log)
      stopifnot(length(band) == 2L, all.equal(as.numeric(band[[1L]][[1L]]), c(0, 1, 1, 0) + log), all.equal(band[[1L]][[2L]], shown(c(0.1, 0.3, 0, -0.1))),
        all.equal(as.numeric(band[[2L]][[1L]]), c(7, 9, 9, 7) + log), all.equal(band[[2L]][[2L]], shown(c(0.4, 0.6, 0.2, 0.1))))
    }
    stopifnot(inherits(draw("lines", NA_real_, date = TRUE, with = whole)[[1L]][[1L]], "Date"))
    words <- function(...) vapply(draw("mtext", ...), `[[`, "", "text")
    stopifnot(words(0.9) == "band: 90% confidence intervals", words(NA_real_, with = whole) == "band: privacy noise only",
      words(0.9, with = none) == "noise hides a knot: no confidence intervals", length(words(NA_real_, with = none)) == 0L)
  },
  design = function() {
    full <- with_intervals
    full$loss <- "logistic"
    full$described <- list(age = list(number = c(20, 70)), sex = list(category = c("f", "m")))
    # The command's terms come in another order, and age in another unit: twice the formula's.
    full$effects$coefficients$term[4] <- "sex=other"
    order <- c("age", "sex=m", "(intercept)", "sex=other")
    sd <- c(2 * 0.0098765, 0.25, 0.8, 1)
    r <- matrix(c(1, 0.3, -0.2, 0, 0.3, 1, 0.1, 0, -0.2, 0.1, 1, 0, 0, 0, 0, 1), 4L)
    full$coefficients <- list(noise = "intervals", unit = "log-odds of ill", terms = data.frame(term = order), covariance = r * outer(sd, sd))
    v <- vcov(full)
    own <- c("(Intercept)" = 0.8, age = 0.0098765, "sex=m" = 0.25)
    stopifnot(identical(rownames(v), c("(Intercept)", "age", "sex=m", "sex=other")), all.equal(sqrt(diag(v))[1:3], own), is.na(v["sex=other", "sex=other"]),
      all.equal(v["age", "sex=m"], 0.3 * 0.0098765 * 0.25), all.equal(v["(Intercept)", "age"], -0.2 * 0.8 * 0.0098765),
      identical(dimnames(vcov(full, complete = FALSE)), rep(list(names(own)), 2L)))
    rows <- data.frame(age = c(10, 45, NA, 90), sex = c("m", "f", " m ", "x"))
    x <- of$design(full, rows)
    stopifnot(identical(colnames(x), rownames(v)), identical(unname(x[, "age"]), c(20, 45, 45, 70)), identical(unname(x[, "sex=m"]), c(1, 0, 1, 0)),
      identical(unname(x[, "(Intercept)"]), rep(1, 4)), identical(unname(x[, "sex=other"]), c(0, 0, 0, 1)))
    at <- of$linear(full, x)
    stopifnot(all.equal(unname(at$fit), -1.5 + 0.0345678 * c(20, 45, 45, 70) - 0.5 * c(1, 0, 1, 0)))
    margins <- c(0.25, 0.5, 0.75, 1.25)
    answer <- c("probability,class,margin", sprintf("%g,yes,%g", margins / 4, margins))
    for (type in c("response", "link")) {
      p <- answered("run", answer, predict(full, rows, type, se.fit = TRUE))$value
      slope <- if (type == "link") 1 else unname(stats::dlogis(at$fit))
      stopifnot(identical(names(p), c("fit", "se.fit", "residual.scale")), identical(p$fit, if (type == "link") margins else margins / 4), all.equal(unname(p$se.fit), unname(at$se * slope)))
    }
    scored <- full
    scored[c("loss", "classes")] <- list("ordered(3)", c("a", "b", "c"))
    p <- answered("run", c("probability=a,class,margin=a", sprintf("0.5,a,%g", -margins)), predict(scored, rows, "link", se.fit = TRUE))$value
    stopifnot(all.equal(p$fit, log(expm1(margins))), all.equal(unname(p$se.fit), unname(at$se)))
    one <- c(1, 45, 0)
    stopifnot(all.equal(unname(at$se[2L]), sqrt(drop(one %*% v[1:3, 1:3] %*% one))), identical(unname(is.na(at$se)), c(FALSE, FALSE, FALSE, TRUE)))
    lone <- full
    lone$effects$coefficients[2:3, c("standard_error", "estimate")] <- NA
    alone <- of$linear(lone, x)
    stopifnot(all.equal(unname(alone$fit), rep(-1.5, 4L)), identical(is.na(alone$se), rep(TRUE, 4L)), all.equal(unname(of$linear(lone, rbind(c(1, 0, 0, 0), c(-2, 0, 0, 0)))$se), c(0.8, 1.6)))
    x[4L, "sex=other"] <- -1 # as a contrast may have it
    stopifnot(identical(unname(is.na(of$linear(full, x)$se)), c(FALSE, FALSE, FALSE, TRUE)))
    full$described$age <- list(number = c(0, 1023), transform = "log1p")
    full$described$sex <- list(category = c("f", "m"))
    stopifnot(all.equal(unname(of$design(full, data.frame(age = c(-5, 7, NA, 5000), sex = "f"))[, "age"]), c(0, log(8), log(1024) / 2, log(1024))))
    for (loss in c("logistic", "poisson(3)", "gamma(3)", "negbinomial(2,3)", "hazard", "huber(1)")) {
      full$loss <- loss
      want <- if (loss == "logistic") "logit" else if (loss == "huber(1)") "identity" else "log"
      link <- of$link_of(full)
      stopifnot(identical(link$name, want), all.equal(link$slope(0.3), (link$inverse(0.3 + 1e-6) - link$inverse(0.3 - 1e-6)) / 2e-6, tolerance = 1e-5))
    }
  },
  predictions = function() { # each column of the command's answer is in its place, and each row of a table is written
    of_loss <- function(loss, classes = NULL, end = NULL, effects = NULL) {
      f <- fit
      f$loss <- loss
      f["classes"] <- list(classes)
      f$end <- end
      f$effects <- effects
      f$levels <- "sex"
      f
    }
    rows <- data.frame(other = 1:2, sex = c("m", "f"), age = c(30, 40.5))
    got <- function(f, lines, ..., data = rows) answered("run", lines, predict(f, data, ...))
    two <- of_loss("logistic", c("01", "1"))
    lines <- c("probability,class,margin", "0.75,1,1.125", "0.25,01,-1.5")
    p <- got(two, lines)
    stopifnot(identical(p$value, c(0.75, 0.25)), identical(p$asked, c("predict", "f/model.json", "-", "--margin")),
      identical(p$written, c('"age","sex","x"', '"30","m","x"', '"40.5","f","x"')))
    stopifnot(identical(got(two, lines, "class")$value, c("1", "01")), identical(got(two, lines, "link")$value, c(1.125, -1.5)))
    named <- two
    named$columns <- c("x", "x_")
    named$levels <- "x"
    stopifnot(identical(got(named, lines, data = data.frame(x_ = 1:2, x = c(TRUE, NA)))$written, c('"x","x_","x__"', '"TRUE","1","x"', '"","2","x"')))
    sure <- of_loss("logistic", c("no", "yes"), effects = effects)
    p <- got(sure, c("probability,lower,upper,class,margin", "0.75,0.5,0.875,yes,1", "0.25,,,no,-1"), interval = "confidence")
    stopifnot(identical(p$value, cbind(fit = c(0.75, 0.25), lwr = c(0.5, NA), upr = c(0.875, NA))), identical(p$asked[5L], "--intervals"))
    several <- c("probability=a,probability=b,probability=c,class,margin=a,margin=b,margin=c", "0.5,0.25,0.125,b,1.5,2.5,3.5", "0.1,0.2,0.3,c,4.5,5.5,6.5")
    three <- of_loss("softmax(3)", c("a", "b", "c"))
    stopifnot(identical(got(three, several)$value, cbind(a = c(0.5, 0.1), b = c(0.25, 0.2), c = c(0.125, 0.3))), identical(got(three, several, "link")$value, cbind(a = c(1.5, 4.5), b = c(2.5, 5.5), c = c(3.5, 6.5))))
    ordered <- of_loss("ordered(3)", c("a", "b", "c"), effects = effects)
    stopifnot(all.equal(got(ordered, sub("1.5,2.5", "-1.5,-2.5", sub("4.5,5.5", "-4.5,-5.5", several)), "link")$value, log(exp(c(1.5, 4.5)) - 1)))
    ends <- c("probability=a,probability=b,lower=b,upper=b,class,margin=a,margin=b", "0.5,0.25,0.125,0.3,b,-1,-2", "0.1,0.2,,,b,-4,-5")
    stopifnot(identical(got(ordered, ends, interval = "confidence")$value, cbind("lower=b" = c(0.125, NA), "upper=b" = c(0.3, NA))))
    line <- of_loss("squared(1)")
    lines <- c("prediction,margin", "120.5,0.25", "-3,0.5")
    for (type in c("response", "link")) stopifnot(identical(got(line, lines, type)$value, c(120.5, -3)))
    rate <- of_loss("poisson(1)")
    stopifnot(identical(got(rate, lines, "link")$value, c(0.25, 0.5)), grepl("has no probability", error(got(of_loss("hinge", c("no", "yes")), c("score,class,margin", "1,yes,1", "2,yes,2"))), fixed = TRUE))
    timed <- of_loss("hazard", end = c(90, 365), effects = effects)
    risks <- c("risk=90,risk=365.5,margin", "0.25,0.5,1.5", "0.125,0.75,2.5")
    p <- got(timed, risks, horizon = c(90, 365.5))
    stopifnot(identical(p$value, cbind("90" = c(0.25, 0.125), "365.5" = c(0.5, 0.75))), identical(p$asked[5L], "--horizon=90,365.5"))
    stopifnot(identical(got(timed, risks, "survival", horizon = c(90, 365.5))$value, cbind("90" = c(0.75, 0.875), "365.5" = c(0.5, 0.25))))
    risks <- c("risk,lower,upper,margin", "0.25,0.125,0.5,1.5", "0.5,,,2.5")
    stopifnot(identical(got(timed, risks, interval = "confidence")$value, cbind(fit = c(0.25, 0.5), lwr = c(0.125, NA), upr = c(0.5, NA))),
      identical(got(timed, risks, "survival", interval = "confidence")$value, cbind(fit = c(0.75, 0.5), lwr = c(0.5, NA), upr = c(0.875, NA))),
      identical(got(timed, risks, "link")$value, c(1.5, 2.5)), identical(got(timed, risks)$value, c(0.25, 0.5)))
    stopifnot(grepl("1 predictions of 2 rows", error(got(two, c("probability,class,margin", "0.75,1,1"))), fixed = TRUE),
      grepl("newdata: must have the column sex", error(predict(two, rows["age"])), fixed = TRUE), grepl("newdata: age: must be a column of numbers", error(predict(two, transform(rows, age = 1i))), fixed = TRUE))
    for (bad in list(list(two, type = "survival", "type, horizon: must be of a fit of Surv"), list(two, horizon = 3, "type, horizon: must be of a fit of Surv"),
      list(timed, type = "class", "type: must be response, link or survival"), list(timed, horizon = "3", "horizon: must be numbers"), list(timed, horizon = numeric(), "horizon: must be numbers"),
      list(timed, horizon = c(1, NA), "horizon: must be numbers"), list(timed, type = "link", horizon = 3, "horizon: must be numbers"), list(sure, se.fit = 1, "se.fit: must be TRUE or FALSE"),
      list(sure, se.fit = TRUE, type = "class", "se.fit: must be FALSE where type is class"), list(sure, se.fit = TRUE, interval = "confidence", "se.fit: must be FALSE where type is class"),
      list(timed, se.fit = TRUE, "se.fit: must be FALSE: risks"), list(ordered, se.fit = TRUE, "type: must be link where se.fit is TRUE"), list(two, se.fit = TRUE, "se.fit: must be asked of a fit with inference"),
      list(sure, type = "link", interval = "confidence", "interval: must be none: intervals are of type"), list(two, interval = "confidence", "interval: must be none: the fit has no intervals"),
      list(timed, interval = "confidence", horizon = c(1, 2), "horizon: must be one time where"), list(line, type = "class", "type: must be response or link"),
      list(sure, interval = "prediction", "interval: must be none or confidence"), list(sure, more = 1, "more: must be left out"))) {
      said <- error(do.call(predict, c(bad[1L], list(rows), bad[-c(1L, length(bad))])))
      if (!startsWith(said, bad[[length(bad)]])) stop(said, ": must be ", bad[[length(bad)]])
    }
    for (bad in list(list(), list(se.fit = TRUE), list(interval = "confidence"))) stopifnot(identical(error(do.call(predict, c(list(sure), bad))), "newdata: must be given: a private fit keeps no rows"))
    none <- rows[0L, ]
    stopifnot(identical(predict(two, none), numeric()), identical(predict(two, none, "class"), character()), identical(predict(sure, none, interval = "confidence"), matrix(numeric(), 0L, 3L, dimnames = list(NULL, c("fit", "lwr", "upr")))))
    short <- sure
    short$effects$short <- TRUE
    told <- tryCatch(predict(short, rows, interval = "confidence"), warning = conditionMessage)
    stopifnot(identical(told, "predictions of rows that depend on these terms have no interval, since the formula of the fit lacks the terms: town is left out; job is left out"))
    short$effects$method <- "not identified"
    short$effects$reasons <- data.frame(state = c("not in the formula", "not identified"), text = c("absent", "noise hides it"))
    told <- tryCatch(predict(short, rows, interval = "confidence"), warning = conditionMessage)
    stopifnot(identical(told, "no prediction has an interval: noise hides it"))
  },
  answers = function() { # contrasts, means and tests: each number of the command in its cell
    number <- function(from) from + c(0.25, 0.5)
    said <- data.frame(meaning = c("first", "second"), reason = c(NA, "hidden"), state = c("reported", "withheld"), privacy_share = number(1), high = number(2), low = number(3),
      standard_error = number(4), estimate = number(5), formula = "ill ~ age", level = 0.9)
    asked <- c("10 age", "- sex=m")
    got <- answered("json_of", list(contrasts = said), dp_contrast(with_intervals, asked))
    want <- data.frame(contrast = asked, estimate = number(5), std.error = number(4), conf.low = number(3), conf.high = number(2), privacy.share = number(1), state = said$state, reason = c("", "hidden"), meaning = said$meaning)
    attributes(want)[c("formula", "level")] <- list("ill ~ age", 0.9)
    stopifnot(identical(got$value, want), identical(got$asked, c("contrast", "f", " 10 age", " - sex=m", "--json")))
    bare <- said[c("meaning", "state", "formula", "level")]
    got <- answered("json_of", list(contrasts = bare), dp_contrast(with_intervals, asked))$value
    stopifnot(all(is.na(got[2:6])), identical(got$reason, c("", "")))
    for (bad in list(1, character(), NA_character_)) stopifnot(grepl("contrasts: must be texts", error(dp_contrast(with_intervals, bad)), fixed = TRUE))
    stopifnot(grepl("object: must have intervals", error(dp_contrast(fit, "age")), fixed = TRUE), grepl("object: must be a fit", error(dp_contrast(1, "age")), fixed = TRUE))
    means <- list(of = "probabilities", rows = 2L, level = 0.9, short = TRUE, mean = list(estimate = 0.5, low = 0.25, high = 0.75),
      answers = list(list(column = "age", estimate = 1.5, low = 1.25, high = 1.75), list(column = "sex", level = "m", against = "f", estimate = 2.5, reason = "hidden")))
    public <- data.frame(sex = c(TRUE, NA), age = 1:2)
    other <- fit
    other$levels <- "sex"
    got <- answered("json_of", means, dp_means(other, public, of = "sex"))
    want <- data.frame(column = c("", "age", "sex"), level = c("", "", "m"), against = c("", "", "f"), estimate = c(0.5, 1.5, 2.5), conf.low = c(0.25, 1.25, NA), conf.high = c(0.75, 1.75, NA),
      reason = c("", "", "hidden"))
    attributes(want)[c("of", "rows", "level", "short")] <- means[c("of", "rows", "level", "short")]
    stopifnot(identical(got$value, want), identical(got$asked, c("means", "f", "--over", "-", "--json", "--of=sex")), identical(got$written, c('"age","sex"', '"1","TRUE"', '"2",""')),
      identical(answered("json_of", means, dp_means(fit, public))$asked, c("means", "f", "--over", "-", "--json")))
    for (bad in list(list(1, public), list(fit), list(fit, as.list(public)), list(fit, public[0L, ]), list(fit, public["sex"]))) {
      want <- if (is.numeric(bad[[1L]])) "object: must be a fit of dp_fit" else if (length(bad) > 1L && identical(bad[[2L]], public["sex"])) "over: must have the column age" else "over: must be a data frame with rows, a PUBLIC population"
      stopifnot(identical(error(do.call(dp_means, bad)), want))
    }
    stopifnot(identical(error(dp_tests(1)), "object: must be a fit of dp_fit"))
    tests <- data.frame(p_holm = c(0.5, NA), p = c(0.25, NA), statistic = c(3.5, NA), terms = 1:2, column = c("age", "sex"), reason = c(NA, "hidden"), without = I(list(NULL, c("sex=m", "sex=f"))))
    got <- answered("json_of", tests, dp_tests(with_intervals))
    stopifnot(identical(got$value, data.frame(column = c("age", "sex"), terms = 1:2, statistic = c(3.5, NA), p.value = c(0.25, NA), p.holm = c(0.5, NA), reason = c("", "hidden"), without = c("", "sex=m, sex=f"))),
      identical(got$asked, c("coefficients", "f", "--tests", "--json")))
  },
  written = function() { # what the command is told of each argument
    is <- function(x, want) {
      text <- as.character(jsonlite::toJSON(x, auto_unbox = TRUE, digits = NA))
      if (!identical(text, want)) stop(text, ": must be ", want)
    }
    said <- list(log1p = "pay", columns = c("age", "pay", "sex", "seen"))
    column <- function(name) of$read_column(name, said, list(age = c(18, 90), pay = list(0, "1e4"), cost = "auto"), list(sex = factor(c("f", "m")), one = "x", number = 1:2),
      list(seen = as.Date(c("2020-01-01", "2020-12-31")), came = "auto"), "age", list(age = 5, pay = "auto"))
    is(column("age"), '{"number":[18,90],"missing":"indicator","curve":5}')
    is(column("pay"), '{"number":[0,10000],"transform":"log1p","curve":"auto"}')
    is(column("cost"), '{"number":"auto"}')
    is(column("sex"), '{"category":["f","m"]}')
    is(column("one"), '{"category":["x"]}')
    is(column("number"), '{"category":["1","2"]}')
    is(column("seen"), '{"date":["2020-01-01","2020-12-31"]}')
    is(column("came"), '{"date":"auto"}')
    is(of$read_target("ill", c(FALSE, TRUE), list()), '{"column":"ill","classes":["FALSE","TRUE"]}')
    is(of$read_target("cost", NULL, list(age = 1:2, cost = c(-1, 2.5))), '{"column":"cost","number":[-1,2.5]}')
    is(of$read_unit(list(rows = 1, column = "id")), '{"column":"id","rows":1}')
    is(of$read_unit(NULL), "{}")
    data <- data.frame(age = 1:3)
    private <- function(relation, records, unit = NULL) of$read_privacy(1.5, 1e-6, relation, records, data, unit)
    is(private("replace-one", NULL), '{"epsilon":1.5,"delta":1e-06,"relation":"replace-one","records":3}')
    is(private("replace-one", 7), '{"epsilon":1.5,"delta":1e-06,"relation":"replace-one","records":3}')
    is(private("replace-one", 2, list(column = "id", rows = 2)), '{"epsilon":1.5,"delta":1e-06,"relation":"replace-one","records":2}')
    is(private("replace-one", NULL, list(column = "id", rows = 2)), '{"epsilon":1.5,"delta":1e-06,"relation":"replace-one"}')
    is(private("add-or-remove", 7), '{"epsilon":1.5,"delta":1e-06,"relation":"add-or-remove","records":7}')
    numbers <- c("pay", "age", "seen", "weight")
    is(of$read_curves("auto", said, numbers), '{"age":"auto","pay":"auto","seen":"auto"}')
    is(of$read_curves(c(pay = 4), said, numbers), '{"pay":4}')
    is(of$read_curves(NULL, said, numbers), "[]")
    for (name in c("sex", "weight", "none")) stopifnot(grepl(paste0("curves: ", name, ": must be"), error(of$read_curves(setNames(list(4), name), said, numbers)), fixed = TRUE))
    at <- list(days = c(1.5, 3), came = c(0, 1), died = c(TRUE, FALSE), status = 1:2)
    time <- function(formula, cuts = c(90, 180), bounds = list(), grouped = FALSE, changing = NULL) {
      f <- of$read_formula(formula, c("age", "sex"))
      of$read_time(f, as.data.frame(at), NULL, bounds, cuts, grouped, changing)
    }
    is(time(Surv(days, died) ~ age), '{"time":"days","event":"died","cuts":[90,180]}')
    is(time(Surv(came, days, status == 2) ~ age + sex, 90, grouped = "logit", changing = "sex"), '{"time":"days","event":"status=2","entry":"came","grouped":"logit","changing":"sex","cuts":[90]}')
    is(time(Surv(days, status == "b") ~ age, grouped = TRUE), '{"time":"days","event":"status=b","grouped":true,"cuts":[90,180]}')
    is(time(Surv(days, died) ~ age, "auto", list(days = c(0, 365))), '{"time":"days","event":"died","cuts":"auto","number":[0,365]}')
    is(time(Surv(days, died) ~ age, c("90", "180.5")), '{"time":"days","event":"died","cuts":[90,180.5]}')
    for (bad in list("town", c("age", "sex"), 1, character())) stopifnot(grepl("changing: must be the name of a column", error(time(Surv(days, died) ~ age + sex, changing = bad)), fixed = TRUE))
    for (bad in list(NA, "exact", c(TRUE, TRUE))) stopifnot(grepl("grouped: must be TRUE", error(time(Surv(days, died) ~ age, grouped = bad)), fixed = TRUE))
    stopifnot(grepl("status == 1", error(time(Surv(days, status) ~ age)), fixed = TRUE), grepl("died: must be a column of numbers", error(time(Surv(died, status == 1) ~ age)), fixed = TRUE))
    for (family in list(stats::binomial, stats::poisson(), stats::quasipoisson(), stats::Gamma("log"), stats::gaussian(), "huber(1)")) {
      known <- c(binomial = "logistic", poisson = "poisson(1)", quasipoisson = "poisson(1)", Gamma = "gamma(5)", gaussian = "squared(0.5)")
      want <- if (is.character(family)) family else known[[if (is.function(family)) "binomial" else family$family]]
      stopifnot(identical(of$loss_of(family), want))
    }
    stopifnot(grepl("binomial, probit: must be one of binomial, logit; poisson, log;", error(of$loss_of(stats::binomial("probit"))), fixed = TRUE))
  },
  families = function() { # the family of a loss, its link and the error of another loss
    for (of_loss in list(c("logistic", "binomial", "logit"), c("poisson(1.5)", "poisson", "log"), c("poisson-rate(1,0.5)", "poisson", "log"), c("gamma(5)", "Gamma", "log"),
      c("gamma(5,0.5)", "Gamma", "log"), c("squared(0.5)", "gaussian", "identity"))) {
      f <- family(structure(list(loss = of_loss[1L]), class = "dp_fit"))
      stopifnot(inherits(f, "family"), identical(c(f$family, f$link), of_loss[2:3]))
    }
    for (loss in c("logit-hazard(1,0.5)", "negbinomial(2,3,4)", "tweedie(1.5,5,10)", "hazard", "softmax(3)", "ordered(3)", "huber(0.1)", "cloglog(1,0.5)", "sigmoid", "not poisson, gamma or squared")) {
      e <- tryCatch(family(structure(list(loss = loss), class = "dp_fit")), error = identity)
      stopifnot(identical(e[c("message", "code", "field", "charged")], list(message = paste0("family: loss ", loss,
        " is that of no exponential family: fit with logistic, poisson(clip), gamma(clip) or squared(clip)"), code = "not_stated", field = "", charged = FALSE)))
    }
  },
  failures = function() { # the error of the command's last event, with each of its fields
    is <- function(lines, status, ...) {
      e <- tryCatch(of$failure(lines, status), error = identity)
      want <- list(...)
      if (!identical(unclass(e)[names(e)][order(names(e))], want[order(names(want))])) stop(paste(deparse(unclass(e)), collapse = " "))
      stopifnot(identical(class(e), c(of$condition_class(e$code), "stillpoint_error", "error", "condition")))
    }
    none <- function(lines, status, charged) {
      is(lines, status, message = paste("the command ended with exit code", status), call = NULL, code = "fault", field = "", charged = charged, exit = status)
    }
    none(character(), 137L, FALSE)
    none(c("panic: {", "", "words {\"event\":\"plan\"}", " {\"event\":\"step\"}"), 2L, FALSE)
    none(c("{", "{\"event\":\"read\",\"charged\":true}", "{\"event\":null}", "{\"step\":1}"), 3L, FALSE)
    for (event in c("plan", "step")) {
      line <- sprintf("{\"event\":\"%s\"}", event)
      for (lines in list(line, c(line, "{\"event\":\"read\"}"), c("{\"event\":\"read\"}", line, "{"))) none(lines, 9L, TRUE)
    }
    line <- function(...) as.character(jsonlite::toJSON(list(event = "error", ...), auto_unbox = TRUE))
    whole <- line(message = "first: must be 1", code = "bad-budget", field = "privacy.epsilon", rule = "must be 1", exit = 4L, charged = TRUE)
    bare <- line(message = "last", code = "system")
    is(c("words", whole), 1L, message = "first: must be 1 (what was reserved of the budget stays reserved)", call = NULL, code = "bad-budget", field = "privacy.epsilon", charged = TRUE,
      rule = "must be 1", exit = 4L)
    # Nothing of an earlier error, a plan or the exit code is said.
    is(c("{\"event\":\"plan\"}", whole, bare, "{\"event\":\"step\",\"message\":\"later\"}", "{"), 1L, message = "last", call = NULL, code = "system", field = "", charged = FALSE, rule = NULL, exit = NULL)
    is(line(message = "m", code = "budget", field = "f", rule = "r", exit = 5L, charged = FALSE), 1L, message = "m", call = NULL, code = "budget", field = "f", charged = FALSE, rule = "r", exit = 5L)
    stopifnot(identical(of$condition_class("bad-budget 2"), "stillpoint_bad_budget_2"))
  },
  bounded = function() { # bounds that a fit found stand in the places of "auto", and nothing else is changed
    out <- tempfile("fit")
    dir.create(out)
    on.exit(unlink(out, recursive = TRUE))
    model <- function(...) jsonlite::write_json(list(schema = list(columns = list(...))), file.path(out, "model.json"), auto_unbox = TRUE, digits = NA)
    known <- list(age = list(number = I(c(18, 90)), missing = "indicator"), sex = list(category = I(c("f", "m"))), born = list(date = I(c("1950-01-01", "1990-01-01"))))
    stopifnot(identical(of$with_bounds(known, out), known)) # without "auto" no file is read
    model(list(name = "age", number = c(1, 2)), list(name = "pay", number = c(0.5, 1000), missing = "other"), list(name = "sex", category = c("x", "y")),
      list(name = "seen", date = c("2020-02-03", "2021-04-05")), list(name = "born", date = c("1", "2")), list(name = "cost", number = c(-3, 7)), list(name = "extra", number = c(8, 9)))
    asked <- c(list(seen = list(date = "auto", missing = "indicator"), cost = list(number = "auto")), known, list(pay = list(number = "auto", transform = "log1p", curve = "auto")))
    want <- asked
    want$seen$date <- list("2020-02-03", "2021-04-05")
    want$cost$number <- list(-3L, 7L)
    want$pay$number <- list(0.5, 1000L)
    got <- of$with_bounds(asked, out)
    plain <- function(columns) lapply(columns, function(c) lapply(c, function(v) if (is.list(v)) unlist(v) else v))
    if (!identical(plain(got), plain(want))) stop(paste(deparse(got), collapse = " "))
    for (auto in c("seen", "pay")) { # one column alone
      got <- plain(of$with_bounds(asked[c(auto, "age")], out))
      if (!identical(got, plain(want)[c(auto, "age")])) stop(paste(deparse(got), collapse = " "))
    }
  },
  refusals = function() { # each error about an argument, whole: its words, its kind and the argument that it names
    is <- function(expr, message, field, code = "configuration") {
      e <- tryCatch({ expr; NULL }, error = identity)
      if (!identical(e[c("message", "field", "code", "charged")], list(message = message, field = field, code = code, charged = FALSE))) stop(paste(deparse(unclass(e)), collapse = " "), ": must be ", message)
    }
    none <- function(expr) stopifnot(identical(error(expr), ""))
    given <- c("epsilon", "delta", "relation", "folder", "table")
    for (needed in given) is(of$check_privacy(c("data", setdiff(given, needed)), "replace-one"), paste0(needed, ": must be given: nothing about privacy has a default"), needed)
    for (relation in c("replace-one", "add-or-remove")) none(of$check_privacy(rev(given), relation))
    for (bad in list("replace", NULL, c("replace-one", "add-or-remove"))) {
      is(of$check_privacy(given, bad), "relation: must be \"replace-one\" (hides what a row says) or \"add-or-remove\" (hides whether a row is there)", "relation")
    }
    data <- data.frame(age = 1:2, ill = c(TRUE, FALSE), odd = 1i)
    named <- "bounds, levels, dates: must be lists with the names of columns"
    is(of$check_facts(1, list(), list(), list()), "data: must be a data frame", "data")
    is(of$check_facts(data, list(1:2), list(), list()), named, "bounds")
    is(of$check_facts(data, list(a = 1:2), list(a = "x"), list()), "a: must be in one of bounds, levels and dates", "bounds")
    is(of$read_privacy(1, 1e-6, "add-or-remove", NULL, data, NULL), "records: must be given under add-or-remove: the public number of records", "records")
    is(of$read_privacy(1, 1e-6, "add-or-remove", NULL, data, list(column = "id", rows = 1)), "records: must be given under add-or-remove: the public number of records", "records")
    none(of$read_privacy(1, 1e-6, "replace-one", NULL, data, NULL))
    is(of$read_target("ill", NULL, list(age = 1:2)), "ill: must have classes = c(no, yes), or public bounds, since it is predicted", "classes")
    for (bad in list(1, "id", c(column = "id", rows = 1), list(column = "id"), list(column = "id", rows = 1, more = 1), list(column = 1, rows = 1), list(column = c("a", "b"), rows = 1),
      list(column = "id", rows = "1"), list(column = "id", rows = 1:2), list(column = "id", rows = NA_real_), list(column = "id", rows = 0), list(column = "id", rows = 1.5),
      list(column = "id", rows = numeric()))) {
      is(of$read_unit(bad), "unit: must be list(column = a name, rows = how many rows of a unit are used at most)", "unit")
    }
    none(of$read_unit(list(rows = 2, column = "id")))
    said <- list(log1p = c("pay", "sex"), columns = c("age", "pay", "sex"))
    for (bad in list(4, list(4, 5), "age")) is(of$read_curves(bad, said, c("age", "pay")), "curves: must be \"auto\", or a list with the names of columns", "curves")
    for (name in c("sex", "weight")) is(of$read_curves(setNames(list(4), name), said, c("age", "weight")), paste0("curves: ", name, ": must be a column of the formula with bounds or dates"), "curves")
    column <- function(name, bounds = list()) of$read_column(name, said, bounds, list(sex = c("f", "m")), list(), character(), list())
    is(column("age"), "age: must be in bounds, levels or dates, from public knowledge and never from the rows", "bounds")
    is(column("sex"), "formula: log1p(sex): must have bounds", "formula")
    for (bad in list(1, 1:3, c(1, NA), list("a", 2), "Auto")) is(column("age", list(age = bad)), "bounds: age: must be two numbers, or \"auto\" for those of a description", "bounds")
    is(of$check_columns(data, c("age", "b", "c")), "data: must have the column b", "data")
    is(of$check_columns(data, c("age", "odd")), "data: odd: must be a column of numbers, texts, truths, days or moments, not of class complex", "data")
    is(of$check_columns(data[0L, ], "age"), "data: must have at least one row", "data")
    none(of$check_columns(data[1L, ], c("age", "ill")))
    is(of$check_outcome(data, list(column = "age", classes = c("a", "b"))), "data: age: must be of the type of its classes or bounds: no cell of this type is one of them", "classes")
    at <- list(days = c(1.5, 3), died = c(TRUE, FALSE), status = 1:2)
    time <- function(formula = Surv(days, died) ~ age, classes = NULL, cuts = 90, grouped = FALSE, changing = NULL, bounds = list()) {
      of$read_time(of$read_formula(formula, c("age", "sex")), as.data.frame(at), classes, bounds, cuts, grouped, changing)
    }
    none(time())
    is(time(classes = c("a", "b")), "classes: must be left out: the outcome is the time to an event", "classes")
    is(time(cuts = NULL), paste("cuts: must be given: the ends of the intervals in each of which the baseline hazard is constant, such as c(90, 180, 365), or \"auto\" with bounds of the time"), "cuts")
    is(time(cuts = "auto", bounds = list(age = 1:2)), "bounds: days: must be given where cuts = \"auto\"", "bounds")
    none(time(cuts = "auto", bounds = list(days = 1:2)))
    is(time(grouped = "yes"), "grouped: must be TRUE (the time of an event is known by its interval alone), \"logit\" (the same with logit hazards) or FALSE", "grouped")
    is(time(changing = "sex"), "changing: must be the name of a column of the formula that has levels: one whose hazard ratios change", "changing")
    is(time(Surv(days, status) ~ age), "formula: status: must be a column of truths, or be compared with the value of an event, as in Surv(days, status == 1): codes differ between tables", "formula")
    is(time(Surv(died, status == 1) ~ age), "data: died: must be a column of numbers, the time from 0", "data")
    is(of$loss_of(stats::poisson("sqrt")), paste("family: poisson, sqrt: must be one of binomial, logit; poisson, log; quasipoisson, log; Gamma, log; gaussian, identity: no loss has this family and link"), "loss")
    object <- structure(list(), class = "dp_fit")
    is(of$fitted.dp_fit(object), "fitted: a private fit keeps no rows: predict(object, data) predicts those of a table", "newdata")
    is(of$residuals.dp_fit(object), "residuals: a private fit keeps no rows: compare predict(object, data) with the outcome of a table; residuals of the people of the fit tell about them", "newdata")
    is(of$model.frame.dp_fit(object), "model.frame: a private fit keeps no rows: the table is with whoever fitted it", "newdata")
    is(of$model.matrix.dp_fit(object), "model.matrix: a private fit keeps no rows: give data, a table whose design is asked for", "newdata")
    is(of$augment.dp_fit(object), "augment: a private fit keeps no rows: give newdata", "newdata")
    is(of$update.dp_fit(fit, . ~ .), "data: must be given: a private fit keeps no rows", "data")
    is(of$logLik.dp_fit(object), "logLik: the likelihood of the rows is no released number, nor are AIC and BIC: dp_report() has the comparison that was paid for", "", "not_stated")
    is(of$no_more(1), "the last argument: must be left out: the method has no such argument", "")
    is(of$no_more(b = 1, 2), "b: must be left out: the method has no such argument", "")
    is(of$interval_terms(fit, "vcov"), paste("vcov: must be asked of a fit with inference = 0.95: of another fit only the privacy noise is known,",
      "whose covariance noise_vcov() returns and which leaves out the sampling error"), "", "no_interval")
  },
  together = function() { # the costs of all fits of one table, relation and unit, and a message about several
    all <- data.frame(table = c("table a", "table a", "table a", "table b", "table c"), relation = c("replace-one", "add-or-remove", "replace-one", "replace-one", "replace-one"),
      unit = c(NA, NA, "id", NA, NA), epsilon = c(1.23456, 2, 3, 4, 5), delta = c(1e-6, 2e-6, 3e-6, 4e-6, 5e-6), fits = c(2L, 1L, 3L, 1L, 1L))
    spent <- function(..., from = all) {
      told <- NULL
      got <- withCallingHandlers(answered("json_of", from, of$spent_of("out", ...)), warning = function(w) {
        told <<- w
        invokeRestart("muffleWarning")
      })
      list(row = got$value, told = told, asked = got$asked)
    }
    got <- spent("a", "replace-one", NULL)
    stopifnot(identical(got$row, all[1L, ]), identical(got$asked, c("ledger", "out", "--json")), identical(class(got$told), c("stillpoint_spent", "stillpoint_warning", "warning", "condition")),
      identical(unclass(got$told)[c("message", "code")], list(message = "2 fits of a in out cost together epsilon 1.235 at delta 1e-06", code = "spent")))
    got <- spent("a", "replace-one", list(column = "id", rows = 2))
    stopifnot(identical(got$row, all[3L, ]), identical(got$told$message, "3 fits of a in out cost together epsilon 3 at delta 3e-06"))
    for (i in c(2L, 4L, 5L)) {
      got <- spent(sub("table ", "", all$table[i]), all$relation[i], NULL)
      stopifnot(identical(got$row, all[i, ]), is.null(got$told))
    }
    without <- all[c(1L, 4L), names(all) != "unit"] # a ledger whose fits have no unit
    stopifnot(identical(spent("b", "replace-one", NULL, from = without)$row, without[2L, ]))
  },
  again = function() { # the call of a fit with changes, and rows with predictions beside them
    other <- fit
    other$call <- quote(dp_fit(formula = ill ~ age + sex, data = people, epsilon = 1, folder = f))
    text <- function(call) deparse1(call)
    updated <- function(...) text(of$update.dp_fit(other, ..., evaluate = FALSE))
    stopifnot(identical(updated(), "dp_fit(formula = ill ~ age + sex, data = people, epsilon = 1, folder = f)"),
      identical(updated(. ~ . - sex), "dp_fit(formula = ill ~ age, data = people, epsilon = 1, folder = f)"),
      identical(updated(epsilon = 2, delta = 0.5), "dp_fit(formula = ill ~ age + sex, data = people, epsilon = 2, folder = f, delta = 0.5)"),
      identical(updated(. ~ . + age:sex, table = "b"), "dp_fit(formula = ill ~ age + sex + age:sex, data = people, epsilon = 1, folder = f, table = \"b\")"))
    dp_fit <- function(...) list(...) # where the call of an updated fit is evaluated
    people <- 1
    f <- "out"
    stopifnot(identical(of$update.dp_fit(other, data = 7, epsilon = 3)[-1L], list(data = 7, epsilon = 3, folder = "out")),
      identical(error(of$update.dp_fit(other, epsilon = 3)), "data: must be given: a private fit keeps no rows"))
    of_loss <- function(loss, classes = NULL, effects = NULL) {
      f <- fit
      f[c("loss", "classes", "effects")] <- list(loss, classes, effects)
      f$levels <- "sex"
      f
    }
    rows <- data.frame(sex = c("m", "f"), age = c(30, 40.5))
    got <- function(f, lines, ...) answered("run", lines, of$augment.dp_fit(f, rows, ...))$value
    two <- of_loss("logistic", c("no", "yes"))
    lines <- c("probability,class,margin", "0.75,yes,1.125", "0.25,no,-1.5")
    stopifnot(identical(got(two, lines), cbind(rows, .fitted = c(0.75, 0.25), .class = c("yes", "no"))))
    lines <- c("score,class,margin", "0.5,yes,1.125", "0.25,no,-1.5") # of a loss without probabilities
    stopifnot(identical(got(of_loss("hinge", c("no", "yes")), lines), cbind(rows, .fitted = c(1.125, -1.5), .class = c("yes", "no"))))
    several <- c("probability=a,probability=b,probability=c,class,margin=a,margin=b,margin=c", "0.5,0.25,0.125,b,1.5,2.5,3.5", "0.1,0.2,0.3,c,4.5,5.5,6.5")
    stopifnot(identical(got(of_loss("softmax(3)", c("a", "b", "c")), several), cbind(rows, .fitted_a = c(0.5, 0.1), .fitted_b = c(0.25, 0.2), .fitted_c = c(0.125, 0.3), .class = c("b", "c"))))
    stopifnot(identical(got(of_loss("squared(1)"), c("prediction,margin", "120.5,0.25", "-3,0.5")), cbind(rows, .fitted = c(120.5, -3))))
    sure <- of_loss("logistic", c("no", "yes"), effects)
    lines <- c("probability,lower,upper,class,margin", "0.75,0.5,0.875,yes,1", "0.25,,,no,-1")
    stopifnot(identical(got(sure, lines, interval = "confidence"), cbind(rows, .fitted = c(0.75, 0.25), .lower = c(0.5, NA), .upper = c(0.875, NA))))
    for (loss in c("logistic", "weighted(logistic,1,2)", "softmax(3)", "ordered(3)", "units(logistic,3)")) stopifnot(of$has_probability(list(loss = loss)))
    for (loss in c("hinge", "ramp", "tanh", "squared(1)")) stopifnot(!of$has_probability(list(loss = loss)))
  },
  described = function() { # the columns that are described, each once and by its name
    data <- data.frame(age = 1)
    known <- function(bounds = list(age = 1:2), levels = list(sex = "f"), dates = list(seen = 1)) of$check_facts(data, bounds, levels, dates)
    stopifnot(identical(known(), c("age", "sex", "seen")), identical(known(list(), NULL, list(b = 1, a = 2)), c("b", "a")))
    for (bad in list(list(1:2), list(age = 1:2, 3))) {
      for (at in c("bounds", "levels", "dates")) stopifnot(grepl("must be lists with the names of columns", error(do.call(known, setNames(list(bad), at))), fixed = TRUE))
    }
    stopifnot(grepl("^sex: must be in one of", error(known(list(age = 1:2, sex = 1:2)))), grepl("^seen: must be in one of", error(known(list(age = 1:2, seen = 1:2)))),
      grepl("data: must be a data frame", error(of$check_facts(list(age = 1), list(), list(), list())), fixed = TRUE))
  },
  outcomes = function() { # a column whose cells can be none of the classes is refused by its type
    data <- data.frame(n = c(1, 2), i = 1:2, t = c(TRUE, FALSE), s = c("1", "b"), f = factor(c("a", "b")), d = as.Date("2020-01-01"), m = as.POSIXct("2020-01-01", tz = "UTC"))
    taken <- function(classes) {
      names(data)[vapply(names(data), function(name) error(of$check_outcome(data, list(column = name, classes = classes))) == "", NA)]
    }
    stopifnot(identical(taken(NULL), c("n", "i", "t", "s", "f")), identical(taken(c("1", "2")), c("n", "i", "s", "f")), identical(taken(c("a", "2")), c("n", "i", "s", "f")),
      identical(taken(c("a", "b")), c("s", "f")), identical(taken(c("FALSE", "TRUE")), c("t", "s", "f")), identical(taken(c("no", "TRUE")), c("t", "s", "f")),
      identical(taken(c("FALSE", "unknown")), c("t", "s", "f")), error(of$check_outcome(data, list(time = "d", column = "d"))) == "")
    stopifnot(identical(vapply(data, of$kind_of, ""), c(n = "number", i = "number", t = "truth", s = "text", f = "text", d = "day", m = "moment")),
      of$kind_of(1i) == "other", of$kind_of(list(1)) == "other", of$kind_of(as.difftime(1, units = "mins")) == "other")
  },
  rows = function() { # what the command reads
    data <- data.frame(n = c(0.1, NA), i = c(7L, NA), t = c(TRUE, NA), s = c("a \"b\", c", "d\ne"), f = factor(c("x", NA)), d = as.Date(c("2020-01-02", NA)))
    lines <- function(columns, listed) {
      at <- textConnection(NULL, "w", local = TRUE)
      on.exit(close(at))
      of$writer(data, columns, listed)(at)
      textConnectionValue(at)
    }
    stopifnot(identical(lines(c("n", "i", "t", "f", "d"), character()), c('"n","i","t","f","d"', '"0.10000000000000001","7","1","x","2020-01-02"', '"","","","",""')),
      identical(lines(c("t", "s"), "t"), c('"t","s"', '"TRUE","a ""b"", c"', '"","d', 'e"')))
  },
  dates = function() { # rows of a design count days from the first, and stand within their bounds
    full <- with_intervals
    full$loss <- "logistic"
    full$described <- list(seen = list(date = list("2020-01-01", "2020-12-31")), age = list(number = list(20, 70)), well = list(category = c("FALSE", "TRUE")), only = list(number = 0:1))
    full$effects$coefficients <- data.frame(term = c("seen", "seen=missing", "age", "age=missing", "well=TRUE", "well=other", "(intercept)"))
    x <- function(seen, age = 30, well = TRUE) of$design(full, data.frame(seen = seen, age = age, well = well, only = 0.5))
    cells <- as.Date(c("2020-01-03", NA, "2019-01-01", "2021-06-01", "2020-12-31"))
    got <- x(cells)
    stopifnot(identical(colnames(got), c("seen", "seen=missing", "age", "age=missing", "well=TRUE", "well=other", "(Intercept)")), is.numeric(got), is.null(rownames(got)),
      identical(unname(got[, "seen"]), c(2, 182.5, 0, 365, 365)), identical(unname(got[, "seen=missing"]), c(0, 1, 0, 0, 0)), identical(unname(got[, "(Intercept)"]), rep(1, 5)))
    stopifnot(identical(unname(x("2020-01-03")[, "seen"]), 2), identical(unname(x(as.POSIXct("2020-01-03 18:00", tz = "UTC"))[, "seen"]), 2.75))
    got <- x(cells[1L], factor(c("65", "30.5", "x", "99")), c(TRUE, FALSE, NA, TRUE))
    stopifnot(identical(unname(got[, "age"]), c(65, 30.5, 45, 70)), identical(unname(got[, "age=missing"]), c(0, 0, 1, 0)),
      identical(unname(got[, "well=TRUE"]), c(1, 0, 0, 1)), identical(unname(got[, "well=other"]), c(0, 0, 1, 0)))
    stopifnot(grepl("newdata: must have the column age", error(of$design(full, data.frame(seen = cells, well = TRUE, only = 1))), fixed = TRUE))
    for (change in list(list(loss = "softmax(3)"), list(pairs = list(c("a", "b"))), list(features = 100), list(described = list(age = list(number = 0:1), pay = list(number = 0:1, curve = 4))))) {
      other <- full
      other[names(change)] <- change
      stopifnot(grepl(if (is.null(change$loss)) "a fit with curves, interactions or effects has no design" else "a fit of several classes has no design", error(of$design(other, data.frame(age = 1))), fixed = TRUE))
    }
    middle <- of$public_rows(full)
    stopifnot(identical(names(middle), names(full$described)), identical(unname(lapply(middle, `[`, 1L)), list(as.Date("2020-07-01") + 0.5, 45, factor("FALSE", c("FALSE", "TRUE")), 0.5)), nrow(middle) == 4L)
    full$described <- list("a b" = list(number = 0:1))
    stopifnot(identical(of$public_rows(full), data.frame("a b" = 0.5, check.names = FALSE)))
  },
  several = function() { # the covariance of a fit of several classes has the command's numbers by class and term
    full <- with_intervals
    full$effects$coefficients <- data.frame(term = c("a: age", "b: age", "a: (intercept)", "b: (intercept)"), standard_error = c(1, 2, 3, NA))
    r <- matrix(c(9, 0.5, 0, 1, 0.5, 1, 0, -0.25, 0, 0, 4, 0, 1, -0.25, 0, 4), 4L) # b's intercept, a's age, a's intercept, b's age
    full$coefficients <- list(noise = "intervals", terms = data.frame(term = c("intercept", "age", "intercept", "age"), class = c("b", "a", "a", "b")), covariance = r)
    v <- vcov(full)
    names <- c("a: age", "b: age", "a: (Intercept)", "b: (Intercept)")
    stopifnot(identical(dimnames(v), list(names, names)), all.equal(sqrt(diag(v))[1:3], setNames(1:3, names[1:3]) + 0), v["a: age", "b: age"] == -0.25, v["a: age", "a: (Intercept)"] == 0,
      is.na(v["b: (Intercept)", "b: (Intercept)"]), identical(dim(vcov(full, complete = FALSE)), c(3L, 3L)))
    full$effects$coefficients$standard_error <- c(1, NA, NA, NA)
    stopifnot(identical(vcov(full, complete = FALSE), matrix(1, 1L, 1L, dimnames = list("a: age", "a: age"))))
    for (part in c("noise", "covariance")) {
      other <- full
      other$coefficients[[part]] <- NULL
      stopifnot(grepl("vcov: the command states no covariance", error(vcov(other)), fixed = TRUE))
    }
    stopifnot(grepl("vcov: must be asked of a fit with inference", error(vcov(fit)), fixed = TRUE), grepl("more: must be left out", error(vcov(full, more = 1)), fixed = TRUE),
      grepl("more: must be left out", error(coef(full, more = 1)), fixed = TRUE))
  },
  configured = function() { # the configuration, the command and the rows of a whole fit and of a description, from all arguments together
    folder <- tempfile("fits")
    on.exit(unlink(folder, recursive = TRUE))
    data <- data.frame(age = c(30.5, 40), sex = c("m", "f"), "pay, \"now\"" = c(7L, NA), seen = as.Date(c("2020-02-03", "2021-03-04")), ill = c(TRUE, FALSE), who = c(TRUE, NA), w = c(0.5, 1),
      years = c(1.5, 2.5), status = c(TRUE, NA), code = c(TRUE, FALSE), check.names = FALSE)
    told <- character()
    made <- function(expr) {
      told <<- character()
      got <- withCallingHandlers(answered("json_of", NULL, tryCatch(force(expr), error = function(e) conditionMessage(e))), stillpoint_warning = function(w) {
        told <<- c(told, conditionMessage(w))
        invokeRestart("muffleWarning")
      })
      if (is.null(got$asked)) stop(got$value)
      got$file <- got$asked[2L]
      got$config <- jsonlite::fromJSON(got$file, simplifyVector = FALSE)
      got
    }
    is <- function(x, want) {
      text <- as.character(jsonlite::toJSON(x, auto_unbox = TRUE, digits = NA))
      if (!identical(text, want)) stop(text, ": must be ", want)
    }
    own <- of$stillpoint_command
    unlockBinding("stillpoint_command", of)
    assign("stillpoint_command", function() "none", of)
    on.exit(assign("stillpoint_command", own, of), add = TRUE)
    go <- function(formula = ill ~ age * sex + log1p(`pay, "now"`) + seen + offset(years), ...) {
      given <- list(bounds = list(age = c(18, 90), "pay, \"now\"" = c(0, 1e4), years = c(0.5, 3), cost = c(-1, 7)), levels = list(sex = c("m", "f")), dates = list(seen = c("2020-01-01", "2021-12-31")),
        classes = c(FALSE, TRUE), epsilon = 1.5, delta = 3e-7, relation = "add-or-remove", records = 5, folder = folder, table = "people")
      do.call(dp_fit, c(list(formula, data), utils::modifyList(given, list(...))))
    }
    got <- made(go(indicators = "age", curves = list(seen = 4), loss = "hinge", regularizer = "l2(0.5)", family = "lines", features = "effects(3)", train = list(steps = 7), unit = list(column = "who", rows = 3),
      budget = c(total = 9), inference = list(level = 0.9, rows = "unweighted"), weight = "w"))
    is(got$config, paste0('{"data":"-","table":"people","schema":{"columns":{"age":{"number":[18,90],"missing":"indicator"},"sex":{"category":["m","f"]},"pay, \\"now\\"":{"number":[0,10000],"transform":"log1p"},',
      '"seen":{"date":["2020-01-01","2021-12-31"],"curve":4}},"target":{"column":"ill","classes":["FALSE","TRUE"],"weight":"w","offset":{"column":"years","number":[0.5,3]}},',
      '"interactions":[["age","sex"]],"unit":{"column":"who","rows":3}},"model":{"loss":"hinge","family":"lines","regularizer":"l2(0.5)","features":"effects(3)"},',
      '"privacy":{"epsilon":1.5,"delta":3e-07,"relation":"add-or-remove","records":5},"train":{"steps":7},"inference":{"level":0.9,"rows":"unweighted"},"budget":{"total":9}}'))
    first <- dirname(got$file)
    stopifnot(basename(first) == "fit-0001", identical(got$asked, c("fit", got$file, "--out", first, "--json", "--anyway")), basename(got$file) == "configuration.yaml",
      identical(told, sprintf("table \"people\" is new in folder \"%s\": fits of the same people under another name or in another folder are not summed with it", folder)))
    # Truths of listed columns, classes and persons are words, and those of weights are numbers.
    stopifnot(identical(got$written, c('"age","sex","pay, ""now""","seen","who","w","years","ill"', '"30.5","m","7","2020-02-03","TRUE","0.5","1.5","TRUE"', '"40","f","","2021-03-04","","1","2.5","FALSE"')))
    data$w <- c(TRUE, FALSE)
    data$cost <- c(0.25, 6)
    got <- made(go(cost ~ age, classes = NULL, weight = "w", inference = 0.8, relation = "replace-one"))
    is(got$config, paste0('{"data":"-","table":"people","schema":{"columns":{"age":{"number":[18,90]}},"target":{"column":"cost","number":[-1,7],"weight":"w"}},',
      '"model":{"loss":"huber(0.1)","family":"auto"},"privacy":{"epsilon":1.5,"delta":3e-07,"relation":"replace-one","records":2},"inference":{"level":0.8}}'))
    stopifnot(identical(got$written, c('"age","w","cost"', '"30.5","1","0.25"', '"40","0","6"')), basename(dirname(got$file)) == "fit-0002")
    data$ill <- c("b", "c")
    loss_of <- function(classes, ...) made(go(ill ~ age, classes = classes, ...))$config$model$loss
    stopifnot(identical(loss_of(c("b", "c")), "logistic"), identical(loss_of(c("a", "b", "c")), "softmax"), identical(loss_of(c("b", "c"), family = stats::binomial()), "logistic"))
    data$ill <- factor(data$ill, c("a", "b", "c"), ordered = TRUE)
    stopifnot(identical(loss_of(c("a", "b", "c")), "ordered"), identical(loss_of(c("b", "a")), "logistic"))
    timed <- made(go(Surv(years, code == "TRUE") ~ sex, classes = NULL, cuts = 1:3, changing = "sex"))
    is(timed$config[c("schema", "model")], paste0('{"schema":{"columns":{"sex":{"category":["m","f"]}},"target":{"time":"years","event":"code=TRUE","changing":"sex","cuts":[1,2,3],"number":[0.5,3]}},',
      '"model":{"loss":"hazard","family":"auto"}}'))
    stopifnot(identical(timed$written, c('"sex","years","code"', '"m","1.5","TRUE"', '"f","2.5","FALSE"')))
    stopifnot(identical(made(go(Surv(years, status) ~ sex, classes = NULL, cuts = 2))$written[2L], '"m","1.5","1"'))
    stopifnot(grepl("unit, weight: who: must be neither in the formula nor both", error(go(cost ~ age, classes = NULL, unit = list(column = "who", rows = 2), weight = "who")), fixed = TRUE))
    # What is kept of a fit: the parts of the answers, each under its own name.
    answer <- data.frame(table = "table people", relation = "replace-one", fits = 2L, epsilon = 2.34567, delta = 2e-7)
    answer$coefficients <- data.frame(term = "age")
    said <- '{"terms":[{"term":"sex=m"},{"term":"age=missing"},{"term":"other=missing"},{"term":"cost"}],"surfaces":[{"axes":[{"levels":["x"]}]}]}'
    told <- character()
    data$sex2 <- data$sex
    kept <- withCallingHandlers(answered("json_of", answer, answered("run", said, go(cost ~ age * sex2 + log1p(`pay, "now"`), classes = NULL, relation = "replace-one", indicators = "pay, \"now\"",
      levels = list(sex = c("m", "f"), sex2 = c("f", "m")), features = "effects")))$value, stillpoint_warning = function(w) {
      told <<- c(told, conditionMessage(w))
      invokeRestart("muffleWarning")
    })
    fit <- kept$value
    stopifnot(identical(kept$asked, c("coefficients", fit$folder, "--json")), identical(fit$unasked, "age"), identical(fit$columns, c("age", "sex2", "pay, \"now\"")), identical(fit$levels, c("sex", "sex2")),
      identical(fit$pairs, list(c("age", "sex2"))), identical(fit$features, "effects"), identical(fit$loss, "huber(0.1)"), is.null(fit$classes), is.null(fit$end), identical(fit$table, "people"))
    stopifnot(identical(names(fit$described), fit$columns), identical(fit$effects, answer$coefficients), identical(fit$report$epsilon, 2.34567), identical(fit$spent$fits, 2L), nrow(fit$spent) == 1L,
      identical(fit$coefficients$terms$term[4L], "cost"), identical(fit$coefficients$surfaces[[1L]]$axes[[1L]]$levels[[1L]], "x"), class(fit) == "dp_fit", is.name(fit$call$data))
    stopifnot(identical(told, sprintf("2 fits of people in %s cost together epsilon 2.346 at delta 2e-07", folder)))
    describe <- function(...) made(dp_describe(data, list(age = c(18, 90)), list(sex = c("m", "f")), list(seen = "auto"), 1.5, 3e-7, folder = folder, table = "people", ...))
    got <- describe(relation = "add-or-remove", records = 5, by = "sex", level = 0.9, unit = list(column = "who", rows = 2), budget = list(total = 9))
    is(got$config, paste0('{"data":"-","table":"people","schema":{"columns":{"age":{"number":[18,90]},"seen":{"date":"auto"}},"target":{"column":"sex","classes":["m","f"]},',
      '"unit":{"column":"who","rows":2}},"privacy":{"epsilon":1.5,"delta":3e-07,"relation":"add-or-remove","records":5},"budget":{"total":9}}'))
    stopifnot(identical(got$asked, c("describe", got$file, "--out", dirname(got$file), "--json", "--level=0.90000000000000002", "--by=sex")),
      identical(got$written, c('"age","sex","seen","who"', '"30.5","m","2020-02-03","TRUE"', '"40","f","2021-03-04",""')))
    got <- describe(relation = "replace-one")
    stopifnot(identical(got$asked[-(1:5)], "--level=0.94999999999999996"), identical(got$config$privacy$records, 2L), is.null(got$config$schema$unit))
  },
  folders = function() { # folders of fits are counted from the largest number, and a table that is there is not called new
    folder <- tempfile("fits")
    on.exit(unlink(folder, recursive = TRUE))
    stopifnot(basename(of$fresh(folder)) == "fit-0001", dir.exists(file.path(folder, "fit-0001")))
    for (name in c("fit-0007", "fit-x", "other-0099", "fit-0003")) dir.create(file.path(folder, name))
    stopifnot(basename(of$fresh(folder)) == "fit-0008")
    dir.create(file.path(folder, "fit-10000"))
    stopifnot(basename(of$fresh(folder)) == "fit-10001", identical(dirname(of$fresh(file.path(folder, "deep", "er"))), file.path(folder, "deep", "er")))
    blocked <- file.path(folder, "file")
    writeLines("x", blocked)
    stopifnot(grepl("no folder can be made there", error(suppressWarnings(of$fresh(blocked))), fixed = TRUE))
    told <- function(table, known) {
      got <- answered("json_of", known, tryCatch({ of$warn_if_new(folder, table); "" }, stillpoint_new_table = conditionMessage))
      stopifnot(identical(got$asked, c("ledger", folder, "--json")))
      got$value
    }
    known <- data.frame(table = c("table people", "table others"))
    stopifnot(identical(told("people", known), ""), identical(told("others", known), ""), grepl("^table \"person\" is new in folder", told("person", known)), nzchar(told("people", NULL)))
  },
  bases = function() { # what other packages ask: covariances of known terms, directions that are not estimable, and predictions
    full <- with_intervals
    full$loss <- "logistic"
    full$described <- list(age = list(number = c(20, 70)), sex = list(category = c("f", "m")))
    full$effects$coefficients$term[4] <- "sex=other"
    sd <- c(0.8, 0.0098765, 0.25)
    v <- outer(c(sd, NA), c(sd, NA)) * (diag(0.75, 4L) + 0.25)
    full$coefficients <- list(noise = "intervals", unit = "log-odds of ill", terms = data.frame(term = c("intercept", "age", "sex=m", "sex=other")), covariance = v)
    rows <- data.frame(age = c(30, 45, 90), sex = c("m", "f", "x"))
    b <- of$emm_basis.dp_fit(full, NULL, NULL, rows)
    stopifnot(identical(unname(b$X), unname(of$design(full, rows))), identical(b$bhat, c(-1.5, 0.0345678, -0.5, NA)), all.equal(unname(b$V), v[1:3, 1:3]), identical(dim(b$V), c(3L, 3L)),
      identical(b$nbasis, cbind(c(0, 0, 0, 1))), identical(b$dffun(1, 2), Inf), identical(b$misc, list(tran = "logit", inv.lbl = "prob")))
    full$effects$coefficients$standard_error[2L] <- NA
    full$effects$coefficients$estimate[2L] <- NA
    full$loss <- "poisson(3)"
    b <- of$emm_basis.dp_fit(full, NULL, NULL, rows)
    stopifnot(identical(b$nbasis, cbind(c(0, 1, 0, 0), c(0, 0, 0, 1))), identical(dim(b$V), c(2L, 2L)), identical(rownames(b$V), c("(Intercept)", "sex=m")), identical(b$misc, list(tran = "log", inv.lbl = "rate")))
    full$effects$coefficients$standard_error <- c(0.8, 0.0098765, 0.25, 0.5)
    full$effects$coefficients$estimate <- c(-1.5, 0.0345678, -0.5, 2.25)
    full$coefficients$covariance <- outer(c(sd, 0.5), c(sd, 0.5)) * (diag(0.75, 4L) + 0.25)
    full$loss <- "squared(1)"
    b <- of$emm_basis.dp_fit(full, NULL, NULL, rows)
    stopifnot(identical(b$nbasis, matrix(NA_real_, 1L, 1L)), identical(b$misc, list()), identical(dim(b$V), c(4L, 4L)))
    z <- -1.5 + 0.0345678 * c(30, 45, 70) + c(-0.5, 0, 2.25)
    for (loss in c("logistic", "poisson(3)", "huber(1)")) {
      full$loss <- loss
      inverse <- if (loss == "logistic") stats::plogis else if (loss == "huber(1)") identity else exp
      p <- of$get_predict.dp_fit(full, rows)
      stopifnot(identical(p$rowid, 1:3), all.equal(p$estimate, inverse(z)), all.equal(of$get_predict.dp_fit(full, rows, "link")$estimate, z))
    }
    moved <- of$set_coef.dp_fit(full, c(1, 0.5, 2, 4))
    stopifnot(all.equal(of$get_predict.dp_fit(moved, rows, "link")$estimate, 1 + 0.5 * c(30, 45, 70) + c(2, 0, 4)), identical(unname(of$get_coef.dp_fit(full)), c(-1.5, 0.0345678, -0.5, 2.25)))
    full$effects$coefficients[4L, c("standard_error", "estimate")] <- NA
    p <- of$get_predict.dp_fit(full, rows, "link")$estimate
    stopifnot(all.equal(p[1:2], z[1:2]), is.na(p[3L]), identical(unname(of$get_coef.dp_fit(full))[4L], 0))
    w <- of$get_vcov.dp_fit(full)
    stopifnot(!anyNA(w), all(w[4L, ] == 0), all(w[, 4L] == 0), all.equal(unname(w[1L, 2L]), 0.25 * 0.8 * 0.0098765))
  },
  asides = function() { # sentences below a summary, digits of a description, and parts without a class
    other <- fit
    other$unasked <- c("age", "pay")
    lines <- paste(said(other), collapse = " ")
    stopifnot(grepl(paste("age=missing, pay=missing: the score of a row whose cell is missing. A curve or an interaction of a number has no place for such a cell,",
      "so that the fit has this term unasked. Noise alone makes it where no cell is missing."), gsub(" +", " ", lines), fixed = TRUE), !any(grepl("unasked", said(fit), fixed = TRUE)))
    stopifnot(max(nchar(said(other))) <= 80L)
    wordy <- with_intervals
    wordy$effects$meaning <- paste(rep("One sentence of many words.", 9L), collapse = " ")
    wordy$coefficients$meaning <- wordy$effects$meaning
    of_meaning <- function(x) grep("sentence", said(x), fixed = TRUE, value = TRUE)
    stopifnot(identical(of_meaning(wordy), strwrap(wordy$effects$meaning, 80)), length(of_meaning(wordy)) == 4L)
    wordy$effects <- NULL
    stopifnot(identical(of_meaning(wordy), strwrap(wordy$coefficients$meaning, 80)))
    d <- structure(list(table = "people", spent = list(epsilon = 2, delta = 2e-6, fits = 3L), report = list(epsilon = 1.5, delta = 1e-6, relation = "replace-one", rows = list(estimate = 4321), level = 0.9,
      columns = list(list(name = "age", mean = list(estimate = 40.5678123, low = 39.5, high = 123456.789))))), class = "dp_description")
    has(capture.output(print(d, digits = 6L)), "column of estimate conf.low conf.high", "age mean 40.5678 39.5 123457")
    has(capture.output(print(d, digits = 2L)), "age mean 41 40 1.2e+05")
    grDevices::pdf(NULL)
    on.exit(grDevices::dev.off())
    bars <- recorded("segments", plot(fit))[[1L]]
    stopifnot(all.equal(bars$x1, c(NA, 0, 0.0345678 + 2 * 0.01234)), identical(unname(bars[[2L]]), 1:3), identical(unname(bars[[4L]]), 1:3))
    picture <- recorded("axis", plot(fit))
    stopifnot(identical(unname(picture[[length(picture)]][2:3]), list(1:3, c("tiny", "sex=m", "age"))))
    curved <- fit
    curved$coefficients$curves <- data.frame(column = "age")
    curved$coefficients$curves$points <- list(data.frame(x = 1:2, effect = c(0.5, 0.25)))
    curved$coefficients$surfaces <- list(list(axes = list(list(column = "a", levels = c("a=n", "other")), list(column = "b", knots = c(1, 2))), effect = diag(2)))
    stopifnot(identical(of$curves_of(curved)[[1L]]$class, NA_character_), identical(of$surfaces_of(curved)[[1L]]$class, NA_character_), identical(of$curves_of(curved)[[1L]]$level, NA_real_))
    other$coefficients$terms$noise_sd <- c("0.75", "0.01234", "0.25", NA) # as a file with another reader has them
    stopifnot(identical(of$terms_of(other)$noise.sd, c(0.75, 0.01234, 0.25, NA)))
  },
  formula = function() {
    f <- of$read_formula(ill ~ a * b + c + a:c + log1p(d) + e + b:e, c("a", "b", "c", "d", "e"))
    stopifnot(identical(f$outcome, "ill"), setequal(f$columns, c("a", "b", "c", "d", "e")), identical(f$log1p, "d"), length(f$pairs) == 3L,
      setequal(vapply(f$pairs, function(p) paste(sort(p), collapse = ":"), ""), c("a:b", "a:c", "b:e")))
    f <- of$read_formula(a ~ ., c("a", "b", "c d"))
    stopifnot(identical(f[c("outcome", "columns", "log1p", "pairs", "offset")], list(outcome = "a", columns = c("b", "c d"), log1p = character(), pairs = list(), offset = NULL)))
    f <- of$read_formula(ill ~ a + offset(b) + log1p(c) + factor(d), c("a", "b", "c", "d"))
    stopifnot(identical(f[c("columns", "log1p", "offset")], list(columns = c("a", "c", "d"), log1p = "c", offset = "b")))
    f <- of$read_formula(survival::Surv(came, days, died == "x") ~ a, "a")
    stopifnot(identical(f[c("outcome", "outcomes", "time", "event")], list(outcome = "came", outcomes = c("came", "days", "died"), time = c(entry = "came", time = "days", event = "died"), event = "x")))
    f <- of$read_formula(Surv(days, died == 2) ~ a, c("a", "days"))
    stopifnot(identical(f[c("outcomes", "time", "event", "columns")], list(outcomes = c("days", "died"), time = c(time = "days", event = "died"), event = 2, columns = "a")))
    for (bad in list(list(1, 2, 3), "ill ~ a", quote(ill ~ a), ~a)) stopifnot(grepl("formula: must be an outcome, ~ and a sum", error(of$read_formula(bad, "a")), fixed = TRUE))
    for (bad in list(Surv(days) ~ a, Surv(b, came, days, died) ~ a, Surv(log(days), died) ~ a, Surv(days, died > 1) ~ a, Surv(days, died == b) ~ a, Surv(days, days) ~ a)) {
      stopifnot(grepl("must have Surv(time, event)", error(of$read_formula(bad, "a")), fixed = TRUE))
    }
    for (bad in list(ill ~ scale(a), ill ~ log(a), ill ~ (a + b)(a), ill ~ factor(a, 1))) stopifnot(grepl("must be a column, log1p(column) or factor(column)", error(of$read_formula(bad, "a")), fixed = TRUE))
    for (bad in list(ill ~ a + offset(log(b)), ill ~ a + offset(b, 1), ill ~ a + offset(b) + offset(c))) stopifnot(grepl("one offset(column) at most", error(of$read_formula(bad, c("a", "b", "c"))), fixed = TRUE))
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
