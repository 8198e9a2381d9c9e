# Rows as CSV. A column is refused by its type alone, which counts as public. An error that depended on a cell would
# tell about a person. A cell without a text counts as missing.

PART <- 50000L # rows written at a time

KINDS <- c("number", "truth", "text", "day", "moment", "other")

kind_of <- function(x) {
  if (is.factor(x) || is.character(x)) "text"
  else if (inherits(x, "Date")) "day"
  else if (inherits(x, "POSIXt")) "moment"
  else if (is.logical(x)) "truth"
  else if (is.numeric(x) && !is.object(x)) "number"
  else "other"
}

# The texts of cells. In a category TRUE is the level TRUE, and in a column of numbers it is 1.
texts <- function(x, listed) {
  out <- switch(kind_of(x),
    text = {
      s <- enc2utf8(as.character(x))
      s[!validUTF8(s)] <- NA
      s
    },
    day = format(x),
    moment = format(x, "%Y-%m-%dT%H:%M:%SZ", tz = "UTC"),
    truth = if (listed) as.character(x) else as.character(as.integer(x)),
    number = if (is.integer(x)) as.character(x) else sprintf("%.17g", x)
  )
  out[is.na(x) | is.na(out)] <- ""
  out
}

# A function that writes columns of a data frame to a connection. listed names the columns whose values
# are compared with a list, as levels and classes are.
writer <- function(data, columns, listed) {
  force(data)
  function(con) {
    rows <- nrow(data)
    write_part(as.list(setNames(columns, columns)), con)
    for (start in seq.int(1L, rows, by = PART)) {
      part <- seq.int(start, min(start + PART - 1L, rows))
      write_part(lapply(columns, function(c) texts(data[[c]][part], c %in% listed)), con)
    }
  }
}

write_part <- function(cells, con) {
  quoted <- lapply(cells, function(s) paste0("\"", gsub("\"", "\"\"", s, fixed = TRUE), "\""))
  lines <- do.call(paste, c(unname(quoted), sep = ","))
  writeLines(enc2utf8(lines), con, sep = "\n", useBytes = TRUE)
}
