stillpoint_command <- function() {
  found <- unname(Sys.which("stillpoint"))
  path <- getOption("stillpoint.command", if (nzchar(found)) found else installed_command())
  if (!nzchar(path) || !file.exists(path)) {
    refuse(paste(
      "the command stillpoint is not on the PATH: install_stillpoint() asks and installs it, or set",
      "options(stillpoint.command = \"/path/to/stillpoint\")"
    ), "system")
  }
  normalizePath(path)
}

# Runs the command and returns the lines that it prints. write, if given, writes the command's standard input to a
# connection. The printed lines and the reports are public or released. They pass through files of the session's
# temporary folder. With secret = TRUE the printed lines depend on the rows, as predictions do, and pass through
# memory alone.
run <- function(arguments, write = NULL, secret = FALSE) {
  folder <- tempfile("stillpoint")
  dir.create(folder, mode = "0700")
  on.exit(unlink(folder, recursive = TRUE))
  at <- function(name) file.path(folder, name)
  words <- paste(shQuote(c(stillpoint_command(), arguments, "--progress=json")), collapse = " ")
  # The command replaces the shell in its process, so the process number of the shell is that of the command.
  start <- paste("sh -c", shQuote(sprintf("echo $$ >%s; exec %s 2>%s", shQuote(at("pid")), words, shQuote(at("err")))))
  # The file with the exit code gets its name after the command has ended and the code is written.
  ends <- sprintf("{ echo $? >%s; mv %s %s; } 2>/dev/null", shQuote(at("part")), shQuote(at("part")), shQuote(at("status")))
  # A shell runs the command in the background, so that an interrupt reaches R alone.
  if (secret) {
    if (system2("mkfifo", shQuote(at("out"))) != 0L) refuse("a named pipe could not be made", "system")
    # The shell keeps the output in memory until all rows are written. The command may print before it has read the
    # last row, and R cannot read while it writes.
    line <- sprintf(
      "exec 3<&0; { out=$(%s; printf x); { printf %%s \"${out%%x}\"; } >%s; } <&3 3<&- &",
      sprintf("{ %s; %s; }", start, ends), shQuote(at("out"))
    )
  } else {
    line <- sprintf("exec 3<&0; { %s >%s; %s; } <&3 3<&- &", start, shQuote(at("out")), ends)
  }
  if (is.null(write)) {
    system(paste("{", line, "} </dev/null"))
  } else {
    feed(line, write, at("pid"))
  }
  if (secret) {
    con <- fifo(at("out"), "r", blocking = TRUE)
    printed <- tryCatch(readLines(con, warn = FALSE), finally = close(con))
  }
  interrupted <- !await(at("status"), at("pid"))
  status <- as.integer(readLines(at("status")))
  if (interrupted || status != 0L) said <- readLines(at("err"), warn = FALSE, encoding = "UTF-8")
  if (interrupted) interrupt(said, status)
  if (status != 0L) failure(said, status)
  if (!secret) printed <- readLines(at("out"), warn = FALSE)
  Encoding(printed) <- "UTF-8"
  printed
}

# Waits until the command has ended, and returns FALSE if an interrupt came. At the first interrupt the command is
# asked to end, and saves the model of its steps so far. At a second one it is killed.
await <- function(status, pid) {
  sent <- 0L
  repeat {
    ended <- tryCatch(
      {
        while (!file.exists(status)) Sys.sleep(0.02)
        TRUE
      },
      interrupt = function(i) FALSE
    )
    if (ended) return(sent == 0L)
    sent <- sent + 1L
    end(pid, if (sent == 1L) 15L else 9L)
  }
}

# Starts a shell with a line of commands and writes its standard input. The command takes the end of its input for the
# end of the table. If the table cannot be written to its end, the command is therefore killed before its input is
# closed.
feed <- function(line, write, pid) {
  con <- pipe(line, "wb")
  done <- FALSE
  on.exit({
    if (!done) {
      end(pid)
    }
    suppressWarnings(close(con))
  })
  told <- tryCatch(
    {
      write(con)
      ""
    },
    error = function(e) "failed"
  )
  done <- told == ""
  if (!done && ended(pid)) done <- TRUE # the command ended first, and says why
  if (!done) {
    end(pid)
    refuse("the table could not be written to the command to its end", "system")
  }
}

process_id <- function(pid) {
  for (try in 1:50) {
    id <- if (file.exists(pid)) suppressWarnings(as.integer(readLines(pid, warn = FALSE))) else integer()
    if (length(id)) return(id)
    Sys.sleep(0.02)
  }
  NA_integer_
}

end <- function(pid, signal = 9L) {
  id <- process_id(pid)
  if (!is.na(id)) pskill(id, signal)
}

# Whether the command has ended by itself. It may end a moment after it has stopped to read its input.
ended <- function(pid) {
  id <- process_id(pid)
  for (try in 1:50) {
    if (is.na(id) || !isTRUE(pskill(id, 0L))) return(TRUE)
    Sys.sleep(0.02)
  }
  FALSE
}
