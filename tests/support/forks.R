# Says which packages R lacks. Then runs analysis.R in the folder that each line of the standard input
# names, and answers with a line: empty, or what went wrong. Each run is a fork of this process, whose packages are loaded already.

found <- sapply(c("lme4", "pbkrtest", "ordinal", "jsonlite"), requireNamespace, quietly = TRUE)
cat("R lacks: ", toString(names(found)[!found]), "\n", sep = "")
flush(stdout())
lines <- file("stdin", "r")
while (length(folder <- readLines(lines, 1))) {
  run <- parallel::mcparallel({
    setwd(folder)
    # as `Rscript analysis.R ratings.csv tables-r`
    given <- c("R", "--no-echo", "--file=analysis.R", "--args", "ratings.csv", "tables-r")
    assign("commandArgs", function(trailingOnly = FALSE) if (trailingOnly) given[5:6] else given,
           envir = globalenv())
    Sys.setenv(MOST_ORDINAL = readLines("most-ordinal"))
    source("analysis.R", local = globalenv())
    TRUE
  }, mc.set.seed = FALSE, silent = TRUE)
  done <- parallel::mccollect(run)[[1]]
  cat(if (isTRUE(done)) "" else gsub("\n", " ", paste("failed:", format(done))), "\n", sep = "")
  flush(stdout())
}
