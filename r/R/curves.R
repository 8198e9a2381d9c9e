# Pictures of the curves of a fit and of its interactions. All numbers are those of stillpoint coefficients --json.

# The curves. Each is a data frame with the columns x, effect, low, high, mass and thin. In a fit with intervals a
# curve is the difference from its middle knot, and low and high are the ends of confidence intervals. They are NA
# where no interval is stated.
curves_of <- function(x) {
  curves <- x$coefficients$curves
  if (is.null(curves)) return(list())
  lapply(seq_len(nrow(curves)), function(i) {
    p <- curves$points[[i]]
    list(
      column = curves$column[i], class = if (is.null(curves$class)) NA_character_ else curves$class[i],
      date = !is.null(curves$date) && isTRUE(curves$date[i]), log = !is.null(curves$log) && isTRUE(curves$log[i]),
      level = if (is.null(curves$confidence_level)) NA_real_ else as.numeric(curves$confidence_level[i]),
      points = data.frame(
        x = p$x, effect = p$effect, low = optional(p$low, nrow(p)), high = optional(p$high, nrow(p)),
        mass = optional(p$mass, nrow(p)), thin = if (is.null(p$thin)) FALSE else !is.na(p$thin) & p$thin
      )
    )
  })
}

optional <- function(v, n) if (is.null(v)) rep(NA_real_, n) else as.numeric(v)

# The interactions of two columns, at least one of which is a number. column is "one:other", and effect is a matrix
# with the knots or levels of column one in its rows.
surfaces_of <- function(x) {
  lapply(x$coefficients$surfaces, function(s) {
    names <- lapply(s$axes, axis_names)
    list(
      column = paste(s$axes[[1L]]$column, s$axes[[2L]]$column, sep = ":"), class = if (is.null(s$class)) NA_character_ else s$class,
      effect = matrix(s$effect, length(names[[1L]]), dimnames = names),
      thin = matrix(if (is.null(s$thin)) FALSE else s$thin, length(names[[1L]]), length(names[[2L]]), dimnames = names)
    )
  })
}

axis_names <- function(axis) {
  if (length(axis$levels)) {
    start <- paste0(axis$column, "=")
    return(ifelse(startsWith(axis$levels, start), substring(axis$levels, nchar(start) + 1L), axis$levels))
  }
  if (isTRUE(axis$date)) return(format(as.Date("1970-01-01") + floor(axis$knots)))
  trimws(formatC(as.numeric(axis$knots), digits = 3, format = "g"))
}

plot_curves <- function(x, columns = NULL, ...) {
  if (!inherits(x, "dp_fit")) refuse("x: must be a fit of dp_fit", field = "x")
  curves <- curves_of(x)
  surfaces <- surfaces_of(x)
  column_of <- function(drawn) vapply(drawn, `[[`, "", "column")
  known <- unique(c(column_of(curves), column_of(surfaces)))
  if (!length(known)) refuse("x: must have curves: none of its columns has one", field = "x")
  if (is.null(columns)) columns <- known
  absent <- setdiff(columns, known)
  if (length(absent)) refuse(sprintf("columns: %s must be one of the columns with curves: %s", absent[1L], paste(known, collapse = ", ")), field = "columns")
  curves <- curves[column_of(curves) %in% columns]
  surfaces <- surfaces[column_of(surfaces) %in% columns]
  count <- length(unique(column_of(curves))) + length(surfaces)
  across <- min(3L, count)
  old <- par(mfrow = c(ceiling(count / across), across), mar = c(4.2, 4.2, 2, 1))
  on.exit(par(old))
  for (name in unique(column_of(curves))) draw_curve(x, Filter(function(curve) curve$column == name, curves), ...)
  for (surface in surfaces) draw_surface(x, surface)
  invisible(c(curves, surfaces))
}

# Draws an interaction as a table of coloured cells, whose colour shows the part of the score at a pair of knots or
# levels.
draw_surface <- function(x, surface) {
  effect <- surface$effect
  most <- max(abs(effect), 1e-300)
  down <- nrow(effect)
  graphics::image(seq_len(ncol(effect)), seq_len(down), t(effect[rev(seq_len(down)), , drop = FALSE]), zlim = c(-most, most),
    col = grDevices::hcl.colors(41L, "Purple-Green", alpha = 0.6), axes = FALSE, xlab = sub("^[^:]*:", "", surface$column),
    ylab = sub(":.*", "", surface$column))
  axis(1, seq_len(ncol(effect)), colnames(effect), tick = FALSE, cex.axis = 0.8)
  axis(2, rev(seq_len(down)), rownames(effect), tick = FALSE, cex.axis = 0.8)
  shown <- if (multiplies(x)) exp else identity
  cells <- ifelse(surface$thin, "-", formatC(shown(effect), digits = 2, format = "g"))
  graphics::text(col(effect), down + 1L - row(effect), cells, cex = 0.7)
  said <- c(sprintf("interaction (%s)", scale_of(x)), if (!is.na(surface$class)) surface$class)
  graphics::mtext(paste(said, collapse = ", "), 3, cex = 0.7)
}

# Whether effects multiply odds or a rate, and the label of an axis of effects.
multiplies <- function(x) !is.null(x$coefficients$ratio) && nzchar(x$coefficients$ratio)

scale_of <- function(x) {
  if (multiplies(x)) paste0(x$coefficients$ratio, ", times") else gsub("[\u201c\u201d]", "\"", x$coefficients$unit)
}

draw_curve <- function(x, curves, ...) {
  multiplies <- multiplies(x)
  shown <- if (multiplies) exp else identity
  first <- curves[[1L]]
  place <- function(curve) if (curve$date) as.Date("1970-01-01") + curve$points$x else curve$points$x + curve$log
  values <- unlist(lapply(curves, function(curve) c(curve$points$effect, curve$points$low, curve$points$high)))
  plot(place(first), shown(first$points$effect), type = "n",
    ylim = shown(range(0, values, na.rm = TRUE)), log = paste0(if (first$log) "x" else "", if (multiplies) "y" else ""),
    xlab = if (first$log) paste("1 +", first$column) else first$column,
    ylab = scale_of(x), ...)
  at <- place(first)
  thin <- first$points$thin
  box <- par("usr")
  if (multiplies) box[3:4] <- 10^box[3:4]
  confident <- !is.na(first$level)
  grey <- if (confident) thin[-1L] | thin[-length(thin)] else thin[-1L] & thin[-length(thin)]
  for (i in which(grey)) {
    graphics::rect(at[i], box[3L], at[i + 1L], box[4L], col = "grey90", border = NA)
  }
  abline(h = shown(0), lty = 2)
  stated <- !all(is.na(first$points$low))
  for (i in seq_along(curves)) {
    p <- curves[[i]]$points
    where <- place(curves[[i]])
    drawn <- if (confident) !is.na(p$low) else rep(TRUE, nrow(p))
    if (stated) {
      band <- grDevices::adjustcolor(i, alpha.f = 0.2)
      for (run in split(which(drawn), cumsum(c(TRUE, diff(which(drawn)) > 1L)))) {
        graphics::polygon(c(where[run], rev(where[run])), shown(c(p$high[run], rev(p$low[run]))), col = band, border = NA)
      }
    }
    graphics::lines(where, ifelse(drawn, shown(p$effect), NA), col = i, lwd = 2)
  }
  if (!is.na(first$class)) graphics::legend("topleft", vapply(curves, `[[`, "", "class"), col = seq_along(curves), lwd = 2, bty = "n", cex = 0.7)
  said <- if (confident) sprintf("band: %.4g%% confidence intervals", 100 * first$level) else "band: privacy noise only"
  if (confident && !stated) said <- "noise hides a knot: no confidence intervals"
  if (stated || confident) graphics::mtext(said, 3, cex = 0.7)
}
