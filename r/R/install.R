# Finds the command, and installs it. Nothing is downloaded, built or written before somebody has agreed to it.

# Where install_stillpoint puts the command.
installed_command <- function(to = tools::R_user_dir("stillpoint", "data")) file.path(to, "stillpoint")

install_stillpoint <- function(from = "release", version = NULL, to = tools::R_user_dir("stillpoint", "data"), consent = NA) {
  if (!is.character(from) || length(from) != 1L || is.na(from)) {
    refuse("from: must be \"release\", the archive of a release, or a folder with the source", field = "from")
  }
  if (from == "release") {
    source <- release_of(version)
    what <- sprintf("download %s, check its SHA-256 against checksums.txt beside it, and put the command", source)
  } else if (dir.exists(from)) {
    if (!file.exists(file.path(from, "cmd", "stillpoint", "main.go"))) {
      refuse("from: must be a folder with the source of stillpoint: it has no cmd/stillpoint/main.go", field = "from")
    }
    if (!nzchar(Sys.which("go"))) refuse("from: must be a release: there is no Go here that could build the source", "system", "from")
    what <- sprintf("build the source in %s with Go, which downloads the modules that it lacks, and put the command", from)
  } else {
    if (!file.exists(from)) refuse("from: must be \"release\", the archive of a release, or a folder with the source", field = "from")
    what <- sprintf("check the SHA-256 of %s against checksums.txt beside it, and put the command", from)
  }
  agreed(sprintf("%s into %s", what, to), consent)
  work <- tempfile("stillpoint")
  dir.create(work, mode = "0700")
  on.exit(unlink(work, recursive = TRUE))
  if (from == "release") {
    from <- file.path(work, basename(source))
    fetch(source, from)
    fetch(paste0(dirname(source), "/checksums.txt"), file.path(work, "checksums.txt"))
  }
  made <- file.path(work, "stillpoint")
  if (dir.exists(from)) build(from, made) else unpack(from, work)
  if (!file.exists(made)) refuse("from: must hold the command stillpoint", "system", "from")
  put(made, to)
}

# The address of a release's archive for this system.
release_of <- function(version) {
  if (is.null(version)) {
    version <- as.character(utils::packageVersion("stillpoint"))
    if (grepl("^0\\.0\\.0", version)) {
      refuse("version: must be given, such as \"1.2.0\": this package is of no release", field = "version")
    }
  }
  if (!is.character(version) || length(version) != 1L || !grepl("^[0-9]+\\.[0-9]+\\.[0-9]+(-[0-9a-z.]+)?$", version)) {
    refuse("version: must be the version of a release, such as \"1.2.0\"", field = "version")
  }
  host <- getOption("stillpoint.releases", "https://github.com/stillpoint-dp/stillpoint/releases/download")
  sprintf("%s/v%s/stillpoint_%s_%s.tar.gz", host, version, version, this_system())
}

# The words for the system and the processor in the names of archives.
this_system <- function(info = Sys.info()) {
  system <- c(Linux = "linux", Darwin = "darwin")[info[["sysname"]]]
  machine <- c(x86_64 = "amd64", aarch64 = "arm64", arm64 = "arm64")[info[["machine"]]]
  if (is.na(system) || is.na(machine)) {
    refuse(sprintf("releases have no archive for %s on %s: give from, a folder with the source", info[["sysname"]], info[["machine"]]), "system")
  }
  paste(system, machine, sep = "_")
}

# Asks for consent in an interactive session. Without consent it ends with an error of class stillpoint_consent.
agreed <- function(what, consent) {
  if (isTRUE(consent)) return(invisible(TRUE))
  if (is.na(consent) && interactive()) consent <- utils::askYesNo(sprintf("install_stillpoint will %s. Do that?", what), default = FALSE)
  if (!isTRUE(consent)) {
    refuse(sprintf("consent: must be TRUE, or the question be answered yes: it would %s. Nothing was done", what), "consent", "consent")
  }
}

fetch <- function(url, file) {
  got <- tryCatch(suppressWarnings(utils::download.file(url, file, mode = "wb", quiet = TRUE)), error = function(e) 1L)
  if (!identical(as.integer(got), 0L)) refuse(sprintf("%s could not be downloaded", url), "system", "from")
}

build <- function(source, made) {
  old <- setwd(source)
  on.exit(setwd(old))
  status <- system2("go", c("build", "-trimpath", "-o", shQuote(made), "./cmd/stillpoint"), env = "CGO_ENABLED=0")
  if (status != 0L) refuse(sprintf("the source in %s could not be built", source), "system", "from")
}

# Unpacks the command from an archive, after a check of the archive's checksum against the file beside it.
unpack <- function(archive, work) {
  list <- file.path(dirname(archive), "checksums.txt")
  if (!file.exists(list)) refuse(sprintf("from: must have checksums.txt of its release beside it, in %s", dirname(archive)), field = "from")
  lines <- strsplit(readLines(list, warn = FALSE), "  ", fixed = TRUE)
  known <- vapply(lines, function(l) if (length(l) == 2L && l[2L] == basename(archive)) l[1L] else "", "")
  known <- known[nzchar(known)]
  if (length(known) != 1L) refuse(sprintf("checksums.txt does not list %s once", basename(archive)), "refused", "from")
  if (!identical(sha256(archive), known)) {
    refuse(sprintf("%s is not the file of its release: its SHA-256 is not the one in checksums.txt", basename(archive)), "refused", "from")
  }
  if (utils::untar(archive, files = "stillpoint", exdir = work) != 0L) {
    refuse(sprintf("%s could not be unpacked", basename(archive)), "system", "from")
  }
}

# The SHA-256 of a file. R computes it since version 4.5. In earlier versions one of the system's commands does.
sha256 <- function(file) {
  own <- get0("sha256sum", asNamespace("tools"))
  if (!is.null(own)) return(unname(own(file)))
  for (command in c("sha256sum", "shasum -a 256")) {
    words <- strsplit(command, " ")[[1L]]
    if (nzchar(Sys.which(words[1L]))) {
      # The command reads its standard input, so that it prints no file name.
      return(sub(" .*", "", system2(words[1L], words[-1L], stdin = file, stdout = TRUE)))
    }
  }
  refuse("there is neither R 4.5 nor sha256sum nor shasum here to check the archive with", "system")
}

# Moves the command to its place in one step, and runs it once.
put <- function(made, to) {
  dir.create(to, showWarnings = FALSE, recursive = TRUE)
  path <- installed_command(to)
  beside <- tempfile("stillpoint-", to)
  on.exit(unlink(beside))
  if (!file.copy(made, beside) || !Sys.chmod(beside, "0755") || system2(beside, "version", stdout = FALSE, stderr = FALSE) != 0L) {
    refuse(sprintf("to: %s: must be a folder in which the command can be written and run", to), "system", "to")
  }
  if (!file.rename(beside, path)) refuse(sprintf("to: %s: the command could not be put there", to), "system", "to")
  invisible(normalizePath(path))
}
