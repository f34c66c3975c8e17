# Random spanning trees by igraph: see `TreeProcess` in peers.py.

suppressMessages(library(igraph))
arguments <- commandArgs(trailingOnly = TRUE)
nodes <- as.integer(arguments[1])
ends <- readBin(arguments[2], "integer", n = file.size(arguments[2]) / 4, size = 4)
graph <- make_graph(ends + 1L, n = nodes, directed = FALSE)
set.seed(20170411)
cat("igraph", as.character(packageVersion("igraph")), "\n")
flush(stdout())
lines <- file("stdin", "r")
while (length(line <- readLines(lines, n = 1)) > 0) {
  count <- as.integer(line)
  begun <- Sys.time()
  for (k in seq_len(count)) tree <- sample_spanning_tree(graph)
  cat(as.numeric(Sys.time() - begun, units = "secs"), length(tree), "\n")
  flush(stdout())
}
