# Reference values of the potential scale reduction factor, from CODA.
#
#   Rscript tests/coda_reference.R > tests/coda_reference.json
#
# Debian: r-base-core and r-cran-coda. The chains are made from integers alone (the Park-Miller
# generator fits a double exactly), so that test_diagnostics.py makes the very same ones.

suppressMessages(library(coda))

make_chains <- function(kind, chains, draws, seed) {
  state <- seed
  uniform <- function() {
    state <<- (16807 * state) %% 2147483647
    state / 2147483647
  }
  x <- matrix(0, chains, draws)
  for (k in seq_len(chains)) {
    now <- if (kind == "autoregressive") 5 * (k - 1) / chains else (k - 1) %% 2
    for (t in seq_len(draws)) {
      if (kind == "autoregressive") now <- 0.9 * now + uniform() - 0.5
      if (kind == "sticky") now <- if (uniform() < 0.1) 1 - now else now
      if (kind == "coin") now <- as.numeric(uniform() < 0.5)
      if (kind == "rare") now <- as.numeric(uniform() < 0.005)
      if (kind == "alternating") now <- 1 - now
      if (kind == "constant") now <- 0.1
      # "apart": every chain stays where it started
      x[k, t] <- now
    }
  }
  x
}

number <- function(values) {
  text <- sprintf("%.17g", values)
  text[is.nan(values)] <- "NaN"
  text[is.infinite(values)] <- "Infinity"
  if (length(values) == 1) text else paste0("[", paste(text, collapse = ", "), "]")
}

evolution <- function(x, bins, autoburnin) {
  # What gelman.plot draws; it prints a remark when every value is NaN, which is kept off the JSON.
  invisible(capture.output(
    y <- coda:::gelman.preplot(x, bin.width = 10, max.bins = bins, confidence = 0.95,
                               transform = FALSE, autoburnin = autoburnin)))
  sprintf('{"bins": %d, "autoburnin": %s,\n     "iterations": %s,\n     "point": %s,\n     "upper": %s}',
          bins, if (autoburnin) "true" else "false",
          number(y$last.iter), number(y$shrink[, 1, 1]), number(y$shrink[, 1, 2]))
}

case <- function(kind, chains, draws, seed, bins = integer(0)) {
  x <- make_chains(kind, chains, draws, seed)
  total <- sum(x * outer(seq_len(chains), seq_len(draws)))
  x <- mcmc.list(lapply(seq_len(chains), function(k) mcmc(x[k, ])))
  diag <- function(confidence) {
    gelman.diag(x, confidence = confidence, transform = FALSE, autoburnin = FALSE,
                multivariate = FALSE)$psrf
  }
  curves <- unlist(lapply(bins, function(b) c(evolution(x, b, TRUE), evolution(x, b, FALSE))))
  sprintf(paste0('  {"kind": "%s", "chains": %d, "draws": %d, "seed": %d, "checksum": %s,\n',
                 '   "point": %s, "upper": %s, "upper90": %s,\n   "evolution": [%s]}'),
          kind, chains, draws, seed, number(total),
          number(diag(0.95)[1]), number(diag(0.95)[2]), number(diag(0.9)[2]),
          paste(curves, collapse = ",\n    "))
}

cases <- c(
  case("autoregressive", 2, 300, 1, c(50, 7)),
  case("autoregressive", 4, 1001, 2, 50),
  case("autoregressive", 100, 200, 3, 50),
  case("autoregressive", 3, 51, 4, 50),
  case("autoregressive", 3, 73, 5, 50),
  case("sticky", 2, 300, 6, 50),
  case("sticky", 4, 1000, 7, 50),
  case("sticky", 100, 200, 8, 50),
  case("coin", 4, 1000, 9),      # nearly equal variances: the F quantile is a chi-square one
  case("coin", 100, 150, 10, 9),
  case("rare", 4, 400, 11, 20),  # some chains, and early on all of them, see no event
  case("rare", 100, 200, 12),
  case("alternating", 2, 64, 13, 50),
  case("alternating", 3, 7, 14),
  case("constant", 4, 60, 15, 50),
  case("apart", 4, 60, 16, 50),
  case("coin", 2, 2, 17)
)
writeLines(sprintf('{"coda": "%s", "R": "%s.%s",\n "cases": [\n%s]}', packageVersion("coda"),
                   R.version$major, R.version$minor, paste(cases, collapse = ",\n")))
