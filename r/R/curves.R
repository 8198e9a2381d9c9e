# Pictures of the curves of a fit. All numbers are those of stillpoint coefficients --json.

# The curves, one data frame each: x, effect, low, high, mass and thin.
curves_of <- function(x) {
  curves <- x$coefficients$curves
  if (is.null(curves)) return(list())
  lapply(seq_len(nrow(curves)), function(i) {
    p <- curves$points[[i]]
    list(
      column = curves$column[i], class = if (is.null(curves$class)) NA_character_ else curves$class[i],
      date = !is.null(curves$date) && isTRUE(curves$date[i]), log = !is.null(curves$log) && isTRUE(curves$log[i]),
      points = data.frame(
        x = p$x, effect = p$effect, low = optional(p$low, nrow(p)), high = optional(p$high, nrow(p)),
        mass = optional(p$mass, nrow(p)), thin = if (is.null(p$thin)) FALSE else !is.na(p$thin) & p$thin
      )
    )
  })
}

optional <- function(v, n) if (is.null(v)) rep(NA_real_, n) else as.numeric(v)

plot_curves <- function(x, columns = NULL, ...) {
  if (!inherits(x, "dp_fit")) refuse("x: must be a fit of dp_fit", field = "x")
  curves <- curves_of(x)
  known <- unique(vapply(curves, `[[`, "", "column"))
  if (!length(known)) refuse("x: must have curves: none of its columns has one", field = "x")
  if (is.null(columns)) columns <- known
  absent <- setdiff(columns, known)
  if (length(absent)) refuse(sprintf("columns: %s must be one of the columns with curves: %s", absent[1L], paste(known, collapse = ", ")), field = "columns")
  across <- min(3L, length(columns))
  old <- par(mfrow = c(ceiling(length(columns) / across), across), mar = c(4.2, 4.2, 2, 1))
  on.exit(par(old))
  for (name in columns) draw_curve(x, Filter(function(curve) curve$column == name, curves), ...)
  invisible(curves[vapply(curves, function(curve) curve$column %in% columns, TRUE)])
}

draw_curve <- function(x, curves, ...) {
  ratio <- x$coefficients$ratio
  multiplies <- !is.null(ratio) && nzchar(ratio)
  shown <- if (multiplies) exp else identity
  first <- curves[[1L]]
  place <- function(curve) if (curve$date) as.Date("1970-01-01") + curve$points$x else curve$points$x + curve$log
  values <- unlist(lapply(curves, function(curve) c(curve$points$effect, curve$points$low, curve$points$high)))
  plot(place(first), shown(first$points$effect), type = "n",
    ylim = shown(range(0, values, na.rm = TRUE)), log = paste0(if (first$log) "x" else "", if (multiplies) "y" else ""),
    xlab = if (first$log) paste("1 +", first$column) else first$column,
    ylab = if (multiplies) paste0(ratio, ", times") else gsub("[\u201c\u201d]", "\"", x$coefficients$unit), ...)
  at <- place(first)
  thin <- first$points$thin
  box <- par("usr")
  if (multiplies) box[3:4] <- 10^box[3:4]
  for (i in which(thin[-1L] & thin[-length(thin)])) {
    graphics::rect(at[i], box[3L], at[i + 1L], box[4L], col = "grey90", border = NA)
  }
  abline(h = shown(0), lty = 2)
  stated <- !anyNA(first$points$low)
  for (i in seq_along(curves)) {
    p <- curves[[i]]$points
    where <- place(curves[[i]])
    if (stated) {
      band <- grDevices::adjustcolor(i, alpha.f = 0.2)
      graphics::polygon(c(where, rev(where)), shown(c(p$high, rev(p$low))), col = band, border = NA)
    }
    graphics::lines(where, shown(p$effect), col = i, lwd = 2)
  }
  if (!is.na(first$class)) graphics::legend("topleft", vapply(curves, `[[`, "", "class"), col = seq_along(curves), lwd = 2, bty = "n", cex = 0.7)
  if (stated) graphics::mtext("band: privacy noise only", 3, cex = 0.7)
}
