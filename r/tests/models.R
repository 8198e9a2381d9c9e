# The time to an event, families of package stats, descriptions and adjusted means: values beside those of the command.
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
json <- function(...) jsonlite::fromJSON(paste(system2(stillpoint_command(), shQuote(c(..., "--json")), stdout = TRUE), collapse = "\n"), simplifyDataFrame = FALSE)

set.seed(5)
n <- 20000
people <- data.frame(age = runif(n, 30, 90), sex = sample(c("f", "m"), n, TRUE), came = runif(n, 0, 50), seen = as.Date("2020-01-01") + sample(0:365, n, TRUE))
at <- rexp(n) / (0.08 * exp(0.05 * (people$age - 60) + 0.7 * (people$sex == "m"))) * 365
until <- runif(n, 365, 1095)
people$died <- at < until
people$days <- pmin(at, until)
people$status <- 1L + people$died # 1 is no event, as in lung of package survival
people$end <- ifelse(people$died, "dead", "alive")
people$cost <- rgamma(n, 2, 2 / exp(5 + 0.02 * people$age + 0.4 * (people$sex == "m")))
people$visits <- rpois(n, exp(-2 + 0.03 * people$age))
folder <- tempfile("fits")
facts <- list(age = c(18, 100), cost = c(1, 100000), visits = c(0, 30))
go <- function(formula, data = people, bounds = facts, epsilon = 20, ...) {
  suppressWarnings(dp_fit(formula, data, bounds = bounds, levels = list(sex = c("f", "m")), epsilon = epsilon, delta = 1e-6,
    relation = "replace-one", folder = folder, table = "people", family = "lines", ...))
}
cuts <- c(90, 180, 365, 730, 1095)

# Whatever Surv() would learn from cells is stated.
Surv <- function(...) stop("the formula's text alone is read")
refused(go(Surv(days, died) ~ age), "cuts: must be given")
refused(go(Surv(days, status) ~ age, cuts = cuts), "Surv(days, status == 1)")
refused(go(Surv(days, days) ~ age, cuts = cuts), "must have Surv(time, event)")
refused(go(Surv(days) ~ age, cuts = cuts), "must have Surv(time, event)")
refused(go(Surv(time = days, died) ~ age, cuts = cuts), "without names")
refused(go(Surv(end, died) ~ age, cuts = cuts), "must be a column of numbers, the time from 0")
refused(go(Surv(days, died) ~ age + days, cuts = cuts), "both sides")
refused(go(Surv(days, died) ~ age, cuts = "auto"), "bounds: days: must be given")
refused(go(Surv(days, died) ~ age, cuts = cuts, classes = c("no", "yes")), "classes: must be left out")
refused(go(Surv(days, gone) ~ age, cuts = cuts), "must have the column gone")
refused(go(cost ~ age, cuts = cuts), "cuts: must be left out")
refused(go(cost ~ age, loss = Gamma("inverse")), "Gamma, inverse: must be one of")
stopifnot(!dir.exists(folder))

# True log hazard ratios are 0.05 and 0.7. Each way to write the event is the same event.
fit <- go(Surv(days, died) ~ age + sex, cuts = cuts, inference = 0.95)
b <- coef(fit)
stopifnot(abs(b[["age"]] - 0.05) < 0.01, abs(b[["sex=m"]] - 0.7) < 0.15, identical(fit$report$verdict, "better"))
for (other in list(survival::Surv(days, status == 2) ~ age + sex, Surv(days, end == "dead") ~ age + sex, Surv(came, days, died) ~ age + sex)) {
  one <- go(other, cuts = cuts)
  stopifnot(abs(coef(one)[["age"]] - 0.05) < 0.01, abs(coef(one)[["sex=m"]] - 0.7) < 0.15)
}
auto <- go(Surv(days, died) ~ age, bounds = list(age = c(18, 100), days = c(0, 1095)), cuts = "auto")
stopifnot(abs(coef(auto)[["age"]] - 0.05) < 0.01)
stopifnot(length(jsonlite::fromJSON(file.path(auto$folder, "model.json"))$schema$target$cuts) == 8L)

# Times in whole years: an event counts in the year that its time ends, and no event until the last whole year.
people$years <- ifelse(people$died, ceiling(people$days / 365 + 1e-9), floor(people$days / 365))
whole <- go(Surv(years, died) ~ age + sex, cuts = 1:3, grouped = TRUE)
stopifnot(abs(coef(whole)[["age"]] - 0.05) < 0.01, abs(coef(whole)[["sex=m"]] - 0.7) < 0.15, startsWith(jsonlite::fromJSON(file.path(whole$folder, "model.json"))$loss, "cloglog"))
plain <- go(Surv(years, died) ~ age + sex, cuts = 1:3)
stopifnot(coef(whole)[["age"]] > coef(plain)[["age"]] + 0.005)

# The hazard ratio of the sexes is the same in each interval.
changing <- go(Surv(days, died) ~ age + sex, cuts = c(365, 1095), changing = "sex", inference = 0.95)
ratios <- changing$coefficients$hazard_ratios
stopifnot(nrow(ratios) == 2L, all(abs(log(ratios$hazard_ratio) - 0.7) < 0.3))
refused(go(Surv(days, died) ~ age, cuts = cuts, grouped = NA), "grouped: must be TRUE")
odds <- go(Surv(years, died) ~ age + sex, cuts = 1:3, grouped = "logit")
stopifnot(startsWith(jsonlite::fromJSON(file.path(odds$folder, "model.json"))$loss, "logit-hazard"), coef(odds)[["sex=m"]] > coef(whole)[["sex=m"]])
refused(go(Surv(days, died) ~ age, cuts = cuts, changing = "sex"), "changing: must be the name of a column of the formula")
refused(go(Surv(days, died) ~ age, cuts = cuts, changing = "age"), "target.changing")
refused(go(cost ~ age, grouped = TRUE), "grouped: must be left out")
refused(go(cost ~ age, changing = "age"), "changing: must be left out")

# Risks and survival are those of the command, and those that are true.
new <- data.frame(age = c(50, 50, 80, 60), sex = c("f", "m", "m", "f"))
file <- tempfile(fileext = ".csv")
write.csv(new, file, row.names = FALSE, quote = FALSE)
said <- function(...) read.csv(text = system2(stillpoint_command(), shQuote(c("predict", file.path(fit$folder, "model.json"), file, ...)), stdout = TRUE), check.names = FALSE)
risks <- predict(fit, new, horizon = c(90, 1095))
stopifnot(identical(colnames(risks), c("90", "1095")), identical(unname(risks[, "90"]), said("--horizon=90,1095")[["risk=90"]]))
stopifnot(identical(predict(fit, new), unname(risks[, "1095"])), identical(predict(fit, new, "link"), said()$score))
close_to(predict(fit, new, horizon = 365), 1 - exp(-0.08 * exp(0.05 * (new$age - 60) + 0.7 * (new$sex == "m"))), 0.1)
close_to(predict(fit, new, "survival", horizon = c(90, 1095)), 1 - risks, 1e-12)
band <- predict(fit, new, interval = "confidence", horizon = 365)
alive <- predict(fit, new, "survival", interval = "confidence", horizon = 365)
stopifnot(all(band[, "lwr"] < band[, "fit"] & band[, "fit"] < band[, "upr"]), identical(colnames(alive), c("fit", "lwr", "upr")))
close_to(alive, 1 - band[, c("fit", "upr", "lwr")], 1e-12)
p <- predict(fit, new, "link", se.fit = TRUE)
close_to(p$fit, said()$score, 1e-5)
x <- cbind(new$age, new$sex == "m", 1)
known <- c("age", "sex=m", "(Intercept)")
close_to(p$se.fit, sqrt(diag(x %*% vcov(fit)[known, known] %*% t(x))), 1e-6)
stopifnot(identical(generics::augment(fit, new)$.fitted, predict(fit, new)))
refused(predict(fit, new, "class"), "the outcome is the time to an event")
refused(predict(fit, new, se.fit = TRUE), "se.fit: must be FALSE")
refused(predict(fit, new, "link", horizon = 3), "horizon: must be numbers")
refused(predict(fit, new, interval = "confidence", horizon = 1:2), "must be one time")
refused(predict(fit, new, horizon = 5000), "horizon")
refused(family(fit), "no exponential family")

# Families of package stats. The truth of both is known.
cost <- go(cost ~ age + sex, loss = Gamma(link = "log"))
stopifnot(identical(cost$loss, "gamma(5)"), identical(family(cost)$family, "Gamma"), abs(coef(cost)[["age"]] - 0.02) < 0.004, abs(coef(cost)[["sex=m"]] - 0.4) < 0.1)
close_to(mean(predict(cost, people) / exp(5 + 0.02 * people$age + 0.4 * (people$sex == "m"))), 1, 0.05)
visits <- go(visits ~ age, loss = poisson)
stopifnot(identical(visits$loss, "poisson(1)"), abs(coef(visits)[["age"]] - 0.03) < 0.005)
by_family <- suppressWarnings(dp_fit(visits ~ age, people, bounds = facts, epsilon = 4, delta = 1e-6, relation = "replace-one", folder = folder,
  table = "people", family = poisson()))
stopifnot(identical(family(by_family)$family, "poisson"), by_family$report$records == n)
refused(dp_fit(visits ~ age, people, bounds = facts, epsilon = 4, delta = 1e-6, relation = "replace-one", folder = folder, table = "people",
  family = poisson, loss = "poisson(1)"), "where loss is given, too")
refused(predict(visits, people, horizon = 3), "must be of a fit of Surv")

# A description is the command's, column by column, and its bounds are those of a later fit.
described <- suppressWarnings(dp_describe(people, bounds = list(age = "auto", visits = c(0, 30)), levels = list(sex = c("f", "m"), died = c("FALSE", "TRUE")),
  dates = list(seen = c("2020-01-01", "2020-12-31")), epsilon = 2, delta = 1e-6, relation = "replace-one", folder = folder, table = "people", by = "sex"))
d <- as.data.frame(described)
value <- function(column, of, group = NA) d[d$column == column & d$of == of & d$group %in% group, c("estimate", "conf.low", "conf.high")]
file <- jsonlite::fromJSON(file.path(described$folder, "describe.json"), simplifyDataFrame = FALSE)
named <- setNames(file$columns, vapply(file$columns, `[[`, "", "name"))
stopifnot(setequal(d$column, c("age", "visits", "sex", "died", "seen")), identical(names(described$report$columns), c("age", "visits", "sex", "died", "seen")))
numbers <- function(said) unlist(said[c("estimate", "low", "high")], use.names = FALSE)
for (of in c("missing", "mean", "standard_deviation")) close_to(unlist(value("visits", of)), numbers(named$visits[[of]]), 1e-12)
close_to(unlist(value("age", "quantile 0.5")), numbers(named$age$quantiles[[3L]]), 1e-12)
close_to(unlist(value("died", "share TRUE")), numbers(named$died$levels[[2L]]$share), 1e-12)
women <- named$sex$levels[[1L]]
stopifnot(women$name == "f")
close_to(unlist(value("visits", "mean", "f")), numbers(Filter(function(c) c$name == "visits", women$columns)[[1L]]$mean), 1e-12)
truth <- c(mean(people$visits), mean(people$died))
close_to(c(value("visits", "mean")$estimate, value("died", "share TRUE")$estimate), truth, 0.02)
stopifnot(nrow(d) == nrow(unique(d[c("column", "of", "group")])), all(d$conf.low <= d$estimate & d$estimate <= d$conf.high, na.rm = TRUE))
before <- sum(dp_spent(folder)$fits)
released <- go(cost ~ age, bounds = list(age = "auto", cost = c(1, 100000)), loss = "gamma(5)", described = described)
close_to(released$described$age$number, unlist(named$age$bounds), 1e-12)
stopifnot(sum(dp_spent(folder)$fits) == before + 1L, released$spent$fits == described$spent$fits + 1L)
refused(go(cost ~ age, bounds = list(age = "auto", cost = c(1, 100000))), "described")
refused(go(cost ~ age, described = tempdir()), "described: must be a description")
refused(dp_describe(people, epsilon = 1, delta = 1e-6, relation = "replace-one", folder = folder, table = "people"), "at least one column")
refused(dp_describe(people, bounds = list(age = 1:2), delta = 1e-6, relation = "replace-one", folder = folder, table = "people"), "epsilon: must be given")

# Adjusted means are the command's, and those of predictions.
ill <- suppressWarnings(dp_fit(died ~ age + sex, people, classes = c(FALSE, TRUE), bounds = facts, levels = list(sex = c("f", "m")), epsilon = 4, delta = 1e-6,
  relation = "replace-one", folder = folder, table = "people", family = "lines", inference = 0.95))
public <- people[1:500, ]
m <- dp_means(ill, public)
file <- tempfile(fileext = ".csv")
write.csv(public[c("age", "sex")], file, row.names = FALSE, quote = FALSE)
told <- json("means", ill$folder, "--over", file)
close_to(m$estimate, c(told$mean$estimate, vapply(told$answers, `[[`, 0, "estimate")), 1e-12)
close_to(m$conf.low, c(told$mean$low, vapply(told$answers, `[[`, 0, "low")), 1e-9)
close_to(m$conf.high, c(told$mean$high, vapply(told$answers, `[[`, 0, "high")), 1e-9)
stopifnot(identical(m$level, c("", "", "f", "m", "m")), identical(m$against, c("", "", "", "", "f")), identical(m$column, c("", "age", "sex", "sex", "sex")))
stopifnot(attr(m, "rows") == 500L, attr(m, "level") == 0.95)
close_to(m$estimate[c(1, 3, 4)], c(mean(predict(ill, public)), mean(predict(ill, transform(public, sex = "f"))), mean(predict(ill, transform(public, sex = "m")))), 1e-5)
stopifnot(identical(dp_means(ill, public, of = "sex")$column, c("", "sex", "sex", "sex")))
tests <- dp_tests(ill)
said <- json("coefficients", ill$folder, "--tests")
stopifnot(identical(tests$column, vapply(said, `[[`, "", "column")), identical(tests$terms, vapply(said, `[[`, 0L, "terms")),
  identical(tests$p.value, vapply(said, `[[`, 0, "p")), identical(tests$p.holm, vapply(said, `[[`, 0, "p_holm")),
  identical(tests$statistic, vapply(said, `[[`, 0, "statistic")), all(tests$reason == ""), all(tests$p.value <= tests$p.holm))
refused(dp_tests(plain), "dp_tests: must be asked of a fit with inference")
refused(dp_means(ill), "over: must be a data frame")
refused(dp_means(ill, public["age"]), "over: must have the column sex")
refused(dp_means(ill, public, of = "height"), "height")
