# What statisticians and their packages ask of a fit: covariances, standard errors, and errors in place of what would need the rows.
library(stillpoint)
if (!nzchar(getOption("stillpoint.command", Sys.which("stillpoint")))) {
  cat("the command stillpoint is not on the PATH: skipped\n")
  quit("no")
}
refused <- function(expr, words) {
  e <- tryCatch({ expr; NULL }, error = identity)
  if (!inherits(e, "stillpoint_error") || !grepl(words, conditionMessage(e), fixed = TRUE)) {
    stop("not refused as it should be: ", words, "; got ", if (is.null(e)) "nothing" else conditionMessage(e))
  }
}
close_to <- function(a, b, tolerance) stopifnot(isTRUE(all.equal(unname(a), unname(b), tolerance = tolerance)))

set.seed(3)
n <- 6000
people <- data.frame(age = runif(n, 18, 90), region = factor(sample(c("north", "south", "east"), n, TRUE)), pay = exp(runif(n, 0, 9)),
  seen = as.Date("2020-01-01") + sample(0:365, n, TRUE))
people$ill <- ifelse(runif(n) < plogis((people$age - 50) / 15 - 0.8 * (people$region == "south")), "yes", "no")
people$cost <- 20 * people$age + 300 * (people$region == "south") + rnorm(n, sd = 50)
codebook <- list(age = c(18, 90), pay = c(0, 10000), cost = c(0, 3000))
folder <- tempfile("fits")
go <- function(formula, classes = c("no", "yes"), data = people, epsilon = 4, family = "lines", ...) {
  suppressWarnings(dp_fit(formula, data, classes = classes, bounds = codebook, levels = list(region = c("north", "south", "east")),
    dates = list(seen = c("2020-01-01", "2020-12-31")), epsilon = epsilon, delta = 1e-6, relation = "replace-one", folder = folder,
    table = "people", family = family, ...))
}
plain <- go(ill ~ age + region)
wide <- go(ill ~ age + region + log1p(pay) + seen, inference = 0.9)
line <- go(cost ~ age + region, classes = NULL, loss = "squared(1)", inference = 0.95)

# One name of the intercept, and one unit of a term.
for (fit in list(plain, wide, line)) stopifnot(identical(names(coef(fit))[length(coef(fit))], "(Intercept)"))
stopifnot(identical(rownames(confint(wide)), names(coef(wide))), identical(generics::tidy(wide)$term, names(coef(wide))))
close_to(coef(wide)[["pay"]], mean(confint(wide)["pay", ]), 1e-6)
stopifnot(is.na(coef(wide)[["region=other"]]))

# What needs the rows, or is not released, is an error that says so.
refused(fitted(plain), "a private fit keeps no rows")
refused(residuals(plain), "a private fit keeps no rows")
refused(model.frame(plain), "a private fit keeps no rows")
refused(model.matrix(wide), "a private fit keeps no rows")
refused(logLik(plain), "no released number")
refused(AIC(plain), "no released number")
refused(generics::augment(plain), "a private fit keeps no rows")
refused(vcov(plain), "inference = 0.95")
refused(predict(plain, people, se.fit = TRUE), "inference = 0.95")
refused(predict(wide, people, interval = "prediction"), "needs the spread of single rows")
refused(predict(wide, people, "class", se.fit = TRUE), "must be FALSE where type is class")
refused(predict(wide, se.fit = TRUE), "newdata: must be given")
refused(noise_vcov(wide), "states no covariance")
refused(family(go(cost ~ age, classes = NULL)), "no exponential family")
stopifnot(family(plain)$family == "binomial", family(line)$family == "gaussian")

# An argument that no method knows is an error, and so is another level.
refused(predict(wide, people, interval = "confidence", level = 0.5), "level: must be left out")
refused(predict(plain, people, tpye = "class"), "tpye: must be left out")
refused(coef(plain, exponentiate = TRUE), "exponentiate: must be left out")
refused(vcov(wide, type = "HC3"), "type: must be left out")
refused(confint(wide, method = "profile"), "method: must be left out")
refused(generics::augment(plain, people, se_fit = TRUE), "se_fit: must be left out")
refused(generics::glance(plain, digits = 3), "digits: must be left out")
refused(generics::tidy(plain, conf.int = TRUE), "inference = 0.95")
refused(generics::tidy(wide, conf.level = 0.45), "conf.level: must be from 0.5")
stopifnot(identical(generics::tidy(wide, conf.level = 0.95)$conf.low, unname(confint(wide, level = 0.95)[, 1L])))
stopifnot(is.null(generics::tidy(wide, conf.int = FALSE)$conf.low), !is.null(generics::tidy(wide, conf.int = TRUE, conf.level = 0.9)$conf.low))
known <- !is.na(diag(vcov(wide)))
stopifnot(identical(names(coef(wide, complete = FALSE)), names(coef(wide))[known]), identical(vcov(wide, complete = FALSE), vcov(wide)[known, known]))

# The budget of one fit, and that of all fits of the table together.
stopifnot(generics::glance(line)$epsilon == 4, generics::glance(line)$fits == 3L, generics::glance(line)$epsilon.together > 4,
  generics::glance(line)$delta.together == 1e-6, generics::glance(plain)$fits == 1L, abs(generics::glance(plain)$epsilon.together - 4) < 1e-9)
stopifnot(any(grepl("All 3 releases of people cost together epsilon", capture.output(print(line)), fixed = TRUE)), !any(grepl("cost together", capture.output(print(plain)))))

# A changed fit is a fit of its own; rows must be given.
refused(update(plain, . ~ . - region), "data: must be given")
stopifnot(identical(deparse1(update(plain, . ~ . - region, evaluate = FALSE)$formula), "ill ~ age"))
before <- sum(dp_spent(folder)$fits)
less <- suppressWarnings(update(plain, . ~ . - region, data = people, epsilon = 1, classes = c("no", "yes"), bounds = codebook, levels = list(),
  dates = list(), folder = folder, family = "lines"))
stopifnot(identical(names(coef(less)), c("age", "(Intercept)")), less$report$epsilon == 1, sum(dp_spent(folder)$fits) == before + 1L)

shown <- generics::augment(plain, people)
stopifnot(identical(shown$.fitted, predict(plain, people)), identical(shown$.class, predict(plain, people, "class")), nrow(shown) == n)
band <- generics::augment(wide, people[1:9, ], interval = "confidence")
stopifnot(all(band$.lower < band$.fitted & band$.fitted < band$.upper))

# A curve has a term for missing cells that nobody asked for, which the summary explains.
curved <- go(ill ~ age, curves = list(age = 4), family = "curves")
stopifnot(identical(curved$unasked, "age"), grepl("has this\\s+term unasked", paste(capture.output(print(summary(curved))), collapse = "\n")))
stopifnot(!any(grepl("unasked", capture.output(print(summary(plain))), fixed = TRUE)))
refused(vcov(curved), "inference = 0.95")
sure <- go(ill ~ age, curves = list(age = 4), family = "curves", inference = 0.9)
stopifnot(grepl("has this\\s+term unasked", paste(capture.output(print(summary(sure))), collapse = "\n")))
refused(model.matrix(sure, people), "has no design")

if (!identical(wide$coefficients$noise, "intervals")) {
  refused(vcov(wide), "states no covariance of the intervals")
  cat("the command states no covariance of intervals: the rest is skipped\n")
  quit("no")
}

# The covariance is that of the intervals and of contrasts.
for (fit in list(wide, line)) {
  v <- vcov(fit)
  e <- fit$effects$coefficients
  stopifnot(identical(rownames(v), names(coef(fit))), isSymmetric(v, tol = 1e-8))
  close_to(sqrt(diag(v)), e$standard_error, 1e-6)
  two <- dp_contrast(fit, c("region=south - region=east", "10 age - 2 region=south"))
  if (all(two$state == "reported")) {
    w <- rbind(c(0, 1, -1), c(10, -2, 0))
    at <- c("age", "region=south", "region=east")
    close_to(two$std.error, sqrt(diag(w %*% v[at, at] %*% t(w))), 1e-4)
  }
}
some <- people[1:200, ]
some$age[1:3] <- c(NA, 17, 1000)
se <- predict(wide, some, "link", se.fit = TRUE)
close_to(se$fit, predict(wide, some, "link"), 1e-5)
rows <- c(2:200)[!is.na(se$se.fit[-1L])]
p <- predict(wide, some, se.fit = TRUE)
close_to(p$se.fit, se$se.fit * dlogis(se$fit), 1e-5)
band <- predict(wide, some, interval = "confidence")
close_to(((band[, "upr"] - band[, "lwr"]) / 2)[rows], (qnorm(0.95) * p$se.fit)[rows], 0.02)
other <- some[1:2, ]
other$region <- "west" # a level that the formula of the fit lacks
stopifnot(all(is.na(predict(wide, other, se.fit = TRUE)$se.fit)))
x <- model.matrix(line, people)
close_to(drop(x %*% ifelse(is.na(coef(line)), 0, coef(line))), predict(line, people), 1e-5)

# A number that the formula lacks is unknown at 0, and so is the intercept. Predictions on the link's scale do not depend on either.
people$twin <- 60 + (people$age - 54) / 2 + rnorm(n, sd = 0.1)
codebook$twin <- c(20, 100)
twins <- go(cost ~ age + twin, classes = NULL, loss = "squared(1)", inference = 0.95)
stopifnot(sum(is.na(coef(twins)[c("age", "twin")])) == 1L, is.na(coef(twins)[["(Intercept)"]]))
close_to(predict(twins, people[1:50, ], "link", se.fit = TRUE)$fit, predict(twins, people[1:50, ]), 1e-5)

has <- function(name) {
  there <- requireNamespace(name, quietly = TRUE)
  if (!there) cat("there is no", name, "here: skipped\n")
  there
}
if (has("emmeans")) {
  means <- emmeans::emmeans(wide, "region")
  found <- summary(pairs(means, adjust = "none"))
  at <- match("north - south", found$contrast)
  close_to(found$estimate[at], -coef(wide)[["region=south"]], 1e-8)
  close_to(found$SE[at], sqrt(vcov(wide)["region=south", "region=south"]), 1e-8)
  # Covariates stand in the middle of their public bounds, and never at a mean of the rows.
  middle <- data.frame(age = 54, region = c("north", "south", "east"), pay = 5000, seen = as.Date("2020-07-01"))
  close_to(summary(means)$emmean, predict(wide, middle, "link"), 1e-2) # the middle of the dates is at noon
  refused(emmeans::recover_data(plain), "inference = 0.95")
  west <- emmeans::emmeans(wide, "region", at = list(region = c("north", "west")))
  stopifnot(identical(is.na(summary(west)$SE), c(FALSE, TRUE)))
}
if (has("marginaleffects")) {
  found <- as.data.frame(marginaleffects::predictions(wide, newdata = some[rows, ]))
  close_to(found$estimate, p$fit[rows], 1e-5)
  close_to(median(found$std.error / p$se.fit[rows]), 1, 0.05) # it differentiates numerically, with steps that may be too small for one term
  slope <- as.data.frame(marginaleffects::avg_slopes(line, newdata = people[1:50, ], variables = "age"))
  close_to(slope$estimate, coef(line)[["age"]], 1e-4)
  close_to(slope$std.error, sqrt(vcov(line)["age", "age"]), 5e-3)
}
if (has("parsnip")) {
  people$outcome <- factor(people$ill, c("no", "yes"))
  spec <- parsnip::set_engine(parsnip::logistic_reg(), "stillpoint", classes = c("no", "yes"), bounds = codebook["age"],
    levels = list(region = c("north", "south", "east")), epsilon = 4, delta = 1e-6, relation = "replace-one", folder = folder, table = "people",
    family = "lines")
  fit <- suppressWarnings(parsnip::fit(spec, outcome ~ age + region, data = people))
  got <- predict(fit, people, type = "prob")
  close_to(got$.pred_yes, predict(fit$fit, people), 1e-12)
  close_to(got$.pred_no + got$.pred_yes, rep(1, n), 1e-12)
  stopifnot(identical(as.character(predict(fit, people)$.pred_class), predict(fit$fit, people, "class")))
  spec <- parsnip::set_engine(parsnip::linear_reg(), "stillpoint", bounds = codebook[c("age", "cost")], epsilon = 4, delta = 1e-6,
    relation = "replace-one", folder = folder, table = "people")
  fit <- suppressWarnings(parsnip::fit(spec, cost ~ age, data = people))
  close_to(predict(fit, people)$.pred, predict(fit$fit, people), 1e-12)
}
