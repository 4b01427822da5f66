# Every verdict of a study's report, from its ratings.csv, in R.
#
#   Rscript analysis.R [ratings.csv] [folder for the tables]
#
# Needs lme4, pbkrtest, ordinal and jsonlite. On Debian and Ubuntu:
#   apt-get install r-base-core r-cran-lme4 r-cran-pbkrtest r-cran-ordinal r-cran-jsonlite
# elsewhere: install.packages(c("lme4", "pbkrtest", "ordinal", "jsonlite"))
#
# It reads data/ratings.csv and analysis-plan.json, which lies beside this script, and writes
# systems.csv, pairs.csv, joint_tests.csv, variances.csv, margins.csv, agreement.csv and notes.txt
# into tables-r. analysis.py writes the same tables, with intervals of agreement, by its own fit.
#
# @@methods@@
#
# Preferences of more than two systems are fitted by dense matrices, up to 2,000 answers: lme4 takes
# no term whose entries are +1 and -1.
#
# Points are compared by their means, as if they were equally far apart. Beside that a
# cumulative-link mixed model takes them as ordered only (p_ordinal): its z is referred to t with
# the degrees of freedom of the same pair, and corrected over the same comparisons.

arguments <- commandArgs(trailingOnly = TRUE)
path <- if (length(arguments) >= 1) arguments[1] else file.path("data", "ratings.csv")
folder <- if (length(arguments) >= 2) arguments[2] else "tables-r"
most_dense <- 2000    # answers to a criterion of preferences
# With more ratings the ordinal check takes very long and is left out; MOST_ORDINAL=0 in the
# environment leaves it out always.
most_ordinal <- as.integer(Sys.getenv("MOST_ORDINAL", "5000"))
most_separate <- c(pairs = 45, ratings = 200000)  # up to which each pair is fitted alone
whole <- "all outputs together"  # what is rated where a question is about the item
columns <- list(
  systems = c("criterion", "system", "n", "mean", "sd", "estimate", "low", "high", "from_average",
              "from_average_low", "from_average_high"),
  pairs = c("criterion", "system_1", "system_2", "effect", "estimate", "low", "high", "se", "df",
            "t", "p", "family", "p_corrected", "d", "d_low", "d_high", "verdict", "p_ordinal",
            "p_ordinal_corrected"),
  joint_tests = c("criterion", "f", "df1", "df2", "p"),
  variances = c("criterion", "term", "variance", "share"),
  margins = c("criterion", "system", "other", "relation", "margin", "low90", "high90", "p",
              "p_corrected", "outcome", "fails_in"),
  agreement = c("criterion", "coefficient", "value", "low", "high")
)

needed <- c("lme4", "pbkrtest", "ordinal", "jsonlite")
missing <- needed[!vapply(needed, requireNamespace, logical(1), quietly = TRUE)]
if (length(missing)) stop("Install these packages first: ", paste(missing, collapse = ", "))

notes <- character(0)
note <- function(...) {
  notes <<- c(notes, paste0(...))
  message(...)
}
`%or%` <- function(a, b) if (is.null(a) || !length(a) || identical(a, "")) b else a

# --- the ratings and the plan -------------------------------------------------------------------

read_plan <- function() {
  script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
  # R writes a space in this path so
  file <- file.path(dirname(gsub("~+~", " ", script, fixed = TRUE)), "analysis-plan.json")
  if (!length(file) || !file.exists(file)) return(list())
  jsonlite::fromJSON(file, simplifyVector = FALSE)
}

plan <- read_plan()
baseline <- plan$baseline %or% ""
primary <- plan$primary %or% ""
has_own_errors <- isTRUE(plan$frozen$has_own_errors)

read_table <- function(path) {
  # every cell as text: ids such as 007 or NA stay as they are
  read.csv(path, colClasses = "character", na.strings = character(0), check.names = FALSE,
           encoding = "UTF-8")
}

# Counted ratings of main items that nothing leaves out, the first of each person and output.
read_ratings <- function(path) {
  if (!file.exists(path)) {
    stop("There is no file ", path, ". Give the path of ratings.csv after the script.")
  }
  d <- read_table(path)
  for (name in c("part", "turn", "option", "better")) if (is.null(d[[name]])) d[[name]] <- ""
  counted <- d$kind == "main" & d$status == "counted"
  gone <- sum(counted & d$excluded == "yes")
  if (gone) note(gone, " ratings are left out by the researchers' decisions.")
  d <- d[counted & d$excluded != "yes", ]
  d$value <- as.numeric(d$value)
  d$group <- ifelse(d$group == "", d$item, d$group)
  d$block <- ifelse(d$cluster == "", d$group, d$cluster)
  is_preference <- d$outcome != ""
  output <- ifelse(d$output_id == "", paste(d$item, d$system, sep = "|"), d$output_id)
  d$output <- ifelse(is_preference, d$item, output)
  d <- d[!is.na(d$value) | is_preference, ]
  d <- d[!duplicated(d[c("participant", "output", "criterion", "part", "turn")]), ]
  d <- drop_ignored(d, file.path(dirname(path), "annotations.csv"))
  if (!nrow(d)) stop("The file has no counted ratings of main items.")
  for (origin in c("simulated", "imported")) {
    n <- sum(d$origin == origin)
    if (n) note(n, " of ", nrow(d), " ratings are ", origin, ".")
  }
  d
}

# Without the items that more people ignored than rated.
drop_ignored <- function(d, path) {
  if (!file.exists(path)) return(d)
  a <- read_table(path)
  a <- a[a$kind == "main" & a$status == "counted" & a$excluded != "yes" &
           a$outcome %in% c("rated", "ignored"), ]
  share <- tapply(a$outcome == "ignored", a$item, mean)
  dropped <- d$item %in% names(share)[share > .5]
  if (any(dropped)) {
    note(length(unique(d$item[dropped])), " items with ", sum(dropped), " ratings are left out: ",
         "most people who saw such an item ignored it.")
  }
  d[!dropped, ]
}

guess_family <- function(d) {
  if (all(d$outcome != "")) "preference"
  else if (all(d$log_ratio != "")) "magnitude"
  else if (any(d$turn != "")) "turns"
  else if (all(d$scale %in% c("ranking", "best_worst"))) "ranks"
  else if (all(d$scale == "decision")) "decision"
  else if (all(d$scale == "spans")) "penalties"
  else if (all(d$scale == "post_edit")) "edits"
  else "points"
}

# The criteria in the order of the instrument, the primary one first; without the plan, in the order
# of the file, and each as its rows say.
list_criteria <- function(d) {
  described <- plan$criteria %or% lapply(unique(d$criterion), function(key) {
    list(key = key, family = guess_family(d[d$criterion == key, ]))
  })
  result <- do.call(c, lapply(described, function(about) {
    part <- d[d$criterion == about$key & d$part != "comment", ]
    if (identical(about$per, "item")) part$system[part$system == ""] <- whole
    split_options(part, about)
  }))
  result <- Filter(function(criterion) nrow(criterion$rows) > 0, result)
  is_primary <- vapply(result, function(entry) primary %in% c(entry$key, entry$choice), logical(1))
  c(result[is_primary], result[!is_primary])
}

# The question as one criterion, or one for each of its options: 1 where it was taken.
split_options <- function(d, about) {
  if (about$family == "ranks") {
    note(about$key, ": orders are only in the report, whose tests are a bootstrap.")
  }
  if (about$family %in% c("text", "ranks") || !nrow(d)) return(list())
  # beside the penalty, a row may say that there are no errors
  if (about$family == "penalties") d <- d[d$part == "", ]
  lowest <- as.numeric(d$scale_min)
  ends <- if (anyNA(lowest)) NULL else {
    highest <- as.numeric(d$scale_max)
    c(min(lowest), if (anyNA(highest)) Inf else max(highest))
  }
  if (about$family == "shares") ends <- c(0, 1)
  question <- list(key = about$key, family = about$family, choice = "", ends = ends,
                   better = find_better(d, about),
                   has_points = about$family == "points" && all(d$scale == "likert"))
  options <- unlist(about$options)
  if (!length(options)) {
    question$rows <- if (about$family %in% c("turns", "shares")) average(d) else d
    return(list(question))
  }
  lapply(seq_along(options), function(place) {
    chosen <- d[d$part == "", ]
    chosen$value <- as.numeric(chosen$value == place)
    part <- rbind(d[d$part == options[place], ], chosen)
    is_mean <- about$family == "turns"
    modifyList(question, list(
      key = paste0(about$key, "__", options[place]), choice = about$key, ends = c(0, 1),
      better = "none",
      family = if (is_mean) "turns" else "decision", rows = if (is_mean) average(part) else part
    ))
  })
}

# The direction of a criterion; nothing says of numbers whether high or low ones are good.
find_better <- function(d, about) {
  if (about$family == "preference") return("higher")
  known <- about$better %or% d$better[1]
  known %or% (if (all(d$scale == "number")) "none" else "higher")
}

# One row for each person and output: the mean of statements or turns.
average <- function(d) {
  if (!nrow(d)) return(d)
  unit <- do.call(paste, c(d[c("annotation", "participant", "output")], sep = "\r"))
  d$value <- ave(d$value, unit)
  d[!duplicated(unit), ]
}

sorted <- function(names) sort(unique(names[names != ""]), method = "radix")

list_names <- function(criterion) {
  d <- criterion$rows
  sorted(if (criterion$family == "preference") c(d$system_1, d$system_2) else d$system)
}

# --- the model ----------------------------------------------------------------------------------

code <- function(...) {
  text <- paste(..., sep = "\r")
  match(text, unique(text))
}
incidence <- function(codes) {
  Matrix::sparseMatrix(seq_along(codes), codes, x = 1, dims = c(length(codes), max(codes)))
}

# The random effects of ratings of outputs, as codes by name; and why others are left out.
find_terms <- function(d) {
  codes <- list(rater = code(d$participant), group = code(d$group))
  has_clusters <- any(d$cluster != "")
  if (has_clusters) codes$cluster <- code(d$block)
  codes[["group:system"]] <- code(d$group, d$system)
  if (has_clusters) codes[["cluster:system"]] <- code(d$block, d$system)
  codes[["rater:system"]] <- code(d$participant, d$system)
  codes[["rater:group"]] <- code(d$participant, d$group)
  n <- nrow(d)
  kept <- list()
  dropped <- list()
  for (name in names(codes)) {
    levels <- max(codes[[name]])
    alike <- Filter(function(other) {
      max(kept[[other]]) == levels && max(code(kept[[other]], codes[[name]])) == levels
    }, names(kept))
    if (name == "rater:group" && levels < n && (n - levels) / n < .2) {
      dropped[[name]] <- "few raters have several ratings of one input"
    } else if (levels == n) {
      dropped[[name]] <- "it merges with the residual: one rating for each level"
    } else if (levels == 1) {
      dropped[[name]] <- "it merges with the mean: one level"
    } else if (length(alike)) {
      dropped[[name]] <- paste0("it merges with ", alike[length(alike)], ": the same levels")
    } else {
      kept[[name]] <- codes[[name]]
    }
  }
  list(codes = kept, dropped = dropped)
}

# The terms that the residual, the means and earlier terms don't imply; why not the others, and
# whether the data still determine a sum of means. z: incidences by name; x: that of the means.
drop_tied <- function(z, x) {
  size <- Matrix::colSums(x)
  parts <- c(list("the residual" = Matrix::Diagonal(nrow(x))), z)
  sums <- lapply(parts, function(part) as.matrix(Matrix::crossprod(part, x)))
  gram <- outer(seq_along(parts), seq_along(parts), Vectorize(function(a, b) {
    crossed <- Matrix::crossprod(parts[[a]], parts[[b]])
    taken <- t(t(sums[[a]]) / size) * as.matrix(crossed %*% sums[[b]])
    both <- (crossprod(sums[[a]]) %*% diag(1 / size, length(size))) %*%
      (crossprod(sums[[b]]) %*% diag(1 / size, length(size)))
    sum(crossed^2) - 2 * sum(taken) + sum(diag(both))
  }))
  kept <- 1
  dropped <- list()
  ties <- list()
  for (k in seq_along(parts)[-1]) {
    tie <- replace(numeric(length(parts)), k, 1)
    if (gram[k, k] <= 1e-9 * sum(Matrix::crossprod(parts[[k]])^2)) {
      dropped[[names(parts)[k]]] <- "it merges with the means of the systems"
    } else {
      root <- sqrt(diag(gram)[kept])
      within <- gram[kept, kept, drop = FALSE] / outer(root, root)
      by <- qr.coef(qr(within, tol = 1e-12), gram[kept, k] / root)
      by[is.na(by)] <- 0
      if (gram[k, k] - sum(by * gram[kept, k] / root) > 1e-9 * gram[k, k]) {
        kept <- c(kept, k)
        next
      }
      tie[kept] <- -by / root
      tie[abs(tie) < 1e-7] <- 0
      dropped[[names(parts)[k]]] <- paste("it can't be told from", paste(
        names(parts)[kept][tie[kept] != 0], collapse = " and "), "in these ratings")
    }
    ties <- c(ties, list(describe_tie(tie, parts, sums, x, size)))
  }
  list(kept = setdiff(names(z), names(dropped)), dropped = dropped, ties = ties)
}

# What moving the variances along a tie does to the means: their weights and their covariance.
describe_tie <- function(tie, parts, sums, x, size) {
  p <- ncol(x)
  result <- list(weights = matrix(0, nrow(x), p), covariance = matrix(0, p, p), sizes = numeric(p),
                spreads = numeric(p))
  for (k in which(tie != 0)) {
    share <- t(t(sums[[k]]) / size)
    counts <- Matrix::colSums(parts[[k]]^2)
    result$weights <- result$weights + tie[k] * as.matrix(parts[[k]] %*% share)
    result$covariance <- result$covariance + tie[k] * crossprod(share)
    result$sizes <- result$sizes + abs(tie[k]) * sqrt(colSums(counts * share^2))
    result$spreads <- result$spreads + abs(tie[k]) * colSums(share^2)
  }
  means <- as.matrix(Matrix::crossprod(x, result$weights)) / size
  result$weights <- result$weights - as.matrix(x %*% means)
  result
}

moves <- function(tie, w) {
  sqrt(sum((tie$weights %*% w)^2)) > 1e-7 * sum(abs(w) * tie$sizes) ||
    abs(sum(w * (tie$covariance %*% w))) > 1e-7 * sum(w^2 * tie$spreads)
}

# The mixed model by lme4, with errors by Kenward and Roger; NULL where there is none.
# y: values; mean: a factor, each level of which has a mean; codes: of each random effect.
fit_lmer <- function(y, mean, codes) {
  frame <- data.frame(y = y, mean = mean)
  labels <- paste0("term", seq_along(codes))
  for (k in seq_along(codes)) frame[[labels[k]]] <- factor(codes[[k]])
  fixed <- if (nlevels(mean) > 1) "0 + mean" else "1"
  form <- as.formula(paste("y ~", paste(c(fixed, sprintf("(1 | %s)", labels)), collapse = " + ")))
  control <- function(...) {
    lme4::lmerControl(..., calc.derivs = FALSE, check.conv.singular = "ignore")
  }
  tight <- control(optimizer = "bobyqa",
                   optCtrl = list(rhobeg = 1e-3, rhoend = 1e-11, maxfun = 1e5))
  # two ways to the optimum: a search may stop at a variance of 0 that isn't it
  model <- tryCatch({
    a <- lme4::lmer(form, frame, control = tight)
    b <- lme4::lmer(form, frame, control = control(optimizer = "nloptwrap"))
    b <- lme4::lmer(form, frame, control = tight, start = lme4::getME(b, "theta"))
    if (lme4::REMLcrit(b) < lme4::REMLcrit(a)) b else a
  }, error = function(problem) NULL)
  if (is.null(model)) return(NULL)
  adjusted <- tryCatch(pbkrtest::vcovAdj(model), error = function(problem) NULL)
  if (is.null(adjusted)) return(NULL)
  spread <- as.data.frame(lme4::VarCorr(model))
  variances <- setNames(spread$vcov[match(c(labels, "Residual"), spread$grp)],
                        c(names(codes), "residual"))
  plain <- as.matrix(vcov(model))
  list(
    beta = lme4::fixef(model), plain = plain, adjusted = as.matrix(adjusted), variances = variances,
    find_df = function(w) pbkrtest::Lb_ddf(w, plain, adjusted),
    test_jointly = function(rows) {
      result <- pbkrtest::KRmodcomp(model, rows)$stats
      c(f = result$Fstat, df1 = result$ndf, df2 = result$ddf, p = result$p.value)
    }
  )
}

# The same by dense matrices; z: incidences by name, whose entries may be +1 and -1.
fit_dense <- function(y, x, z) {
  n <- length(y)
  parts <- c(lapply(z, function(entry) as.matrix(Matrix::tcrossprod(entry))), list(diag(n)))
  look <- function(th) {
    root <- chol(Reduce(`+`, Map(`*`, th, parts)))
    inverse <- chol2inv(root)
    vx <- inverse %*% x
    phi <- solve(crossprod(x, vx))
    beta <- phi %*% crossprod(vx, y)
    off <- y - x %*% beta
    list(inverse = inverse, vx = vx, phi = phi, beta = as.vector(beta),
         criterion = 2 * sum(log(diag(root))) - as.numeric(determinant(phi)$modulus) +
           sum(off * (inverse %*% off)))
  }
  project <- function(at) at$inverse - at$vx %*% at$phi %*% t(at$vx)
  slope <- function(th) {
    at <- look(th)
    p <- project(at)
    py <- p %*% y
    vapply(parts, function(part) sum(p * part) - sum(py * (part %*% py)), numeric(1))
  }
  start <- rep(var(y) / length(parts), length(parts))
  best <- nlminb(start, function(th) look(th)$criterion, slope,
                 lower = c(rep(0, length(z)), 1e-6 * var(y)),
                 control = list(rel.tol = 1e-14, x.tol = 1e-12, eval.max = 500, iter.max = 300))
  at <- look(best$par)
  p <- project(at)
  moved <- lapply(parts, function(part) p %*% part)
  info <- outer(seq_along(parts), seq_along(parts), Vectorize(function(a, b) {
    sum(moved[[a]] * t(moved[[b]]))
  }))
  spread <- 2 * solve(info)
  reach <- lapply(parts, function(part) part %*% at$vx)
  slopes <- lapply(reach, function(part) crossprod(at$vx, part))
  added <- 0
  for (a in seq_along(parts)) for (b in seq_along(parts)) {
    added <- added + spread[a, b] * (crossprod(reach[[a]], at$inverse %*% reach[[b]]) -
                                       slopes[[a]] %*% at$phi %*% slopes[[b]])
  }
  adjusted <- at$phi + 2 * at$phi %*% added %*% at$phi
  find_df <- function(w) {
    v <- sum(w * (at$phi %*% w))
    g <- vapply(slopes, function(part) sum((at$phi %*% w) * (part %*% at$phi %*% w)), numeric(1))
    2 * v^2 / sum(g * (spread %*% g))
  }
  list(beta = at$beta, plain = at$phi, adjusted = adjusted,
       variances = setNames(best$par, c(names(z), "residual")), find_df = find_df,
       test_jointly = function(rows) test_dense(rows, at, adjusted, slopes, spread))
}

# F of Kenward and Roger (1997) by their formulas.
test_dense <- function(rows, at, adjusted, slopes, spread) {
  q <- nrow(rows)
  theta <- t(rows) %*% solve(rows %*% at$phi %*% t(rows), rows)
  moved <- lapply(slopes, function(part) theta %*% at$phi %*% part %*% at$phi)
  traces <- vapply(moved, function(part) sum(diag(part)), numeric(1))
  a1 <- sum(traces * (spread %*% traces))
  a2 <- sum(spread * outer(seq_along(moved), seq_along(moved), Vectorize(function(a, b) {
    sum(moved[[a]] * t(moved[[b]]))
  })))
  b <- (a1 + 6 * a2) / (2 * q)
  g <- ((q + 1) * a1 - (q + 4) * a2) / ((q + 2) * a2)
  d <- 3 * q + 2 * (1 - g)
  c1 <- g / d
  c2 <- (q - g) / d
  c3 <- (q + 2 - g) / d
  rho <- ((1 - a2 / q) / (1 - c2 * b))^2 * (1 + c1 * b) / ((1 - c3 * b) * q)
  df <- 4 + (q + 2) / (q * rho - 1)
  apart <- rows %*% at$beta
  f <- df * (1 - a2 / q) / (df - 2) / q * sum(apart * solve(rows %*% adjusted %*% t(rows), apart))
  c(f = f, df1 = q, df2 = df, p = pf(f, q, df, lower.tail = FALSE))
}

quadratic <- function(matrix, w) sum(w * (matrix %*% w))
is_known <- function(fit, w) {
  !any(vapply(fit$ties, moves, logical(1), w)) &&
    quadratic(fit$adjusted, w) <= 2 * quadratic(fit$plain, w)
}
contrast <- function(fit, w) {
  se <- sqrt(quadratic(fit$adjusted, w))
  c(estimate = sum(w * fit$beta), se = se, df = max(fit$find_df(w), 1))
}

# The model of ratings of outputs; without rater:group where that makes errors doubtful.
fit_scores <- function(d, names, terms, key = NULL) {
  system <- factor(d$system, levels = names)
  x <- incidence(as.integer(system))
  split <- drop_tied(lapply(terms$codes, incidence), x)
  fit <- if (length(split$kept)) fit_lmer(d$y, system, terms$codes[split$kept])
  is_doubtful <- !is.null(fit) && any(combn(length(names), 2, function(ij) {
    w <- replace(numeric(length(names)), ij, c(-1, 1))
    quadratic(fit$adjusted, w) > 2 * quadratic(fit$plain, w)
  }))
  if ("rater:group" %in% split$kept && (is.null(fit) || is_doubtful)) {
    terms$codes[["rater:group"]] <- NULL
    terms$dropped[["rater:group"]] <- "its variance is known too poorly"
    return(fit_scores(d, names, terms, key))
  }
  if (is.null(fit) || fit$variances[["residual"]] < 1e-8 * mean((d$y - mean(d$y))^2)) return(NULL)
  if (!is.null(key)) {
    note(key, ": value ~ ", paste(c("system", sprintf("(1 | %s)", split$kept)), collapse = " + "),
         ", REML.")
    dropped <- c(terms$dropped, split$dropped)
    for (name in names(dropped)) note(key, ": ", name, " is left out: ", dropped[[name]], ".")
  }
  fit$ties <- split$ties
  fit
}

# --- comparing ----------------------------------------------------------------------------------

test <- function(values) {
  if (values[["se"]] <= 1e-12 * max(1, abs(values[["estimate"]]))) {
    return(list(estimate = values[["estimate"]], se = 0))
  }
  t <- values[["estimate"]] / values[["se"]]
  c(as.list(values), list(t = t, p = 2 * pt(-abs(t), values[["df"]])))
}

# p of sign flips of differences that are all equal.
flip_signs <- function(mean, units) if (abs(mean) <= 1e-12) 1 else min(1, 2^(1 - units))

# The t test of differences that come in blocks.
test_blocks <- function(values, blocks) {
  codes <- code(blocks)
  count <- if (length(codes)) max(codes) else 0
  if (count < 2) return(list())
  off <- tapply(values - mean(values), codes, sum)
  se <- sqrt(sum(off^2) * count / (count - 1)) / length(values)
  result <- test(c(estimate = mean(values), se = se, df = count - 1))
  if (is.null(result$p)) result$p <- flip_signs(result$estimate, count)
  result
}

# The t test of the differences of means of each input, or of each rater.
test_means <- function(d, pair, unit) {
  means <- tapply(d$y, list(d[[unit]], d$system), mean)
  if (!all(c(pair$first, pair$second) %in% colnames(means))) return(list())
  apart <- means[, pair$second] - means[, pair$first]
  apart <- apart[!is.na(apart)]
  by <- if (unit == "group") d$block[match(names(apart), d$group)] else names(apart)
  test_blocks(unname(apart), by)
}

choose_pairs <- function(names, key) {
  if (nzchar(baseline) && !(baseline %in% names)) {
    note(key, ": the baseline ", baseline, " has no ratings, so all pairs are compared.")
  }
  if (baseline %in% names) {
    lapply(setdiff(names, baseline), function(name) list(first = baseline, second = name))
  } else if (length(names) > 1) {
    combn(names, 2, function(sides) list(first = sides[1], second = sides[2]), simplify = FALSE)
  } else list()
}

take_values <- function(criterion) {
  d <- criterion$rows
  if (criterion$family != "magnitude") return(d$value)
  standard <- as.numeric(d$standard)
  if (anyNA(standard) || length(unique(standard)) < 2) return(log(d$value))
  # standards that differ: all on the scale of the most usual one
  counts <- table(standard)
  log(d$value / standard * as.numeric(names(counts)[which.max(counts)]))
}

# An interval within what is possible; none where nothing is left of it, or everything.
cut_ends <- function(ends, bounds) {
  if (is.null(bounds) || (bounds[1] <= ends[1] && ends[2] <= bounds[2])) return(ends)
  is_all <- ends[1] <= bounds[1] && bounds[2] <= ends[2]
  if (is_all || ends[2] <= bounds[1] || bounds[2] <= ends[1]) return(c(NA, NA))
  c(max(ends[1], bounds[1]), min(ends[2], bounds[2]))
}

describe_mean <- function(criterion, fit, w, is_distance) {
  if (!is_known(fit, w)) return(c(NA, NA, NA))
  values <- contrast(fit, w)
  reach <- qt(.975, values[["df"]]) * values[["se"]]
  result <- values[["estimate"]] + c(0, -reach, reach)
  if (criterion$family == "magnitude") result <- exp(result)
  if (!is_distance) result[2:3] <- cut_ends(result[2:3], criterion$ends)
  result
}

compare_scores <- function(criterion) {
  key <- criterion$key
  names <- list_names(criterion)
  d <- criterion$rows
  d$y <- take_values(criterion)
  result <- list(criterion = criterion, pairs = choose_pairs(names, key), is_tested = TRUE)
  result$systems <- do.call(rbind, lapply(names, function(name) {
    mine <- d$system == name
    data.frame(system = name, n = sum(mine), sd = sd(d$y[mine]), mean =
      if (criterion$family == "magnitude") exp(mean(d$y[mine])) else mean(d$value[mine]))
  }))
  has_persons <- all(d$person != "no")
  if (!has_persons || length(unique(d$participant)) < 2) {
    result$is_tested <- !has_persons
    result$pairs <- lapply(result$pairs, function(pair) c(pair, test_means(d, pair, "group")))
    return(result)
  }
  if (length(unique(d$y)) < 2) {
    result$pairs <- lapply(result$pairs, function(pair) c(pair, list(estimate = 0, se = 0, p = 1)))
    return(result)
  }
  fit <- if (nrow(d) > length(names)) fit_scores(d, names, find_terms(d), key)
  if (is.null(fit)) {
    note(key, ": there is no model of these ratings, so nothing is compared here. The report has ",
         "what can be said.")
    result$pairs <- list()
    return(result)
  }
  result$variances <- fit$variances
  unit <- diag(length(names))
  means <- t(vapply(seq_along(names), function(k) {
    c(describe_mean(criterion, fit, unit[k, ], FALSE),
      if (length(names) > 1) describe_mean(criterion, fit, unit[k, ] - 1 / length(names), TRUE)
      else c(NA, NA, NA))
  }, numeric(6)))
  colnames(means) <- columns$systems[6:11]
  result$systems <- cbind(result$systems, means)
  inputs <- tapply(d$group, d$system, function(entry) length(unique(entry)))
  raters <- tapply(d$participant, d$system, function(entry) length(unique(entry)))
  thin <- names[inputs[names] < 2 | raters[names] < 2]
  result$pairs <- lapply(result$pairs, function(pair) {
    w <- (names == pair$second) - (names == pair$first)
    if (any(c(pair$first, pair$second) %in% thin)) {
      both <- d[d$system %in% c(pair$first, pair$second), ]
      return(c(pair, if (length(unique(both$group)) == 1) test_means(both, pair, "participant")))
    }
    if (is_known(fit, w)) c(pair, test(contrast(fit, w)), list(is_by_model = TRUE)) else pair
  })
  if (has_own_errors) result$pairs <- use_separate_errors(result, d, length(names))
  if (length(names) > 2 && !length(thin)) {
    apart <- combn(length(names), 2, function(ij) unit[ij[2], ] - unit[ij[1], ])
    if (all(apply(apart, 2, is_known, fit = fit))) {
      joint <- fit$test_jointly(t(t(unit[-1, ]) - unit[1, ]))
      if (joint[["df2"]] > 2) result$joint <- joint
    }
  }
  if (criterion$has_points) result$pairs <- check_ordinal(result$pairs, d, names, fit, key)
  result
}

# Each pair tested by a model of its two systems alone, as the plan says.
use_separate_errors <- function(result, d, systems) {
  every <- systems * (systems - 1) / 2
  if (systems < 3 || every > most_separate[["pairs"]] ||
      every * 2 / systems * nrow(d) > most_separate[["ratings"]]) return(result$pairs)
  note(result$criterion$key, ": each of ", length(result$pairs), " pairs has an error of its own.")
  lapply(result$pairs, function(pair) {
    names <- c(pair$first, pair$second)
    part <- d[d$system %in% names, ]
    if (is.null(pair$df) || length(unique(part$y)) < 2 || length(unique(part$participant)) < 2) {
      return(pair)
    }
    fit <- fit_scores(part, names, find_terms(part))
    if (is.null(fit) || !is_known(fit, c(-1, 1))) return(pair)
    modifyList(pair, test(contrast(fit, c(-1, 1))))
  })
}

# z of a cumulative-link mixed model, referred to t with the pair's own degrees of freedom.
check_ordinal <- function(pairs, d, names, fit, key) {
  if (most_ordinal == 0) return(pairs)
  if (nrow(d) > most_ordinal || length(unique(d$value)) < 3) {
    note(key, ": no ordinal check, since there are ",
         if (nrow(d) > most_ordinal) paste("more than", most_ordinal, "ratings.")
         else "fewer than three points in use.")
    return(pairs)
  }
  kept <- setdiff(names(fit$variances), "residual")
  codes <- find_terms(d)$codes[kept]
  frame <- data.frame(point = factor(d$value, ordered = TRUE), system = factor(d$system, names))
  for (k in seq_along(kept)) frame[[paste0("term", k)]] <- factor(codes[[k]])
  form <- as.formula(paste("point ~ system +", paste0("(1 | term", seq_along(kept), ")",
                                                      collapse = " + ")))
  warned <- character(0)
  model <- tryCatch(
    withCallingHandlers(ordinal::clmm(form, data = frame), warning = function(problem) {
      warned <<- union(warned, conditionMessage(problem))
      invokeRestart("muffleWarning")
    }),
    error = function(problem) {
      note(key, ": the ordinal check failed (", conditionMessage(problem), ").")
      NULL
    }
  )
  if (length(warned)) note(key, ": the ordinal check warns: ", paste(warned, collapse = "; "), ".")
  if (is.null(model)) return(pairs)
  labels <- paste0("system", names[-1])
  beta <- c(0, model$coefficients[labels])
  error <- rbind(0, cbind(0, vcov(model)[labels, labels, drop = FALSE]))
  if (anyNA(error) || any(grepl("Hessian", warned))) {
    note(key, ": the ordinal check gives no standard errors.")
    return(pairs)
  }
  lapply(pairs, function(pair) {
    if (is.null(pair$df)) return(pair)
    w <- (names == pair$second) - (names == pair$first)
    z <- sum(w * beta) / sqrt(quadratic(error, w))
    c(pair, list(p_ordinal = 2 * pt(-abs(z), pair$df)))
  })
}

compare_preferences <- function(criterion) {
  key <- criterion$key
  names <- list_names(criterion)
  d <- criterion$rows[criterion$rows$outcome != "", ]
  y <- c("1" = 1, tie = 0, "2" = -1)[d$outcome]
  first <- match(d$system_1, names)
  second <- match(d$system_2, names)
  y <- unname(ifelse(first > second, -y, y))
  low <- pmin(first, second)
  high <- pmax(first, second)
  result <- list(criterion = criterion)
  result$systems <- do.call(rbind, lapply(seq_along(names), function(k) {
    points <- c((1 + y[low == k]) / 2, (1 - y[high == k]) / 2)
    data.frame(system = names[k], n = length(points), mean = mean(points))
  }))
  if (length(names) < 2) return(c(result, list(pairs = list(), is_tested = TRUE)))
  met <- combn(length(names), 2, simplify = FALSE)
  met <- Filter(function(ij) any(low == ij[1] & high == ij[2]), met)
  sides <- vapply(choose_pairs(names, key), function(pair) {
    paste(sort(match(c(pair$first, pair$second), names)), collapse = " ")
  }, character(1))
  chosen <- Filter(function(k) paste(met[[k]], collapse = " ") %in% sides, seq_along(met))
  has_persons <- all(d$person != "no")
  raters <- length(unique(d$participant))
  result$is_tested <- !has_persons || raters > 1
  place <- match(paste(low, high), vapply(met, paste, character(1), collapse = " "))
  is_large <- length(names) > 2 && length(y) > most_dense
  if (is_large && has_persons && raters > 1) {
    note(key, ": lme4 takes no signed terms, and there are more than ", most_dense, " answers, so ",
         "these pairs have no row here; the report has them.")
    return(c(result, list(pairs = list())))
  }
  fit <- NULL
  if (has_persons && raters > 1 && length(y) > length(met) && length(unique(y)) > 1) {
    fit <- fit_signed(d, y, low, high, place, length(names), key)
  }
  if (!is.null(fit)) {
    result$variances <- fit$variances
    unit <- diag(length(met))
    is_whole <- length(met) == length(names) * (length(names) - 1) / 2
    if (is_whole && length(names) > 2 && all(apply(unit, 1, is_known, fit = fit))) {
      joint <- fit$test_jointly(unit)
      if (joint[["df2"]] > 2) result$joint <- joint
    }
  }
  pairs <- lapply(chosen, function(k) {
    mine <- place == k
    pair <- list(first = names[met[[k]][1]], second = names[met[[k]][2]], wins = sum(y[mine] > 0),
                 losses = sum(y[mine] < 0))
    c(pair, test_preferences(d[mine, ], y[mine], fit, diag(length(met))[k, ],
                             has_persons && raters > 1))
  })
  is_open <- vapply(pairs, function(pair) isTRUE(pair$is_open), logical(1))
  if (any(is_open)) {
    note(key, ": ", sum(is_open), " pairs can't be tested by the model and have no row here; the ",
         "report has them.")
  }
  result$pairs <- pairs[!is_open]
  result
}

fit_signed <- function(d, y, low, high, place, systems, key) {
  codes <- list("rater:system" = code(d$participant), "input:system" = code(d$group))
  if (length(unique(d$block)) < length(unique(d$group))) codes[["cluster:system"]] <- code(d$block)
  x <- incidence(place)
  z <- lapply(codes, function(entry) {
    plus <- (entry - 1) * systems + low
    minus <- (entry - 1) * systems + high
    used <- sort(unique(c(plus, minus)))
    size <- c(length(y), length(used))
    Matrix::sparseMatrix(seq_along(y), match(plus, used), x = 1, dims = size) -
      Matrix::sparseMatrix(seq_along(y), match(minus, used), x = 1, dims = size)
  })
  split <- drop_tied(z, x)
  if (systems == 2) {
    fit <- fit_lmer(y, factor(place), codes[split$kept])
    # what is added to one system is taken off the other: twice the variance
    if (!is.null(fit)) {
      halved <- names(fit$variances) != "residual"
      fit$variances[halved] <- fit$variances[halved] / 2
    }
  } else {
    fit <- tryCatch(fit_dense(y, as.matrix(x), z[split$kept]), error = function(problem) NULL)
  }
  if (is.null(fit) || fit$variances[["residual"]] < 1e-8 * mean((y - mean(y))^2)) return(NULL)
  note(key, ": preferred (1, 0, -1) ~ ",
       paste(c("pair", sprintf("(1 | %s, +1 for system_1, -1 for system_2)", split$kept)),
             collapse = " + "), ", REML.")
  for (name in names(split$dropped)) {
    note(key, ": ", name, " is left out: ", split$dropped[[name]], ".")
  }
  fit$ties <- split$ties
  fit
}

test_preferences <- function(d, y, fit, w, by_persons) {
  blocks <- length(unique(d$block))
  if (by_persons && length(unique(d$participant)) == 1) return(list())
  if (by_persons && blocks > 1 && length(unique(y)) == 1) {
    return(list(estimate = y[1], se = 0, p = flip_signs(y[1], blocks)))
  }
  if (!by_persons) return(test_blocks(y, d$block))
  if (blocks == 1) return(test_blocks(y, d$participant))
  if (is.null(fit) || !is_known(fit, w)) return(list(is_open = TRUE))
  test(contrast(fit, w))
}

compare_criterion <- function(criterion) {
  compare <- if (criterion$family == "preference") compare_preferences else compare_scores
  compare(criterion)
}

# --- correcting ---------------------------------------------------------------------------------

# Whether the plan names each pair; all of them where it names none.
mark_named <- function(result) {
  key <- result$criterion$key
  planned <- Filter(function(entry) entry$criterion == key, plan$frozen$hypotheses %or% list())
  join <- function(first, second) paste(sorted(c(first, second)), collapse = "\r")
  sides <- vapply(planned, function(entry) join(entry$system, entry$other), "")
  is_named <- vapply(result$pairs, function(pair) join(pair$first, pair$second) %in% sides, NA)
  if (!any(is_named) || baseline %in% list_names(result$criterion)) is_named[] <- TRUE
  is_named
}

take_p <- function(pairs, column = "p") {
  vapply(pairs, function(pair) pair[[column]] %or% (pair$p %or% NA_real_), numeric(1))
}

# p corrected by Holm: over all criteria without a primary one, else within each.
correct_all <- function(compared) {
  known <- unlist(lapply(compared, function(result) result$criterion[c("key", "choice")]))
  for (k in seq_along(compared)) {
    named <- mark_named(compared[[k]])
    compared[[k]]$is_named <- named & !is.na(take_p(compared[[k]]$pairs)) & compared[[k]]$is_tested
  }
  tests <- vapply(compared, function(result) sum(result$is_named), numeric(1))
  is_across <<- !(nzchar(primary) && primary %in% known) && sum(tests > 0) > 1
  choices <- vapply(compared, function(result) result$criterion$choice, character(1))
  for (k in seq_along(compared)) {
    result <- compared[[k]]
    if (!result$is_tested) next
    companions <- setdiff(which(is_across | (choices == choices[k] & nzchar(choices[k]))), k)
    family <- tests[k] + sum(tests[companions])
    for (column in c("p", "p_ordinal")) {
      p <- take_p(result$pairs, column)
      beside <- unlist(lapply(compared[companions], function(other) {
        take_p(other$pairs, column)[other$is_named]
      }))
      tested <- which(!is.na(p))
      every <- p.adjust(c(p[tested], beside), "holm")[seq_along(tested)]
      named <- result$is_named[tested]
      every[named] <- p.adjust(c(p[tested][named], beside), "holm")[seq_len(sum(named))]
      for (m in seq_along(tested)) {
        pair <- result$pairs[[tested[m]]]
        if (column == "p") {
          pair$family <- family + (if (named[m]) 0 else length(tested) - sum(named))
        }
        if (!is.null(pair[[column]])) pair[[paste0(column, "_corrected")]] <- every[m]
        compared[[k]]$pairs[[tested[m]]] <- result$pairs[[tested[m]]] <- pair
      }
    }
    if (!is_across && tests[k] > 0) {
      note(result$criterion$key, ": p corrected over ", family,
           if (family == 1) " comparison" else " comparisons", ", as in the report.")
    }
    for (pair in result$pairs) {
      p <- c(pair$p_corrected, pair$p_ordinal_corrected)
      if (length(p) == 2 && min(p) < .05 && max(p) > .1) {
        note(result$criterion$key, ": the ordinal model disagrees about ", pair$first, " and ",
             pair$second, ".")
      }
    }
  }
  if (is_across) {
    counts <- tests[tests > 0]
    each <- if (length(unique(counts)) == 1) paste0(length(counts), " criteria \u00d7 ", counts[1],
                                                    " pairs")
            else paste(length(counts), "criteria")
    note("p corrected over ", sum(counts), " comparisons (", each, "), as in the report.")
  }
  compared
}

find_bounds <- function(criterion) {
  if (criterion$family == "magnitude") return(c(1e-6, 1e6))
  if (criterion$family %in% c("decision", "preference")) return(c(-1, 1))
  if (is.null(criterion$ends)) NULL else c(-1, 1) * diff(criterion$ends)
}

# The row of a pair, with the better system first, or the baseline second.
finish_pair <- function(result, pair) {
  criterion <- result$criterion
  compares <- criterion$family == "preference"
  is_log <- criterion$family == "magnitude"
  has_baseline <- baseline %in% list_names(criterion)
  sides <- if (compares) c(pair$first, pair$second) else c(pair$second, pair$first)
  ahead <- if (criterion$better == "lower") -1 else 1
  turned <- if (compares) pair$first == baseline || (!has_baseline && pair$losses > pair$wins)
            else !has_baseline && ahead * (pair$estimate %or% 0) < 0
  if (turned) sides <- rev(sides)
  sign <- if (turned) -1 else 1
  row <- c(pair, list(criterion = criterion$key, system_1 = sides[1], system_2 = sides[2],
    effect = if (is_log) "ratio" else if (compares) "net_win_share"
             else if (criterion$family == "decision") "risk_difference" else "difference"))
  if (is.null(pair$estimate)) return(c(row, list(verdict = "undefined")))
  row$estimate <- sign * pair$estimate
  ends <- c(NA, NA)
  if (!is.null(pair$df)) {
    ends <- row$estimate + c(-1, 1) * qt(.975, pair$df) * pair$se
    if (is_log) ends <- exp(ends)
    ends <- cut_ends(ends, find_bounds(criterion))
    row$t <- sign * pair$t
    if (isTRUE(pair$is_by_model) && criterion$family %in% c("points", "turns", "penalties", "edits")) {
      total <- sqrt(sum(result$variances))
      row$d <- row$estimate / total
      row[c("d_low", "d_high")] <- ends / total
    }
  }
  if (is_log) row$estimate <- exp(row$estimate)
  row$low <- ends[1]
  row$high <- ends[2]
  if (!result$is_tested) {
    row[c("p", "t", "p_corrected", "family")] <- NULL
    return(c(row, list(verdict = "by_one_rater")))
  }
  is_clear <- (row$p_corrected %or% 1) < .05
  c(row, list(verdict = if (!is_clear) "not_enough"
                        else if (row$estimate > is_log) "higher" else "lower"))
}

# --- margins ------------------------------------------------------------------------------------

# Whether a margin is above 0 and small enough to be missed.
is_margin <- function(criterion, planned) {
  margin <- planned$margin
  if (criterion$family == "magnitude") return(margin > 1 && margin <= 2)
  most <- if (criterion$family %in% c("decision", "preference")) .5
          else if (length(criterion$ends) && is.finite(criterion$ends[2])) diff(criterion$ends) / 2 else sd(criterion$rows$value)
  margin > 0 && (margin < most || most == 0)
}

# System minus other, where that is the same in every rating, and whether 3 raters and 10 inputs or
# more show it; NULL where it varies.
find_exact <- function(criterion, system, other) {
  d <- criterion$rows
  sides <- c(system, other)
  has_persons <- all(d$person != "no")
  if (criterion$family == "preference") {
    d <- d[d$outcome != "" & d$system_1 %in% sides & d$system_2 %in% sides, ]
    y <- unname(c("1" = 1, tie = 0, "2" = -1)[d$outcome])
    y <- ifelse(d$system_1 == system, y, -y)
    if (length(unique(y)) != 1) return(NULL)
    parts <- list(d)
    value <- y[1]
  } else {
    d$y <- take_values(criterion)
    d <- d[d$system %in% sides, ]
    parts <- split(d, d$system)
    if (length(parts) < 2) return(NULL)
    value <- 0
    if (length(unique(d$y)) > 1) {
      least <- 1e-4 * sqrt(mean((d$y - mean(d$y))^2))
      cells <- list(paste(if (has_persons) d$participant else "", d$group, sep = "\r"), d$system)
      means <- tapply(d$y, cells, mean)
      if (anyNA(means) || max(tapply(d$y, cells, function(y) diff(range(y)))) > least) return(NULL)
      apart <- means[, system] - means[, other]
      if (sqrt(mean((apart - mean(apart))^2)) > least) return(NULL)
      value <- round(mean(apart), 9)
    }
  }
  is_enough <- has_persons && all(vapply(parts, function(part) {
    length(unique(part$participant)) >= 3 && length(unique(part$group)) >= 10
  }, NA))
  list(value = value, is_enough = is_enough)
}

judge_margin <- function(result, planned) {
  criterion <- result$criterion
  pair <- Filter(function(pair) setequal(c(pair$first, pair$second),
                                         c(planned$system, planned$other)), result$pairs)
  if (criterion$better == "none" && planned$relation == "not_worse") return(list())
  margin <- if (criterion$family == "magnitude") log(planned$margin) else planned$margin
  ahead <- if (criterion$better == "lower") -1 else 1
  compares <- criterion$family == "preference"
  exact <- find_exact(criterion, planned$system, planned$other)
  if (!is.null(exact) && (length(pair) || !compares)) {
    inside <- ahead * exact$value + margin
    if (planned$relation == "equivalent") inside <- min(inside, margin - ahead * exact$value)
    is_open <- abs(inside) <= 1e-9 || !exact$is_enough
    return(list(outcome = if (is_open) "undecided" else if (inside > 0) "pass" else "fail"))
  }
  if (!length(pair) || is.null(pair[[1]]$df)) return(list())
  pair <- pair[[1]]
  # a difference is second minus first, a net share the first's
  sign <- if ((pair$first == planned$system) != compares) -ahead else ahead
  estimate <- sign * pair$estimate
  level <- planned$level %or% .05
  reach <- qt(.95, pair$df) * pair$se
  end <- qt(1 - level, pair$df) * pair$se
  p <- pt((estimate + margin) / pair$se, pair$df, lower.tail = FALSE)
  is_beyond <- estimate + end < -margin
  if (planned$relation == "equivalent") {
    p <- max(p, pt((estimate - margin) / pair$se, pair$df))
    is_beyond <- is_beyond || estimate - end > margin
  }
  p_fail <- pt((estimate + margin) / pair$se, pair$df)
  list(p_fail = p_fail, low90 = estimate - reach, high90 = estimate + reach, p = p, level = level,
       outcome = if (p < level) "pass" else if (is_beyond) "fail" else "undecided")
}

# Of each column that divides the inputs of a margin the value of each item: of an input, or of what
# else the uploaded file held.
read_slices <- function(path) {
  named <- unique(unlist(lapply(plan$margins %or% list(), function(entry) entry$slices)))
  if (!length(named) || !file.exists(path)) return(list())
  items <- read_table(path)
  items <- items[!duplicated(items$item), ]
  cells <- lapply(named, function(name) {
    if (!is.null(items[[name]])) return(setNames(items[[name]], items$item))
    setNames(vapply(items$extra, function(text) {
      extra <- if (nzchar(text)) jsonlite::fromJSON(text, simplifyVector = FALSE)
      as.character(extra[[name]] %or% "")
    }, character(1)), items$item)
  })
  setNames(cells, named)
}

# The slices with 20 inputs or more in which the system is clearly worse by more than the margin, p
# corrected over slices; "-" for none of them. Such a slice makes the outcome fail.
find_failing <- function(result, planned) {
  d <- result$criterion$rows
  values <- trimws(slices[[planned$slices]][d$item])
  values[is.na(values)] <- ""
  # an input whose items are in several slices is in none
  several <- tapply(values, d$group, function(cells) length(unique(cells)) > 1)
  values[several[d$group]] <- ""
  sides <- c(planned$system, planned$other)
  is_pair <- if (result$criterion$family == "preference") {
    d$system_1 %in% sides & d$system_2 %in% sides
  } else d$system %in% sides
  kept <- list(notes = notes, baseline = baseline, has_own_errors = has_own_errors)
  # of two systems, whatever the plan says of all
  baseline <<- ""
  has_own_errors <<- FALSE
  has_persons <- all(d$person != "no")
  p <- list()
  failing <- character(0)
  for (name in sorted(values[is_pair])) {
    part <- result$criterion
    part$rows <- d[is_pair & values == name, ]
    part$has_points <- FALSE
    has_one_rater <- has_persons && length(unique(part$rows$participant)) < 2
    if (length(unique(part$rows$group)) < 20 || has_one_rater) next
    row <- suppressMessages(judge_margin(compare_criterion(part), planned))
    p[[name]] <- row$p_fail
    if (is.null(row$p_fail) && identical(row$outcome, "fail")) failing <- c(failing, name)
  }
  for (name in names(kept)) assign(name, kept[[name]], envir = globalenv())
  p <- p.adjust(unlist(p), "holm")
  failing <- sorted(c(failing, names(p)[p < (planned$level %or% .05)]))
  if (length(failing)) paste(failing, collapse = "; ") else "-"
}

# The planned tests against a margin, corrected as the comparisons are.
judge_margins <- function(compared) {
  tests <- lapply(compared, function(result) {
    key <- result$criterion$key
    planned <- Filter(function(entry) entry$criterion == key, plan$margins %or% list())
    if (!result$is_tested) return(list())
    lapply(planned, function(entry) {
      row <- if (is_margin(result$criterion, entry)) judge_margin(result, entry) else list()
      is_sliced <- entry$relation == "not_worse" && (entry$slices %or% "") %in% names(slices)
      is_sliced <- is_sliced && result$criterion$better != "none"
      if (is_sliced && is_margin(result$criterion, entry)) {
        row$fails_in <- find_failing(result, entry)
      }
      c(entry[c("criterion", "system", "other", "relation", "margin")], row)
    })
  })
  families <- if (is_across) list(do.call(c, tests)) else tests
  tests <- do.call(c, lapply(families, function(family) {
    tested <- which(vapply(family, function(row) !is.null(row$p), logical(1)))
    if (length(tested) < 2) return(family)
    p <- p.adjust(vapply(family[tested], function(row) row$p, numeric(1)), "holm")
    for (k in seq_along(tested)) {
      row <- family[[tested[k]]]
      row$p_corrected <- p[k]
      if (row$outcome == "pass" && p[k] >= row$level) row$outcome <- "undecided"
      family[[tested[k]]] <- row
    }
    family
  }))
  lapply(tests, function(row) {
    if ((row$fails_in %or% "-") != "-") row$outcome <- "fail"
    row
  })
}

# --- agreement ----------------------------------------------------------------------------------

# Coefficients by their definitions; their intervals are in analysis.py.
agree <- function(criterion) {
  d <- criterion$rows
  y <- d$value
  if (criterion$family == "preference") {
    names <- c("alpha_nominal", "alpha_ordinal", "ac1", "percent_agreement")
    y <- c("1" = -1, tie = 0, "2" = 1)[d$outcome]
    scale <- c(-1, 0, 1)
  } else if (criterion$family == "decision") {
    names <- c("alpha_nominal", "ac1", "percent_agreement")
    scale <- c(0, 1)
  } else if (criterion$has_points && length(criterion$ends)) {
    names <- c("alpha_ordinal", "ac2", "percent_agreement", "within_1", "alpha_interval")
    scale <- seq(criterion$ends[1], criterion$ends[2])
  } else if (criterion$family == "magnitude") {
    names <- "alpha_log"
    standard <- as.numeric(d$standard)
    y <- log(y / (if (anyNA(standard)) 1 else standard))
    scale <- sort(unique(y))
  } else {
    names <- "alpha_interval"
    scale <- sort(unique(y))
  }
  unit <- code(d$output)
  counts <- matrix(0, max(unit), length(scale))
  at <- cbind(unit, match(y, scale))
  for (k in seq_len(nrow(at))) counts[at[k, , drop = FALSE]] <- counts[at[k, , drop = FALSE]] + 1
  lapply(names, function(name) {
    value <- describe_agreement(name, counts, scale)
    list(criterion = criterion$key, coefficient = name, value = if (is.finite(value)) value else NA)
  })
}

describe_agreement <- function(name, counts, scale) {
  size <- rowSums(counts)
  shared <- counts[size > 1, , drop = FALSE]
  if (!nrow(shared)) return(NA)
  m <- rowSums(shared)
  total <- colSums(shared)
  k <- length(scale)
  if (startsWith(name, "alpha")) {
    place <- if (name == "alpha_ordinal") cumsum(total) - total / 2 else scale
    apart <- if (name == "alpha_nominal") 1 - diag(k) else outer(place, place, "-")^2
    seen <- sum(rowSums(shared * (shared %*% apart)) / (m - 1))
    return(1 - (sum(total) - 1) * seen / sum(total * (apart %*% total)))
  }
  apart <- abs(outer(seq_len(k), seq_len(k), "-"))
  weight <- switch(name, ac2 = 1 - (apart / (k - 1))^2, within_1 = (apart <= 1) + 0, diag(k))
  if (name %in% c("ac1", "ac2") && sum(total > 0) < 2) return(NA)
  seen <- mean(rowSums(shared * (shared %*% weight - 1)) / (m * (m - 1)))
  if (!(name %in% c("ac1", "ac2"))) return(seen)
  share <- colMeans(counts / size)
  chance <- sum(weight) / (k * (k - 1)) * sum(share * (1 - share))
  (seen - chance) / (1 - chance)
}

# --- all criteria -------------------------------------------------------------------------------

is_across <- FALSE
criteria <- list_criteria(read_ratings(path))
compared <- lapply(criteria, function(criterion) {
  message(criterion$key, " ...") # the ordinal check may take minutes
  compare_criterion(criterion)
})
compared <- correct_all(compared)
slices <- read_slices(file.path(dirname(path), "items.csv"))

as_rows <- function(lists, names) {
  cells <- lapply(names, function(name) {
    unlist(lapply(lists, function(row) row[[name]] %or% NA))
  })
  as.data.frame(setNames(cells, names), stringsAsFactors = FALSE)
}
margins <- judge_margins(compared)
tables <- list(
  systems = do.call(c, lapply(compared, function(result) {
    lapply(seq_len(nrow(result$systems)), function(k) {
      c(list(criterion = result$criterion$key), as.list(result$systems[k, ]))
    })
  })),
  pairs = do.call(c, lapply(compared, function(result) {
    lapply(result$pairs, finish_pair, result = result)
  })),
  joint_tests = lapply(Filter(function(result) !is.null(result$joint), compared), function(result) {
    c(list(criterion = result$criterion$key), as.list(result$joint))
  }),
  variances = do.call(c, lapply(compared, function(result) {
    # a preference has each effect twice, once for each of its systems
    times <- if (result$criterion$family == "preference") 2 else 1
    parts <- result$variances * ifelse(names(result$variances) == "residual", 1, times)
    lapply(names(result$variances), function(name) {
      list(criterion = result$criterion$key, term = name, variance = result$variances[[name]],
           share = parts[[name]] / sum(parts))
    })
  })),
  margins = margins,
  agreement = do.call(c, lapply(criteria, agree))
)

# In UTF-8 whatever the locale.
write_lines <- function(lines, name) {
  writeLines(enc2utf8(lines), file.path(folder, name), useBytes = TRUE)
}
quote_cell <- function(cell) {
  text <- if (is.numeric(cell)) format(cell, digits = 15, trim = TRUE, scientific = NA)
          else ifelse(grepl("[\",\r\n]", cell), paste0("\"", gsub("\"", "\"\"", cell), "\""), cell)
  ifelse(is.na(cell), "", text)
}
dir.create(folder, showWarnings = FALSE, recursive = TRUE)
options(width = 160)
for (name in names(columns)) {
  table <- as_rows(tables[[name]], columns[[name]])
  lines <- if (nrow(table)) do.call(paste, c(lapply(table, function(entry) {
    vapply(entry, quote_cell, character(1), USE.NAMES = FALSE)
  }), sep = ","))
  write_lines(c(paste(columns[[name]], collapse = ","), lines), paste0(name, ".csv"))
  if (nrow(table)) {
    cat("\n", name, "\n", sep = "")
    print(table, digits = 4, row.names = FALSE)
  }
}
note(paste("R", getRversion()), paste0(", ", vapply(needed, function(name) {
  paste(name, packageVersion(name))
}, character(1)), collapse = ""))
write_lines(notes, "notes.txt")
