dp_fit <- function(formula, data, classes = NULL, bounds = list(), levels = list(), dates = list(),
                   epsilon, delta, relation, folder, table, records = NULL, indicators = character(), curves = NULL,
                   loss = NULL, regularizer = NULL, family = "auto", features = NULL, train = NULL, unit = NULL, budget = NULL, inference = NULL,
                   weight = NULL, cuts = NULL, grouped = FALSE, changing = NULL, described = NULL) {
  call <- match.call()
  # A user may save and publish a fit. Neither its call nor the environment of its formula may therefore hold rows.
  if (inherits(formula, "formula")) environment(formula) <- globalenv()
  call[[1L]] <- quote(dp_fit)
  call$formula <- formula
  if (!is.name(call$data)) call$data <- quote(data)
  check_privacy(names(call), relation)
  known <- check_facts(data, bounds, levels, dates)
  if (is.function(family)) family <- family()
  if (inherits(family, "family")) {
    if (!is.null(loss)) refuse("family: must be lines, curves, effects or auto where loss is given, too", field = "family")
    loss <- family
    family <- "auto"
  }
  loss <- loss_of(loss)
  said <- read_formula(formula, known)
  target <- if (is.null(said$time)) read_target(said$outcome, classes, bounds) else read_time(said, data, classes, bounds, cuts, grouped, changing)
  for (of in if (is.null(said$time)) c("cuts", if (!identical(grouped, FALSE)) "grouped", "changing")) {
    if (!is.null(get(of))) refuse(sprintf("%s: must be left out: the outcome is not Surv(time, event)", of), field = of)
  }
  columns <- lapply(setNames(nm = said$columns), read_column, said, bounds, levels, dates, indicators, read_curves(curves, said, c(names(bounds), names(dates))))
  for (pair in said$pairs) {
    if (!all(pair %in% known)) refuse(sprintf("formula: %s: must be an interaction of two columns that are described", paste(pair, collapse = ":")), field = "formula")
  }
  unit <- read_unit(unit)
  for (name in c(unit$column, weight)) {
    if (name %in% c(said$columns, said$outcomes) || identical(unit$column, weight)) {
      refuse(sprintf("unit, weight: %s: must be neither in the formula nor both", name), field = "unit")
    }
  }
  if (!is.null(weight)) target$weight <- weight
  if (!is.null(said$offset)) {
    if (!said$offset %in% names(bounds)) refuse(sprintf("formula: offset(%s): must have bounds", said$offset), field = "formula")
    target$offset <- list(column = said$offset, number = two(bounds[[said$offset]], said$offset))
  }
  used <- c(said$columns, unit$column, weight, said$offset, said$outcomes)
  check_columns(data, used)
  check_outcome(data, target)
  ordered <- length(classes) > 2L && is.ordered(data[[said$outcome]])
  if (ordered && !identical(as.character(classes), levels(data[[said$outcome]]))) {
    refuse("classes: must be the levels of the ordered outcome, in their order", field = "classes")
  }
  if (is.null(loss)) loss <- if (!is.null(said$time)) "hazard" else if (ordered) "ordered" else if (is.null(classes)) "huber(0.1)" else if (length(classes) == 2L) "logistic" else "softmax"
  schema <- list(columns = columns, target = target)
  if (length(said$pairs)) schema$interactions <- lapply(said$pairs, I)
  if (!is.null(unit)) schema$unit <- unit
  config <- list(
    data = "-", table = table, schema = schema, model = c(list(loss = loss, family = family), if (!is.null(regularizer)) list(regularizer = regularizer), if (!is.null(features)) list(features = features)),
    privacy = read_privacy(epsilon, delta, relation, records, data, unit)
  )
  if (!is.null(described)) config$described <- described_file(described)
  if (length(train)) config$train <- as.list(train)
  if (!is.null(inference)) config$inference <- if (is.list(inference)) inference else list(level = inference)
  if (!is.null(budget)) config$budget <- as.list(budget)
  warn_if_new(folder, table)
  stillpoint_command() # before a folder is made
  out <- fresh(folder)
  file <- write_configuration(config, out)
  write <- writer(data, used, c(names(levels), if (!is.null(classes)) said$outcome, if (is.character(said$event)) said$time[["event"]], unit$column))
  report <- json_of(c("fit", file, "--out", out, "--json", "--anyway"), write)
  fit <- list(call = call, formula = formula, columns = said$columns, levels = names(levels), folder = normalizePath(out),
    table = table, report = report, classes = classes, loss = loss, described = with_bounds(columns, out), pairs = said$pairs, features = features, end = target$cuts)
  said <- paste(run(c("coefficients", out, "--json")), collapse = "\n")
  fit$coefficients <- jsonlite::fromJSON(said)
  fit$coefficients$surfaces <- jsonlite::fromJSON(said, simplifyDataFrame = FALSE)$surfaces
  fit$effects <- report$coefficients
  own <- names(columns)[vapply(columns, function(c) is.null(c$category) && is.null(c$missing), NA)]
  fit$unasked <- own[paste0(own, "=missing") %in% fit$coefficients$terms$term]
  fit$spent <- spent_of(folder, table, relation, unit)
  for (i in seq_len(NROW(report$warnings))) caution(report$warnings$text[i], report$warnings$code[i])
  structure(fit, class = "dp_fit")
}

check_privacy <- function(given, relation) {
  for (needed in c("epsilon", "delta", "relation", "folder", "table")) {
    if (!needed %in% given) refuse(sprintf("%s: must be given: nothing about privacy has a default", needed), field = needed)
  }
  if (!identical(relation, "replace-one") && !identical(relation, "add-or-remove")) {
    refuse("relation: must be \"replace-one\" (hides what a row says) or \"add-or-remove\" (hides whether a row is there)", field = "relation")
  }
}

# The names of the columns that are described.
check_facts <- function(data, bounds, levels, dates) {
  if (!is.data.frame(data)) refuse("data: must be a data frame", field = "data")
  for (given in list(bounds, levels, dates)) {
    if (length(given) && (is.null(names(given)) || !all(nzchar(names(given))))) {
      refuse("bounds, levels, dates: must be lists with the names of columns", field = "bounds")
    }
  }
  known <- c(names(bounds), names(levels), names(dates))
  if (anyDuplicated(known)) {
    refuse(sprintf("%s: must be in one of bounds, levels and dates", known[anyDuplicated(known)]), field = "bounds")
  }
  known
}

# Under replace-one the number of rows shows that a pipe ended early. The number of persons is not counted here.
read_privacy <- function(epsilon, delta, relation, records, data, unit) {
  if (relation == "replace-one" && is.null(unit)) records <- nrow(data)
  if (is.null(records) && relation != "replace-one") refuse("records: must be given under add-or-remove: the public number of records", field = "records")
  c(list(epsilon = epsilon, delta = delta, relation = relation), if (!is.null(records)) list(records = records))
}

write_configuration <- function(config, out) {
  file <- file.path(out, "configuration.yaml")
  writeLines(enc2utf8(as.character(jsonlite::toJSON(config, auto_unbox = TRUE, digits = NA, pretty = TRUE))), file, useBytes = TRUE)
  file
}

json_of <- function(arguments, write = NULL, ...) jsonlite::fromJSON(paste(run(arguments, write), collapse = "\n"), ...)

# The cost of all releases of the table together. A message states it if there are several fits.
spent_of <- function(folder, table, relation, unit) {
  spent <- dp_spent(folder)
  of <- if (is.null(spent$unit)) "" else ifelse(is.na(spent$unit), "", spent$unit)
  spent <- spent[spent$table == paste("table", table) & spent$relation == relation & of == if (is.null(unit)) "" else unit$column, ]
  if (spent$fits > 1L) {
    caution(sprintf("%d fits of %s in %s cost together epsilon %.4g at delta %g", spent$fits, table, folder, spent$epsilon, spent$delta), "spent")
  }
  spent
}

# A family of package stats stands for the loss with the same link and the same kind of outcome.
loss_of <- function(loss) {
  if (is.function(loss)) loss <- loss()
  if (!inherits(loss, "family")) return(loss)
  known <- c("binomial, logit" = "logistic", "poisson, log" = "poisson(1)", "quasipoisson, log" = "poisson(1)", "Gamma, log" = "gamma(5)",
    "gaussian, identity" = "squared(0.5)")
  named <- paste(loss$family, loss$link, sep = ", ")
  if (!named %in% names(known)) {
    refuse(sprintf("family: %s: must be one of %s: no loss has this family and link", named, paste(names(known), collapse = "; ")), field = "loss")
  }
  known[[named]]
}

# The target of Surv(time, event) or Surv(entry, time, event).
read_time <- function(said, data, classes, bounds, cuts, grouped, changing) {
  if (!is.null(classes)) refuse("classes: must be left out: the outcome is the time to an event", field = "classes")
  time <- said$time[["time"]]
  if (is.null(cuts)) {
    refuse(paste("cuts: must be given: the ends of the intervals in each of which the baseline hazard is constant, such as c(90, 180, 365),",
      "or \"auto\" with bounds of the time"), field = "cuts")
  }
  if (identical(cuts, "auto") && !time %in% names(bounds)) refuse(sprintf("bounds: %s: must be given where cuts = \"auto\"", time), field = "bounds")
  if (!isTRUE(grouped) && !isFALSE(grouped) && !identical(grouped, "logit")) {
    refuse("grouped: must be TRUE (the time of an event is known by its interval alone), \"logit\" (the same with logit hazards) or FALSE", field = "grouped")
  }
  if (!is.null(changing) && !(is.character(changing) && length(changing) == 1L && changing %in% said$columns)) {
    refuse("changing: must be the name of a column of the formula that has levels: one whose hazard ratios change", field = "changing")
  }
  for (name in intersect(said$time, names(data))) {
    kind <- kind_of(data[[name]])
    event <- name == said$time[["event"]]
    # Surv() itself would look at the cells, since the code 1 is an event in a column of 0 and 1, and no event in a
    # column of 1 and 2.
    if (event && is.null(said$event) && kind != "truth") {
      refuse(sprintf("formula: %s: must be a column of truths, or be compared with the value of an event, as in Surv(%s, %s == 1): codes differ between tables",
        name, time, name), field = "formula")
    }
    if (!event && kind != "number") refuse(sprintf("data: %s: must be a column of numbers, the time from 0", name), field = "data")
  }
  c(list(time = time, event = if (is.null(said$event)) said$time[["event"]] else paste0(said$time[["event"]], "=", said$event)),
    if ("entry" %in% names(said$time)) list(entry = said$time[["entry"]]), if (!isFALSE(grouped)) list(grouped = grouped), if (!is.null(changing)) list(changing = changing),
    list(cuts = if (identical(cuts, "auto")) "auto" else I(as.numeric(cuts))),
    if (time %in% names(bounds)) list(number = two(bounds[[time]], time)))
}

read_target <- function(outcome, classes, bounds) {
  if (!is.null(classes)) return(list(column = outcome, classes = I(as.character(classes))))
  if (!outcome %in% names(bounds)) {
    refuse(sprintf("%s: must have classes = c(no, yes), or public bounds, since it is predicted", outcome), field = "classes")
  }
  list(column = outcome, number = two(bounds[[outcome]], outcome))
}

# The unit: a column, and the largest number of used rows with one value in it.
read_unit <- function(unit) {
  if (is.null(unit)) return(NULL)
  named <- is.list(unit) && setequal(names(unit), c("column", "rows")) && is.character(unit$column) && length(unit$column) == 1L
  if (!named || !is.numeric(unit$rows) || length(unit$rows) != 1L || is.na(unit$rows) || unit$rows < 1 || unit$rows != round(unit$rows)) {
    refuse("unit: must be list(column = a name, rows = how many rows of a unit are used at most)", field = "unit")
  }
  list(column = unit$column, rows = unit$rows)
}

# The curve of each column: "auto" or a number of knots.
read_curves <- function(curves, said, numbers) {
  if (identical(curves, "auto")) return(lapply(setNames(nm = intersect(said$columns, numbers)), function(name) "auto"))
  curves <- as.list(curves)
  if (length(curves) && is.null(names(curves))) refuse("curves: must be \"auto\", or a list with the names of columns", field = "curves")
  for (name in names(curves)) {
    if (!name %in% said$columns || !name %in% numbers) refuse(sprintf("curves: %s: must be a column of the formula with bounds or dates", name), field = "curves")
  }
  curves
}

read_column <- function(name, said, bounds, levels, dates, indicators, curves) {
  entry <- if (name %in% names(levels)) list(category = I(as.character(levels[[name]])))
    else if (name %in% names(dates)) list(date = if (identical(dates[[name]], "auto")) "auto" else I(format(as.Date(dates[[name]]))))
    else if (name %in% names(bounds)) list(number = two(bounds[[name]], name))
    else refuse(sprintf("%s: must be in bounds, levels or dates, from public knowledge and never from the rows", name), field = "bounds")
  if (name %in% said$log1p) {
    if (is.null(entry$number)) refuse(sprintf("formula: log1p(%s): must have bounds", name), field = "formula")
    entry$transform <- "log1p"
  }
  if (name %in% indicators) entry$missing <- "indicator"
  if (!is.null(curves[[name]])) entry$curve <- curves[[name]]
  entry
}

two <- function(pair, name) {
  if (identical(pair, "auto")) return(pair)
  pair <- suppressWarnings(as.numeric(unlist(pair)))
  if (length(pair) != 2L || anyNA(pair)) refuse(sprintf("bounds: %s: must be two numbers, or \"auto\" for those of a description", name), field = "bounds")
  I(pair)
}

# A message may have types and a name that the caller wrote, which are public. It has no name that comes from the
# data.
check_columns <- function(data, used) {
  absent <- setdiff(used, names(data))
  if (length(absent)) refuse(sprintf("data: must have the column %s", absent[1L]), field = "data")
  for (name in used) {
    if (kind_of(data[[name]]) == "other") {
      refuse(sprintf("data: %s: must be a column of numbers, texts, truths, days or moments, not of class %s", name, class(data[[name]])[1L]), field = "data")
    }
  }
  if (!nrow(data)) refuse("data: must have at least one row", field = "data")
}

check_outcome <- function(data, target) {
  if (!is.null(target$time)) return(invisible())
  kind <- kind_of(data[[target$column]])
  numeric <- !is.null(target$classes) && any(!is.na(suppressWarnings(as.numeric(target$classes))))
  truths <- !is.null(target$classes) && any(target$classes %in% c("TRUE", "FALSE"))
  bad <- switch(kind,
    day = , moment = TRUE,
    number = !is.null(target$classes) && !numeric,
    truth = !is.null(target$classes) && !truths,
    FALSE
  )
  if (bad) {
    refuse(sprintf("data: %s: must be of the type of its classes or bounds: no cell of this type is one of them", target$column), field = "classes")
  }
}

# The costs of fits of the same people under two names are not added up. A message therefore names a new table before
# the charge.
warn_if_new <- function(folder, table) {
  known <- tryCatch(if (length(list.files(folder))) dp_spent(folder), stillpoint_error = function(e) NULL)
  if (!paste("table", table) %in% known$table) {
    caution(sprintf("table \"%s\" is new in folder \"%s\": fits of the same people under another name or in another folder are not summed with it", table, folder), "new_table")
  }
}

# The next numbered folder. Fits at the same time get different folders.
fresh <- function(folder) {
  dir.create(folder, showWarnings = FALSE, recursive = TRUE)
  taken <- list.files(folder, "^fit-[0-9]+$")
  number <- max(0L, as.integer(sub("fit-", "", taken, fixed = TRUE))) + 1L
  while (!dir.create(out <- file.path(folder, sprintf("fit-%04d", number)), showWarnings = FALSE)) {
    if (!dir.exists(out)) refuse(sprintf("%s: no folder can be made there", folder), "system", "folder")
    number <- number + 1L
  }
  out
}

dp_spent <- function(folder) json_of(c("ledger", folder, "--json"))

dp_verify <- function(object) {
  files <- c(file.path(object$folder, "certificate.json"), "--model", file.path(object$folder, "model.json"))
  json_of(c("verify", files, "--json"))
}

dp_report <- function(object, open = interactive()) {
  run(c("report", object$folder))
  page <- file.path(object$folder, "report.html")
  if (open) browseURL(page)
  invisible(page)
}
