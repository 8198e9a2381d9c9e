# Conditions. Each kind of error has a class of its own, such as stillpoint_configuration, stillpoint_budget and
# stillpoint_system, so that programs can tell them apart. All are of class stillpoint_error, and warnings are of
# class stillpoint_warning.

condition_class <- function(code) paste0("stillpoint_", gsub("[^a-z0-9]+", "_", code))

refuse <- function(message, code = "configuration", field = "", charged = FALSE, ...) {
  stop(structure(
    class = c(condition_class(code), "stillpoint_error", "error", "condition"),
    list(message = message, call = NULL, code = code, field = field, charged = charged, ...)
  ))
}

caution <- function(message, code) {
  warning(structure(
    class = c(condition_class(code), "stillpoint_warning", "warning", "condition"),
    list(message = message, call = NULL, code = code)
  ))
}

# Passes on an interrupt that came while the command ran, after the command has ended. The condition is of class
# interrupt and is no error. It therefore also ends try(), and searches that take an error for a bad model. It has the
# command's message, and says whether a budget is charged. Without a handler it acts as R's own interrupt.
interrupt <- function(lines, status) {
  e <- if (status == 0L) list(message = "the command had ended", charged = FALSE) else
    tryCatch(failure(lines, status), stillpoint_error = identity)
  signalCondition(structure(
    class = c(condition_class("interrupted"), "interrupt", "condition"),
    list(message = e$message, call = NULL, code = "interrupted", charged = e$charged)
  ))
  message(e$message)
  pskill(Sys.getpid(), 2L)
  Sys.sleep(1) # where R takes the interrupt
  invokeRestart("abort")
}

# The error with which the command ended, from its last event. A killed command has no such event.
failure <- function(lines, status) {
  events <- lapply(lines[startsWith(lines, "{")], function(line) tryCatch(jsonlite::fromJSON(line), error = function(e) NULL))
  errors <- Filter(function(e) identical(e$event, "error"), events)
  if (!length(errors)) {
    # An event of a plan or a step says that the budget was reserved.
    charged <- any(vapply(events, function(e) isTRUE(e$event %in% c("plan", "step")), NA))
    refuse(sprintf("the command ended with exit code %d", status), "fault", charged = charged, exit = status)
  }
  e <- errors[[length(errors)]]
  said <- if (isTRUE(e$charged)) " (what was reserved of the budget stays reserved)" else ""
  refuse(paste0(e$message, said), e$code, if (is.null(e$field)) "" else e$field, isTRUE(e$charged), rule = e$rule, exit = e$exit)
}
