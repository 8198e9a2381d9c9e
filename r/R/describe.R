# Descriptions of a table, and answers over a public population.

dp_describe <- function(data, bounds = list(), levels = list(), dates = list(), epsilon, delta, relation, folder, table,
                        by = NULL, level = 0.95, records = NULL, unit = NULL, budget = NULL) {
  check_privacy(names(match.call()), relation)
  known <- check_facts(data, bounds, levels, dates)
  unit <- read_unit(unit)
  used <- c(known, unit$column)
  check_columns(data, used)
  if (!length(known)) refuse("bounds, levels, dates: must describe at least one column", field = "bounds")
  columns <- lapply(setNames(nm = known), read_column, list(), bounds, levels, dates, character(), list())
  # A configuration has a target. A description treats it as it treats all columns.
  can <- known[vapply(columns, function(c) !is.null(c$number) || length(c$category) > 1L, NA)]
  if (!length(can)) refuse("bounds, levels: must describe a number, or a category of two levels or more", field = "bounds")
  last <- can[length(can)]
  target <- columns[[last]]
  schema <- list(columns = columns[setdiff(known, last)], target = c(list(column = last), if (is.null(target$number)) list(classes = target$category) else target))
  if (!is.null(unit)) schema$unit <- unit
  config <- list(data = "-", table = table, schema = schema, privacy = read_privacy(epsilon, delta, relation, records, data, unit))
  if (!is.null(budget)) config$budget <- as.list(budget)
  warn_if_new(folder, table)
  stillpoint_command()
  out <- fresh(folder)
  file <- write_configuration(config, out)
  said <- json_of(c("describe", file, "--out", out, "--json", sprintf("--level=%.17g", level), if (!is.null(by)) paste0("--by=", by)),
    writer(data, used, c(names(levels), unit$column)), simplifyDataFrame = FALSE)
  names(said$columns) <- vapply(said$columns, `[[`, "", "name")
  said$columns <- said$columns[order(match(names(said$columns), known))]
  structure(list(folder = normalizePath(out), table = table, report = said, spent = spent_of(folder, table, relation, unit)), class = "dp_description")
}

# A data frame with a row for each number of a description. It has the column, the group (a level of by, or NA for all
# rows), of (the kind of number), the estimate and its interval.
as.data.frame.dp_description <- function(x, row.names = NULL, optional = FALSE, ...) {
  one <- function(column, group, of, said) {
    number <- function(name) if (is.null(said[[name]])) NA_real_ else as.numeric(said[[name]])
    data.frame(column = column, group = group, of = of, estimate = number("estimate"), conf.low = number("low"), conf.high = number("high"))
  }
  part <- function(c, group) {
    out <- list()
    for (of in c("missing", "mean", "standard_deviation", "beyond")) if (!is.null(c[[of]])) out <- c(out, list(one(c$name, group, of, c[[of]])))
    for (q in c$quantiles) out <- c(out, list(one(c$name, group, sprintf("quantile %g", q$share), q)))
    for (l in c$levels) {
      for (of in c("count", "share")) out <- c(out, list(one(c$name, group, paste(of, l$name), l[[of]])))
      groups <<- c(groups, lapply(l$columns, part, group = l$name))
    }
    do.call(rbind, out)
  }
  groups <- list()
  rows <- lapply(x$report$columns, part, group = NA_character_)
  out <- do.call(rbind, c(unname(rows), groups))
  row.names(out) <- NULL
  out
}

print.dp_description <- function(x, digits = 4L, ...) {
  r <- x$report
  cat(sprintf("Description of %s: (%g, %g)-differentially private under %s, %.0f rows\n", x$table, r$epsilon, r$delta, r$relation, r$rows$estimate))
  cat(sprintf("All %d releases of %s cost together epsilon %.4g at delta %g\n\n", x$spent$fits, x$table, x$spent$epsilon, x$spent$delta))
  shown <- as.data.frame(x)
  shown[4:6] <- lapply(shown[4:6], function(v) trimws(ifelse(is.na(v), "-", formatC(v, digits = digits, format = "g"))))
  if (all(is.na(shown$group))) shown$group <- NULL else shown$group[is.na(shown$group)] <- ""
  print(shown, row.names = FALSE)
  cat(sprintf("\n%g%% intervals are of the table's own values and cover the privacy noise.\n", 100 * r$level))
  invisible(x)
}

# The file of a description, whose released bounds a fit uses.
described_file <- function(described) {
  file <- file.path(if (inherits(described, "dp_description")) described$folder else as.character(described), "describe.json")
  if (length(file) != 1L || !file.exists(file)) refuse("described: must be a description of dp_describe, or its folder", field = "described")
  normalizePath(file)
}

# The columns, with the bounds of the fit in place of "auto" if a description released them.
with_bounds <- function(columns, out) {
  auto <- names(columns)[vapply(columns, function(c) identical(c$number, "auto") || identical(c$date, "auto"), NA)]
  if (!length(auto)) return(columns)
  for (c in jsonlite::fromJSON(file.path(out, "model.json"), simplifyDataFrame = FALSE)$schema$columns) {
    if (c$name %in% auto) columns[[c$name]][intersect(c("number", "date"), names(c))] <- list(if (is.null(c$number)) c$date else c$number)
  }
  columns
}

# Adjusted means, their differences, and average marginal effects of a fit over a public population. All numbers are those of
# stillpoint means --json.
dp_means <- function(object, over, of = NULL) {
  if (!inherits(object, "dp_fit")) refuse("object: must be a fit of dp_fit", field = "object")
  if (missing(over) || !is.data.frame(over) || !nrow(over)) refuse("over: must be a data frame with rows, a PUBLIC population", field = "over")
  absent <- setdiff(object$columns, names(over))
  if (length(absent)) refuse(sprintf("over: must have the column %s", absent[1L]), field = "over")
  said <- json_of(c("means", object$folder, "--over", "-", "--json", sprintf("--of=%s", of)), writer(over, object$columns, object$levels), simplifyDataFrame = FALSE)
  one <- function(a) {
    number <- function(v) if (is.null(v)) NA_real_ else as.numeric(v)
    text <- function(v) if (is.null(v)) "" else v
    data.frame(column = text(a$column), level = text(a$level), against = text(a$against), estimate = number(a$estimate),
      conf.low = number(a$low), conf.high = number(a$high), reason = text(a$reason))
  }
  out <- do.call(rbind, lapply(c(list(said$mean), said$answers), one))
  for (name in c("of", "rows", "level", "short")) attr(out, name) <- said[[name]]
  out
}

# The joint Wald test of each column of a fit with intervals. All numbers are those of stillpoint coefficients --tests --json.
dp_tests <- function(object) {
  if (!inherits(object, "dp_fit")) refuse("object: must be a fit of dp_fit", field = "object")
  interval_terms(object, "dp_tests")
  said <- json_of(c("coefficients", object$folder, "--tests", "--json"), simplifyMatrix = FALSE)
  number <- function(name) optional(said[[name]], nrow(said))
  data.frame(column = one_name(said$column), terms = said$terms, statistic = number("statistic"), p.value = number("p"),
    p.holm = number("p_holm"), reason = if (is.null(said$reason)) "" else ifelse(is.na(said$reason), "", said$reason),
    without = if (is.null(said$without)) "" else vapply(said$without, paste, "", collapse = ", "))
}
