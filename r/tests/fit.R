# Runs against the command where it is on the PATH, and without it tests what is refused before.
library(stillpoint)

caught <- function(expr) tryCatch({ expr; NULL }, error = identity)
refused <- function(expr, words, class = "stillpoint_configuration") {
  e <- caught(expr)
  if (!inherits(e, class) || !inherits(e, "stillpoint_error") || !grepl(words, conditionMessage(e), fixed = TRUE)) {
    stop("not refused as it should be: ", words, "; got ", if (is.null(e)) "nothing" else conditionMessage(e))
  }
}
quietly <- function(expr) withCallingHandlers(expr, stillpoint_warning = function(w) invokeRestart("muffleWarning"))

set.seed(2)
n <- 6000
people <- data.frame(
  age = runif(n, 18, 90), region = factor(sample(c("north", "south", "east"), n, TRUE)), pay = exp(runif(n, 0, 9)),
  sex = sample(c("f", "m"), n, TRUE), seen = as.Date("2020-01-01") + sample(0:365, n, TRUE), id = seq_len(n)
)
people$ill <- ifelse(runif(n) < plogis((people$age - 50) / 15 - 0.8 * (people$region == "south")), "yes", "no")
people$cost <- 20 * people$age + 100 * (people$sex == "m")
folder <- tempfile("fits")
codebook <- list(age = c(18, 90), pay = c(0, 10000), cost = c(0, 3000))
places <- list(region = c("north", "south", "east"), sex = c("f", "m"))
go <- function(formula = ill ~ age + region, data = people, classes = c("no", "yes"), bounds = codebook, levels = places, ...) {
  more <- list(...)
  fixed <- list(epsilon = 2, delta = 1e-6, relation = "replace-one", folder = folder, table = "people",
    family = if ("curves" %in% names(more)) "auto" else "lines")
  fixed[names(more)] <- more
  do.call(dp_fit, c(list(formula, data, classes = classes, bounds = bounds, levels = levels), fixed))
}

# The texts of cells: none is no text, and equal numbers have equal texts.
texts <- get("texts", asNamespace("stillpoint"))
broken <- c("a", "\xff", NA)
Encoding(broken) <- "UTF-8"
stopifnot(identical(texts(broken, TRUE), c("a", "", "")))
stopifnot(identical(texts(c(1, NaN, 0.1), FALSE), c("1", "", "0.10000000000000001")))
stopifnot(identical(texts(c(TRUE, NA), FALSE), c("1", "")), identical(texts(TRUE, TRUE), "TRUE"), identical(texts(factor("b"), TRUE), "b"))
stopifnot(identical(texts(as.POSIXct("2020-01-01 12:00", tz = "Asia/Tokyo"), FALSE), "2020-01-01T03:00:00Z"))

# Refused before the command runs, and before a folder is made.
refused(go(ill ~ scale(age)), "scale(age): must be a column")
refused(go(ill ~ poly(age, 2)), "must be a column")
refused(go(ill ~ factor(age, levels = 1:3)), "must be a column")
refused(go(log(pay) ~ age), "an outcome, ~ and a sum of columns")
refused(go(~ age), "an outcome, ~ and a sum of columns")
refused(go(ill ~ age - 1), "must have an intercept")
refused(go(ill ~ age + offset(height)), "offset(height): must have bounds")
refused(go(ill ~ age + offset(log(pay))), "one offset(column) at most")
refused(go(ill ~ 1), "at least one column")
refused(go(ill ~ age + log1p(age)), "age: must stand once")
refused(go(ill ~ age + ill), "both sides")
refused(go(ill ~ region + region:sex), "sex: must stand by itself, too")
refused(go(ill ~ age * pay * sex), "must be an interaction of two columns")
refused(go(ill ~ age, curves = list(region = "auto")), "curves: region: must be")
refused(go(ill ~ age, curves = c("age", "pay")), "must be \"auto\"")
refused(go(ill ~ id), "id: must be in bounds, levels or dates")
refused(go(ill ~ log1p(region)), "log1p(region): must have bounds")
refused(go(pay ~ age, classes = NULL, bounds = codebook["age"]), "pay: must have classes")
refused(go(bounds = list(age = c(18, 90), region = 1:2)), "region: must be in one of bounds")
refused(go(bounds = list(age = 18)), "must be two numbers")
refused(go(relation = "both"), "hides what a row says")
refused(go(relation = "add-or-remove"), "records: must be given")
refused(go(data = people[0, ]), "at least one row")
refused(go(data = as.list(people)), "must be a data frame")
refused(go(data = people["age"]), "must have the column region")
refused(go(data = transform(people, age = I(as.list(age)))), "must be a column of numbers")
refused(go(data = transform(people, ill = seq_len(n))), "no cell of this type is one of them")
refused(go(data = transform(people, ill = seen)), "no cell of this type is one of them")
refused(go(cost ~ age, classes = NULL, data = transform(people, cost = seen)), "no cell of this type")
refused(dp_fit(ill ~ age, people, classes = c("no", "yes"), bounds = codebook, delta = 1e-6, relation = "replace-one", folder = folder, table = "t"),
  "epsilon: must be given")
stopifnot(!dir.exists(folder))

for (bad in list(8, list(column = "id"), list(column = "id", rows = 0), list(column = "id", rows = 1.5), list(column = "id", rows = 2, sum = 1))) {
  refused(go(unit = bad), "unit: must be list(column = a name")
}
refused(go(unit = list(column = "age", rows = 2)), "age: must be neither in the formula nor both")
refused(go(unit = list(column = "id", rows = 2), weight = "id"), "id: must be neither in the formula nor both")
refused(go(weight = "ill"), "ill: must be neither in the formula nor both")
refused(go(weight = "w"), "must have the column w")
stopifnot(!dir.exists(folder))

# The command comes by consent alone, and only as a release's checksums list it.
refused(install_stillpoint(), "version: must be given")
refused(install_stillpoint(version = "1"), "must be the version of a release")
refused(install_stillpoint(version = "1.2.0"), "Nothing was done", "stillpoint_consent")
refused(install_stillpoint(version = "1.2.0", consent = FALSE), "Nothing was done", "stillpoint_consent")
refused(install_stillpoint(tempfile()), "from: must be")
refused(install_stillpoint(tempdir()), "it has no cmd/stillpoint/main.go")
this_system <- get("this_system", asNamespace("stillpoint"))
stopifnot(identical(this_system(c(sysname = "Darwin", machine = "arm64")), "darwin_arm64"))
refused(this_system(c(sysname = "SunOS", machine = "sparc")), "no archive for SunOS", "stillpoint_system")
abc <- tempfile()
writeBin(charToRaw("abc"), abc) # the first example of FIPS 180-2
stopifnot(identical(get("sha256", asNamespace("stillpoint"))(abc), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"))

old <- options(stillpoint.command = "")
refused(suppressWarnings(go()), "not on the PATH", "stillpoint_system")
stopifnot(!dir.exists(folder))
options(old)

if (!nzchar(getOption("stillpoint.command", Sys.which("stillpoint")))) {
  cat("the command stillpoint is not on the PATH: the rest is skipped\n")
  quit("no")
}

# A release in a folder of its own: what is found there is what is put in place, or nothing is.
local({
  place <- tempfile("releases")
  release <- file.path(place, "v1.2.0")
  to <- tempfile("data")
  dir.create(release, recursive = TRUE)
  work <- tempfile("work")
  dir.create(work)
  file.copy(stillpoint_command(), file.path(work, "stillpoint"))
  name <- sprintf("stillpoint_1.2.0_%s.tar.gz", this_system())
  here <- setwd(work)
  utils::tar(file.path(release, name), "stillpoint", compression = "gzip", tar = "internal")
  setwd(here)
  sha256 <- get("sha256", asNamespace("stillpoint"))
  list <- file.path(release, "checksums.txt")
  old <- options(stillpoint.releases = paste0("file://", place))
  on.exit(options(old))
  go_on <- function(...) install_stillpoint(version = "1.2.0", to = to, consent = TRUE, ...)
  refused(go_on(), "could not be downloaded", "stillpoint_system")
  refused(go_on(from = file.path(release, name)), "must have checksums.txt")
  writeLines(paste0(sha256(file.path(release, name)), "  another.tar.gz"), list)
  refused(go_on(), "does not list", "stillpoint_refused")
  writeLines(paste0(strrep("0", 64), "  ", name), list)
  refused(go_on(), "its SHA-256 is not the one", "stillpoint_refused")
  writeLines(paste0(sha256(file.path(release, name)), "  ", name), list)
  refused(install_stillpoint(version = "1.2.0", to = to), "Nothing was done", "stillpoint_consent")
  stopifnot(!dir.exists(to))
  # Nobody else may write the command, whatever the umask allows.
  mask <- Sys.umask("000")
  path <- go_on()
  Sys.umask(mask)
  stopifnot(identical(path, normalizePath(file.path(to, "stillpoint"))), identical(list.files(to), "stillpoint"))
  stopifnot(identical(format(file.info(path)$mode), "755"))
  stopifnot(file.access(path, 1L) == 0L, identical(sha256(path), sha256(stillpoint_command())))
  unlink(to, recursive = TRUE)
  stopifnot(identical(go_on(from = file.path(release, name)), path))
  refused(install_stillpoint(version = "1.3.0", to = to, consent = TRUE), "could not be downloaded", "stillpoint_system")
})
# Without one on the PATH the command that was installed is found.
local({
  to <- tempfile("user")
  keep <- Sys.getenv(c("R_USER_DATA_DIR", "PATH"))
  on.exit(do.call(Sys.setenv, as.list(keep)))
  Sys.setenv(R_USER_DATA_DIR = to)
  dir.create(file.path(to, "R", "stillpoint"), recursive = TRUE)
  own <- file.path(to, "R", "stillpoint", "stillpoint")
  file.copy(stillpoint_command(), own)
  stopifnot(!identical(stillpoint_command(), normalizePath(own)))
  Sys.setenv(PATH = tempdir())
  stopifnot(identical(stillpoint_command(), normalizePath(own)))
})

# A first fit is told to be new, a second one what both cost.
told <- character()
fit <- withCallingHandlers(go(), stillpoint_warning = function(w) {
  told <<- c(told, class(w)[1L])
  invokeRestart("muffleWarning")
})
stopifnot(identical(told, "stillpoint_new_table"))
told <- character()
second <- withCallingHandlers(go(ill ~ age + region + log1p(pay) + seen, dates = list(seen = c("2020-01-01", "2020-12-31"))),
  stillpoint_warning = function(w) {
    told <<- c(told, class(w)[1L])
    invokeRestart("muffleWarning")
  })
stopifnot("stillpoint_spent" %in% told, second$spent$fits == 2L, second$spent$epsilon > 2, second$spent$epsilon < 4)

# A zero is refused, where leaving the setting out means the algorithm's rule.
refused(go(train = list(algorithm = "gd", steps = 0L)), "leave it out for the algorithm's rule")

# An interrupt ends a search, and not the fit alone, which is saved and charged: no other fit is.
charges <- function() dp_spent(folder)$fits
before <- charges()
first <- length(list.files(folder)) + 1L
journal <- file.path(folder, sprintf("fit-%04d", first), "journal-1.jsonl")
system(sprintf("( while [ ! -e %s ]; do sleep 0.05; done; sleep 0.3; kill -INT %d )", shQuote(journal), Sys.getpid()), wait = FALSE)
stopped <- tryCatch(
  {
    for (fold in 1:3) try(quietly(go(train = list(algorithm = "gd", steps = 30000))), silent = TRUE)
    "all of the search ran"
  },
  interrupt = identity
)
stopifnot(inherits(stopped, "stillpoint_interrupted"), !inherits(stopped, "error"), stopped$charged)
stopifnot(grepl("is saved", conditionMessage(stopped), fixed = TRUE), charges() == before + 1L)
stopifnot(length(list.files(folder)) == first, file.exists(file.path(folder, sprintf("fit-%04d", first), "model.json")))

# What it says is near the truth, and is what the command says.
b <- coef(fit)
stopifnot(abs(b[["age"]] - 1 / 15) < 0.02, abs(b[["region=south"]] + 0.8) < 0.4, names(b)[length(b)] == "(Intercept)")
command <- stillpoint_command()
lines <- system2(command, c("coefficients", shQuote(fit$folder)), stdout = TRUE)
stopifnot(any(grepl(sprintf("^age .*%s", formatC(b[["age"]], digits = 4, format = "g")), lines)))
v <- noise_vcov(fit)
t <- as.data.frame(fit)
stated <- !is.na(t$noise.sd)
stopifnot(any(stated), isTRUE(all.equal(sqrt(diag(v))[stated], setNames(t$noise.sd, t$term)[stated], tolerance = 1e-6)))
stopifnot(dp_verify(fit)$epsilon == 2, nobs(fit) == n, identical(deparse1(formula(fit)), "ill ~ age + region"))
said <- paste(capture.output(print(summary(second))), collapse = "\n")
for (words in c("(2, 1e-06)-differentially private", "6000 (public)", "each doubling of 1 + x", "for 2 of people", "log-odds of")) {
  stopifnot(grepl(words, said, fixed = TRUE))
}
stopifnot(any(grepl("region=south", capture.output(print(fit)), fixed = TRUE)))
refused(confint(fit), "leaves out the sampling error", "stillpoint_no_interval")

# All rows of a person are one record, and are summed apart from fits of rows. Rows of weight 0 teach nothing.
visits <- people
visits$person <- seq_len(n) %% 2000
by_person <- quietly(go(data = visits, unit = list(column = "person", rows = 2)))
stopifnot(nobs(by_person) == 2000, by_person$spent$fits == 1L, identical(by_person$spent$unit, "person"))
stopifnot(grepl("one person", by_person$report$neighbour, fixed = TRUE))
again <- quietly(go(data = visits, unit = list(column = "person", rows = 2), relation = "add-or-remove", records = 2000))
stopifnot(nobs(again) == 2000, again$spent$fits == 1L)
lies <- seq_len(n) %% 2 == 0
visits$w <- as.numeric(!lies)
visits$ill[lies] <- ifelse(people$age[lies] > 50, "no", "yes")
stopifnot(coef(quietly(go(data = visits, weight = "w")))[["age"]] > 0.03)

# Predictions: those of the coefficients, of every row in its place, in more rows than a part and a pipe hold.
many <- people[rep(seq_len(n), 25), ]
stopifnot(nrow(many) > 2 * 50000)
link <- predict(fit, many, "link")
hand <- b[["(Intercept)"]] + b[["age"]] * many$age + c(north = 0, south = b[["region=south"]], east = b[["region=east"]])[as.character(many$region)]
stopifnot(length(link) == nrow(many), max(abs(link - hand)) < 1e-4)
stopifnot(max(abs(predict(fit, people) - plogis(predict(fit, people, "link")))) < 1e-6)
stopifnot(identical(predict(fit, people, "class"), ifelse(predict(fit, people, "link") > 0, "yes", "no")))
odd <- data.frame(region = c("no, \"such\"\nplace", NA, "\xff", "south"), age = c(NA, Inf, -1e300, 50))
p <- predict(fit, odd, "link")
stopifnot(length(p) == 4L, all(is.finite(p)), identical(p[4L], predict(fit, odd[4L, ], "link")))
stopifnot(identical(predict(fit, people[0, ]), numeric()))
refused(predict(fit), "newdata: must be given")
refused(predict(fit, people["age"]), "must have the column region")

# Intervals, where they were asked for.
wide <- quietly(go(inference = 0.9))
ci <- confint(wide)
stopifnot(identical(colnames(ci), c("5 %", "95 %")), ci["age", 1L] < coef(wide)[["age"]], coef(wide)[["age"]] < ci["age", 2L])
stopifnot(identical(rownames(confint(wide, "age")), "age"))
higher <- confint(wide, level = 0.99)
stopifnot(identical(colnames(higher), c("0.5 %", "99.5 %")), identical(is.na(higher[, 1L]), is.na(ci[, 1L])))
stopifnot(abs((higher["age", 2L] - higher["age", 1L]) / (ci["age", 2L] - ci["age", 1L]) - qnorm(0.995) / qnorm(0.95)) < 1e-6)
stopifnot(abs(sum(higher["age", ]) - sum(ci["age", ])) < 1e-6, identical(unname(confint(wide, level = 0.9)), unname(ci)))
lower <- confint(wide, level = 0.8)
stopifnot(lower["age", 1L] > ci["age", 1L], lower["age", 2L] < ci["age", 2L], lower["age", 1L] < coef(wide)[["age"]])
refused(confint(wide, level = 1), "must be from 0.5 to 0.999")
said <- paste(capture.output(print(summary(wide))), collapse = "\n")
stopifnot(grepl("90% intervals", said, fixed = TRUE), grepl(formatC(ci["age", 1L], digits = 4, format = "g"), said, fixed = TRUE))
ten <- dp_contrast(wide, c("10 age", "- age"))
stopifnot(abs(ten$estimate - c(10, -1) * coef(wide)[["age"]]) < 1e-9, abs(ten$conf.low - c(10 * ci["age", 1L], -ci["age", 2L])) < 1e-9)
stopifnot(ten$state == "reported", ten$reason == "", attr(ten, "level") == 0.9, grepl(" ~ ", attr(ten, "formula"), fixed = TRUE))
refused(dp_contrast(wide, "height"), "must be a number's column or a level")
refused(dp_contrast(fit, "age"), "inference = 0.95 asks for them")
band <- predict(wide, people, interval = "confidence")
stated <- !is.na(band[, "lwr"])
stopifnot(identical(colnames(band), c("fit", "lwr", "upr")), nrow(band) == nrow(people), all(band[, "fit"] == predict(wide, people)))
stopifnot(all(band[stated, "lwr"] < band[stated, "fit"] & band[stated, "fit"] < band[stated, "upr"]))
refused(predict(wide, people, "link", interval = "confidence"), "intervals are of type response")
refused(predict(fit, people, interval = "confidence"), "the fit has no intervals")

# No cell is on a disk: neither in what a fit leaves nor among the session's temporary files.
mark <- people
mark$age <- 45.678912345678
marked <- quietly(go(data = mark))
invisible(predict(marked, mark))
files <- c(list.files(folder, recursive = TRUE, full.names = TRUE), list.files(tempdir(), recursive = TRUE, full.names = TRUE))
stopifnot(length(files) > 5L, !any(vapply(files, function(f) any(grepl("45.6789", readLines(f, warn = FALSE), fixed = TRUE, useBytes = TRUE)), NA)))

# A fit that is saved has no rows: not in its call, and not in the environment of its formula.
local({
  secret <- mark
  environment(go) <- environment()
  saved <- serialize(quietly(go(eval(quote(ill ~ age + region)), data = secret)), NULL)
  bytes <- serialize(45.678912345678, NULL)
  stopifnot(length(saved) < 8 * n, !length(grepRaw(bytes[(length(bytes) - 7L):length(bytes)], saved, fixed = TRUE)))
})

# Other outcomes, interactions, add-or-remove.
people$span <- runif(n, -1, 1)
people$visits <- rpois(n, exp(0.5 + people$span + 0.5 * (people$sex == "m")))
visits <- quietly(go(visits ~ sex + offset(span), classes = NULL, bounds = list(visits = c(0, 1000), span = c(-1, 1)), loss = "negbinomial(2,5)"))
stopifnot(abs(coef(visits)[["sex=m"]] - 0.5) < 0.25, abs(coef(visits)[["(Intercept)"]] - 0.5) < 0.25)
number <- quietly(go(cost ~ age + sex, classes = NULL))
stopifnot(abs(coef(number)[["age"]] - 20) < 3, max(abs(predict(number, people) - people$cost)) < 300)
refused(predict(number, people, "class"), "the outcome is a number")
three <- quietly(go(region ~ age * 1 + sex, classes = c("north", "south", "east"), levels = places["sex"]))
stopifnot(identical(dim(coef(three)), c(4L, 3L)), identical(colnames(predict(three, people)), c("north", "south", "east")))
stopifnot(max(abs(rowSums(predict(three, people)) - 1)) < 1e-6)
# Each coefficient is in its cell: those of a row make its link, of which a number that all classes share says nothing.
few <- people[1:50, ]
centred <- function(m) m - rowMeans(m)
hand <- cbind(few$age, few$sex == "m", 1) %*% coef(three)[c("age", "sex=m", "(Intercept)"), c("north", "south", "east")]
stopifnot(max(abs(centred(predict(three, few, "link")) - centred(hand))) < 1e-4, max(abs(centred(hand))) > 1e-3)
pairs <- quietly(go(ill ~ region * sex, relation = "add-or-remove", records = n))
stopifnot("region=south & sex=m" %in% names(coef(pairs)), pairs$report$relation == "add-or-remove")
# An ordered factor is fitted by proportional odds, in the order of its levels.
sizes <- transform(people, region = factor(region, c("north", "south", "east"), ordered = TRUE))
steps <- quietly(go(region ~ age + sex, data = sizes, classes = c("north", "south", "east"), levels = places["sex"]))
stopifnot(identical(steps$loss, "ordered"), identical(colnames(predict(steps, few)), c("north", "south", "east")))
b <- coef(steps)
stopifnot(max(abs(predict(steps, few, "link") - (b[["age"]] * few$age + b[["sex=m"]] * (few$sex == "m") + b[["(Intercept)"]]))) < 1e-4)
stopifnot(max(abs(predict(steps, few, "link") - qlogis(1 - predict(steps, few)[, "north"]))) < 1e-6)
several <- quietly(go(region ~ age + sex, classes = c("north", "south", "east"), levels = places["sex"], inference = 0.9))
each <- c("south: age", "east: age", "south: sex=m", "east: sex=m", "south: sex=other", "east: sex=other", "south: (Intercept)", "east: (Intercept)")
stopifnot(identical(names(coef(several)), each), identical(rownames(confint(several)), each), identical(rownames(vcov(several)), each))
apart <- dp_contrast(several, "south: age - east: age")
v <- vcov(several)[1:2, 1:2]
stopifnot(all(diag(v) > 0), abs(apart$estimate - (coef(several)[[1]] - coef(several)[[2]])) < 1e-6, abs(apart$std.error - sqrt(v[1, 1] + v[2, 2] - 2 * v[1, 2])) < 1e-6 + 1e-3 * apart$std.error)
refused(predict(several, few, "link", se.fit = TRUE), "several classes", "stillpoint_not_stated")
refused(predict(several, few, interval = "confidence"), "several classes")
refused(go(region ~ age + sex, data = sizes, classes = c("south", "north", "east"), levels = places["sex"]), "in their order")
truth <- quietly(go(sick ~ age, data = transform(people, sick = ill == "yes"), classes = c(FALSE, TRUE)))
stopifnot(truth$report$verdict == "better")

# What the command refuses has its code, field and rule, and is not charged.
before <- dp_spent(folder)
e <- caught(quietly(go(loss = "logit")))
stopifnot(inherits(e, "stillpoint_configuration"), inherits(e, "stillpoint_error"), !e$charged, e$field == "name", grepl("must be one of", e$rule))
e <- caught(quietly(go(data = people[rep(seq_len(n), 20), ], epsilon = -1)))
stopifnot(inherits(e, "stillpoint_configuration"), grepl("epsilon", e$field))
stopifnot(identical(before, dp_spent(folder)))

# A table that cannot be written to its end is no table: also under add-or-remove, where no number of
# rows tells, nothing is charged.
broken <- get("run", asNamespace("stillpoint"))
config <- file.path(pairs$folder, "configuration.yaml")
e <- caught(broken(c("fit", config, "--out", file.path(folder, "cut"), "--json"), function(con) {
  writeLines(c("region,sex,ill", rep("north,f,yes", 5000)), con)
  stop("the source is gone: 45.6789")
}))
stopifnot(inherits(e, "stillpoint_system"), !grepl("45.6789", conditionMessage(e)))
stopifnot(!file.exists(file.path(folder, "cut", "ledger.jsonl")))

# A page, a picture, and broom's verbs where they are known.
stopifnot(file.exists(dp_report(fit, open = FALSE)))
grDevices::pdf(NULL)
drawn <- plot(fit)
invisible(grDevices::dev.off())
refused(plot_curves(fit), "must have curves")
bent <- quietly(go(ill ~ log1p(pay) + seen + age, curves = list(age = "auto", pay = 5), dates = list(seen = c("2020-01-01", "2020-12-31"))))
grDevices::pdf(NULL)
curves <- plot_curves(bent)
stopifnot(identical(vapply(curves, `[[`, "", "column"), c("pay", "age")), curves[[1L]]$log, nrow(curves[[1L]]$points) == 17L)
stopifnot(with(curves[[2L]]$points, all(low < effect & effect < high) && abs(sum(mass[seq(1, length(mass), 4)]) - 1) < 1e-9))
stopifnot(length(plot_curves(bent, "age")) == 1L)
sure <- quietly(go(ill ~ age, curves = list(age = 5), inference = 0.9))
grDevices::pdf(NULL)
sure <- plot_curves(sure)[[1L]]
invisible(grDevices::dev.off())
stopifnot(sure$level == 0.9, with(sure$points, all(low <= effect & effect <= high, na.rm = TRUE) && all(is.na(low) == is.na(high))))
pairs <- quietly(go(ill ~ age * region + pay, curves = list(age = 3)))
stopifnot(identical(vapply(plot_curves(pairs), `[[`, "", "column"), c("age", "region:age")))
heat <- plot_curves(pairs, "region:age")[[1L]]
said <- pairs$coefficients$surfaces[[1L]]
stopifnot(identical(dimnames(heat$effect), list(c(places$region, "other"), c("18", "36", "54", "72", "90"))))
stopifnot(heat$effect["south", "54"] == said$effect[2L, 3L], identical(dim(heat$thin), dim(heat$effect)))
refused(plot_curves(pairs, "age:region"), "age, region:age")
only <- quietly(go(cost ~ age * pay + sex, classes = NULL)) # a surface and no curve
stopifnot(length(plot_curves(only)) == 1L, identical(plot_curves(only)[[1L]]$column, "age:pay"))
many <- quietly(go(region ~ age * pay, classes = places$region, levels = places["sex"], curves = list(age = "auto")))
stopifnot(identical(unique(vapply(plot_curves(many, "age:pay"), `[[`, "", "class")), places$region))
all_bent <- quietly(go(cost ~ age + seen + region, classes = NULL, curves = "auto", dates = list(seen = c("2020-01-01", "2020-12-31"))))
stopifnot(length(plot_curves(all_bent)) == 2L)
invisible(grDevices::dev.off())
refused(plot_curves(bent, "seen"), "one of the columns with curves")
stopifnot(!"(Intercept)" %in% drawn$term, "age" %in% drawn$term)
if (requireNamespace("generics", quietly = TRUE)) {
  stopifnot(isTRUE(all.equal(generics::tidy(fit, exponentiate = TRUE)$estimate, exp(t$estimate))))
  stopifnot(isTRUE(all.equal(generics::tidy(wide)$conf.low[1L], ci["age", 1L], check.attributes = FALSE)))
  stopifnot(generics::glance(fit)$nobs == n, generics::glance(fit)$epsilon == 2)
}
cat("all tests of the R package passed\n")
