# Reads the text of a formula alone: its outcome, its columns, the columns in log1p(), and its interactions. A
# function that would learn from rows (scale, poly, splines) is refused, since no budget would pay for it.
read_formula <- function(formula, described) {
  time <- if (inherits(formula, "formula") && length(formula) == 3L && is.call(formula[[2L]])) read_surv(formula[[2L]])
  if (!inherits(formula, "formula") || length(formula) != 3L || !is.name(formula[[2L]]) && is.null(time)) {
    refuse("formula: must be an outcome, ~ and a sum of columns, as in ill ~ age + region or Surv(days, died) ~ age", field = "formula")
  }
  outcomes <- if (is.null(time)) as.character(formula[[2L]]) else unname(time$columns)
  both <- intersect(outcomes, all.vars(formula[[3L]]))
  if (length(both)) refuse(sprintf("formula: %s: must not stand on both sides of ~", both[1L]), field = "formula")
  described <- setdiff(described, outcomes)
  template <- as.data.frame(setNames(rep(list(logical()), length(described)), described), optional = TRUE)
  t <- tryCatch(terms(formula, data = template), error = function(e) {
    refuse("formula: must be an outcome, ~ and a sum of columns", field = "formula")
  })
  if (attr(t, "intercept") != 1L) refuse("formula: must have an intercept: every model has one", field = "formula")
  variables <- as.list(attr(t, "variables"))[-1L]
  offset <- NULL
  if (length(at <- attr(t, "offset"))) {
    of <- variables[[at[1L]]]
    if (length(at) > 1L || length(of) != 2L || !is.name(of[[2L]])) refuse("formula: must have one offset(column) at most, of a column as it is", field = "formula")
    offset <- as.character(of[[2L]])
    variables <- variables[-at]
  }
  read <- lapply(variables[-1L], read_variable)
  names <- vapply(read, `[[`, "", "name")
  if (anyDuplicated(names)) {
    refuse(sprintf("formula: %s: must stand once: as it is or under log1p", names[anyDuplicated(names)]), field = "formula")
  }
  factors <- attr(t, "factors")
  if (!length(factors)) refuse("formula: must name at least one column after ~", field = "formula")
  factors <- factors[-c(1L, at), , drop = FALSE] != 0 # without the outcome and the offset
  pairs <- list()
  for (j in seq_len(ncol(factors))) {
    here <- names[factors[, j]]
    if (length(here) > 2L) refuse(sprintf("formula: %s: must be an interaction of two columns", colnames(factors)[j]), field = "formula")
    if (length(here) == 2L) pairs <- c(pairs, list(here))
  }
  mains <- names[rowSums(factors[, colSums(factors) == 1, drop = FALSE]) > 0]
  alone <- setdiff(unlist(pairs), mains)
  if (length(alone)) {
    refuse(sprintf("formula: %s: must stand by itself, too: write * instead of :", alone[1L]), field = "formula")
  }
  list(outcome = outcomes[1L], outcomes = outcomes, time = time$columns, event = time$value, columns = mains, log1p = names[vapply(read, `[[`, NA, "log1p")], pairs = pairs, offset = offset)
}

read_variable <- function(v) {
  if (is.name(v)) return(list(name = as.character(v), log1p = FALSE))
  called <- if (is.call(v) && is.name(v[[1L]])) as.character(v[[1L]]) else ""
  if (called %in% c("log1p", "factor") && length(v) == 2L && is.name(v[[2L]])) {
    return(list(name = as.character(v[[2L]]), log1p = called == "log1p"))
  }
  refuse(sprintf(paste(
    "formula: %s: must be a column, log1p(column) or factor(column): a transformation that looks at the",
    "rows would not be charged for, so state bounds instead of scale(), and levels"
  ), paste(deparse(v), collapse = " ")), field = "formula")
}

# The columns of Surv(time, event) or Surv(entry, time, event), and the value of an event. Another call has NULL.
read_surv <- function(v) {
  if (!deparse1(v[[1L]]) %in% c("Surv", "survival::Surv")) return(NULL)
  given <- as.list(v)[-1L]
  event <- if (length(given)) given[[length(given)]]
  value <- NULL
  if (is.call(event) && identical(event[[1L]], quote(`==`)) && (is.character(event[[3L]]) || is.numeric(event[[3L]]))) {
    value <- event[[3L]]
    event <- event[[2L]]
  }
  columns <- c(given[-length(given)], list(event))
  if (!is.null(names(v)) || !length(columns) %in% 2:3 || !all(vapply(columns, is.name, NA)) || anyDuplicated(columns)) {
    refuse("formula: must have Surv(time, event) or Surv(entry, time, event) without names, where event is a column or column == value", field = "formula")
  }
  list(columns = setNames(vapply(columns, as.character, ""), c("entry", "time", "event")[(4L - length(columns)):3L]), value = value)
}
