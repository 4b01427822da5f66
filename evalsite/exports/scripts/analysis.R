# The main tables of a study, from its ratings.csv, in R.
#
#   Rscript analysis.R [ratings.csv] [folder for the tables]
#
# Needs lme4, pbkrtest, ordinal and emmeans. On Debian and Ubuntu:
#   apt-get install r-base-core r-cran-lme4 r-cran-pbkrtest r-cran-ordinal r-cran-emmeans
# elsewhere: install.packages(c("lme4", "pbkrtest", "ordinal", "emmeans"))
#
# It writes systems.csv (one row for each criterion and system) and pairs.csv (one row for each
# criterion and two systems), prints both, and says in notes.txt which model was used and what to
# be careful about.
#
# Where the results pages of Evalsite compare systems by a mixed model, they show the numbers of this
# script: the means of systems, their differences and ratios. analysis.py counts every rating once.
#
# The models. Items and raters are both samples, so a difference between systems must hold beyond
# these items and these people: a rating depends on its system, its input (`group`), its rater,
# and on how this system does on this input and with this rater. The item factor is the group,
# not the item: all outputs for one input share what makes the input hard.
#   value ~ system + (1 | group) + (1 | participant) + (1 | group:system) + (1 | participant:system)
#   and (1 | participant:group) where people often rate several outputs for one input; with clusters
#   also (1 | cluster) + (1 | cluster:system). Errors and degrees of freedom by Kenward and Roger.
# Likert: means, and a cumulative-link mixed model as a check, since the points are only ordered.
# Numbers of another kind, such as those of a slider: means.
# Magnitudes: log(value / standard); a difference of logs is a ratio. Decisions: shares,
# by the same linear model, whose intervals may pass 0 or 1 where a share is near them.
# Preferences: wins, ties and losses, with intervals from a bootstrap over items and raters; for
# more than two systems Davidson's (1970) model with ties and a term for the first place.
#   For two systems their share says all. In systems.csv `mean` is then the win share with ties as
#   half, and `estimate` Davidson's strength, a log odds that sums to zero over the systems.
# Where analysis-plan.json beside this script names a baseline, each system is compared with it
# alone, and it stands second; else every two systems are compared.
# p values are corrected within a criterion, over these comparisons, by Holm's method; the results
# pages correct across all criteria where the plan names no primary one. A difference that is not
# significant is not shown to be zero.

arguments <- commandArgs(trailingOnly = TRUE)
path <- if (length(arguments) >= 1) arguments[1] else file.path("data", "ratings.csv")
folder <- if (length(arguments) >= 2) arguments[2] else "."
draws <- 2000        # of the bootstrap
seed <- 1
# With more ratings the check of Likert scales takes very long and is left out; MOST_ORDINAL=0 in
# the environment leaves it out always.
most_ordinal <- as.integer(Sys.getenv("MOST_ORDINAL", "5000"))

needed <- c("lme4", "pbkrtest", "ordinal", "emmeans")
missing <- needed[!vapply(needed, requireNamespace, logical(1), quietly = TRUE)]
if (length(missing)) stop("Install these packages first: ", paste(missing, collapse = ", "))

notes <- character(0)
note <- function(...) notes <<- c(notes, paste0(...))

# --- the analysis plan --------------------------------------------------------------------------

# The text of a JSON string, which holds no end of line.
unescape <- function(text) {
  marks <- gregexpr("\\\\(u[0-9a-fA-F]{4}|.)", text)
  plain <- function(one) {
    switch(substr(one, 2, 2), n = "\n", t = "\t", r = "\r", b = "\b", f = "\f",
           u = intToUtf8(strtoi(substr(one, 3, 6), 16L)), substr(one, 2, 2))
  }
  regmatches(text, marks) <- lapply(regmatches(text, marks), vapply, plain, character(1))
  text
}

# The system that the plan compares all others with; "" for every two systems.
read_baseline <- function() {
  script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
  # R writes a space in this path so
  plan <- file.path(dirname(gsub("~+~", " ", script, fixed = TRUE)), "analysis-plan.json")
  if (!length(plan) || !file.exists(plan)) return("")
  text <- paste(readLines(plan, encoding = "UTF-8", warn = FALSE), collapse = "\n")
  # within a string of JSON a quote has a backslash: only the plan's own key is found
  pattern <- "\"baseline\"\\s*:\\s*\"((?:[^\"\\\\]|\\\\.)*)\""
  found <- regmatches(text, regexec(pattern, text, perl = TRUE))[[1]]
  if (length(found)) unescape(found[2]) else ""
}

baseline <- read_baseline()
if (nzchar(baseline)) {
  note("Each system is compared with the baseline ", baseline, " alone, as the analysis plan says.")
}

# Whether this criterion is compared with the baseline: only if somebody rated it.
has_baseline <- function(systems, criterion) {
  if (nzchar(baseline) && !(baseline %in% systems)) {
    note(criterion, ": the baseline ", baseline, " has no ratings here, so every two systems are ",
         "compared.")
  }
  baseline %in% systems
}

# --- reading ------------------------------------------------------------------------------------

if (!file.exists(path)) stop("There is no file ", path, ". Name ratings.csv after the script.")
# every cell as text: ids such as 007 or NA stay as they are
ratings <- read.csv(path, colClasses = "character", na.strings = character(0),
                    check.names = FALSE, encoding = "UTF-8")
ratings <- ratings[ratings$kind == "main" & ratings$status == "counted", ]
left_out <- length(unique(ratings$annotation[ratings$excluded == "yes"]))
if (left_out) note(left_out, " annotations are left out by the researchers' decisions.")
ratings <- ratings[ratings$excluded == "no", ]
if (!nrow(ratings)) stop("The file has no counted ratings of main items.")
if ("turn" %in% names(ratings)) {
  # an option has a place only: its turns have no mean
  has_mean <- ratings$scale %in% c("likert", "slider", "number", "decision") & ratings$value != ""
  if ("part" %in% names(ratings)) has_mean <- has_mean & ratings$part == ""
  gone <- ratings$turn != "" & !has_mean
  if (any(gone)) {
    note(sum(gone), " ratings of turns of conversations are left out: answers of this kind have ",
         "no mean. The results pages have their shares.")
  }
  ratings <- ratings[!gone, ]
  if (!nrow(ratings)) stop("No other ratings are in the file.")
  of_turns <- ratings$turn != ""
  if (any(of_turns)) {
    note(sum(of_turns), " ratings of turns: each person's mean of a conversation counts once.")
    same <- do.call(paste, c(ratings[c("annotation", "participant", "item", "output_id",
                                       "criterion")], sep = "\r"))
    ratings$value[of_turns] <- ave(as.numeric(ratings$value[of_turns]), same[of_turns])
    ratings$scale[of_turns] <- "turns"
    ratings <- ratings[!of_turns | !duplicated(ifelse(of_turns, same, seq_along(same))), ]
  }
}
for (origin in c("simulated", "imported")) {
  n <- sum(ratings$origin == origin)
  if (n) note(n, " of ", nrow(ratings), " ratings are ", origin, ".")
}
ratings$value <- as.numeric(ratings$value)
# an answer may have no number: not applicable, or words
ratings <- ratings[!is.na(ratings$value), ]
# what is drawn anew as a whole: the cluster where the study has clusters, else the group
ratings$unit <- ifelse(ratings$cluster == "", paste("group", ratings$group),
                       paste("cluster", ratings$cluster))
has_persons <- all(ratings$person == "yes")
if (!has_persons) {
  note("The raters of this file are not single persons, so nothing is said about raters: results ",
       "hold for these raters, over items.")
} else if (length(unique(ratings$participant)) < 5) {
  note("Fewer than 5 raters: intervals are wide, because so few people say little about others.")
}

# --- values per output: Likert, magnitude, decision ---------------------------------------------

# A factor joins the model if it has several levels, and fewer than there are ratings.
is_usable <- function(factor) nlevels(factor) > 1 && nlevels(factor) < length(factor)

random_terms <- function(d) {
  wanted <- "group"
  # with one rating for each output the group:system term and the residual are the same
  if (max(table(d$output_id)) > 1) wanted <- c(wanted, "group_system")
  if (any(d$cluster != "")) wanted <- c(wanted, "unit", "unit_system")
  if (has_persons) {
    wanted <- c(wanted, "participant", "participant_system")
    # few repeats of a person and an input leave this variance unknown
    if (1 - length(unique(paste(d$participant, d$group, sep = "\r"))) / nrow(d) >= .2) {
      wanted <- c(wanted, "participant_group")
    }
  }
  wanted[vapply(d[wanted], is_usable, logical(1))]
}

make_factors <- function(d) {
  d$system <- factor(d$system, levels = sort(unique(d$system), method = "radix"))
  for (name in c("group", "participant", "unit")) d[[name]] <- factor(d[[name]])
  d$group_system <- interaction(d$group, d$system, drop = TRUE)
  d$unit_system <- interaction(d$unit, d$system, drop = TRUE)
  d$participant_system <- interaction(d$participant, d$system, drop = TRUE)
  d$participant_group <- interaction(d$participant, d$group, drop = TRUE)
  d
}

write_formula <- function(response, terms) {
  right <- c("system", if (length(terms)) paste0("(1 | ", terms, ")"))
  as.formula(paste(response, "~", paste(right, collapse = " + ")))
}

fit_mixed <- function(d, criterion) {
  terms <- random_terms(d)
  form <- write_formula("y", terms)
  note(criterion, ": ", paste(deparse(form, width.cutoff = 500), collapse = ""), ", REML, ",
       "Kenward and Roger's errors and degrees of freedom.")
  if (!length(terms)) return(lm(form, data = d))
  model <- suppressMessages(lme4::lmer(form, data = d))
  if (lme4::isSingular(model)) {
    note(criterion, ": at least one variance is estimated as 0, which is a valid answer.")
  }
  model
}

compare_systems <- function(model, d) {
  means <- tryCatch(
    emmeans::emmeans(model, "system", lmer.df = "kenward-roger", pbkrtest.limit = nrow(d)),
    error = function(problem) {
      note("Kenward and Roger's errors can't be computed from so few ratings; errors are asymptotic.")
      emmeans::emmeans(model, "system", lmer.df = "asymptotic")
    }
  )
  found <- list(means = as.data.frame(summary(means, infer = c(TRUE, FALSE))))
  if (nlevels(d$system) > 1) {
    differences <- emmeans::contrast(means, "pairwise", adjust = "none")
    found$pairs <- as.data.frame(summary(differences, infer = c(TRUE, TRUE)))
  }
  found
}

# The columns are lower.CL and upper.CL, or asymp.LCL and asymp.UCL, by the kind of model.
bounds <- function(table) {
  low <- intersect(c("lower.CL", "asymp.LCL"), names(table))
  high <- intersect(c("upper.CL", "asymp.UCL"), names(table))
  list(low = table[[low]], high = table[[high]])
}

# p values of a cumulative-link mixed model, uncorrected; NULL where it cannot be fitted.
check_ordinal <- function(d, criterion) {
  if (nrow(d) > most_ordinal) {
    note(criterion, ": no ordinal check, since there are more than ", most_ordinal, " ratings.")
    return(NULL)
  }
  d$point <- factor(d$value, ordered = TRUE)
  if (nlevels(d$point) < 3) {
    note(criterion, ": no ordinal check, since fewer than three points were used.")
    return(NULL)
  }
  terms <- random_terms(d)
  form <- write_formula("point", terms)
  warned <- character(0)
  p <- tryCatch(
    withCallingHandlers({
      model <- if (length(terms)) ordinal::clmm(form, data = d) else ordinal::clm(form, data = d)
      means <- emmeans::emmeans(model, "system")
      differences <- emmeans::contrast(means, "pairwise", adjust = "none")
      as.data.frame(summary(differences))$p.value
    },
      warning = function(problem) {
        warned <<- union(warned, conditionMessage(problem))
        invokeRestart("muffleWarning")
      }
    ),
    error = function(problem) {
      note(criterion, ": the ordinal check failed (", conditionMessage(problem), ").")
      NULL
    }
  )
  if (length(warned)) {
    note(criterion, ": the ordinal check warns: ", paste(warned, collapse = "; "), ".")
  }
  if (is.null(p)) return(NULL)
  if (anyNA(p)) {
    note(criterion, ": the ordinal check gives no standard errors.")
    return(NULL)
  }
  p
}

describe_system <- function(d, scale) {
  values <- d$value
  row <- data.frame(n = length(values), mean = mean(values), median = median(values))
  row$geometric_mean <- if (scale == "magnitude") exp(mean(log(values))) else NA
  row$points <- if (scale == "likert") {
    counts <- table(factor(values, levels = seq(as.integer(d$scale_min[1]),
                                                as.integer(d$scale_max[1]))))
    paste(names(counts), counts, sep = ":", collapse = " ")
  } else ""
  row
}

analyse_values <- function(d, criterion, scale) {
  # outputs of no system belong to practice; main items have none
  d <- make_factors(d[d$system != "", ])
  d$y <- if (scale == "magnitude") as.numeric(d$log_ratio) else d$value
  if (length(unique(d$y)) < 2) {
    note(criterion, ": all ratings are equal, so there is nothing to compare.")
  }
  systems <- do.call(rbind, lapply(split(d, d$system), describe_system, scale = scale))
  systems <- data.frame(criterion = criterion, system = rownames(systems), systems,
                        estimate = NA, low = NA, high = NA)
  rownames(systems) <- NULL
  if (length(unique(d$y)) < 2 || nlevels(d$system) < 2) return(list(systems = systems))
  found <- compare_systems(fit_mixed(d, criterion), d)
  back <- if (scale == "magnitude") exp else identity
  systems$estimate <- back(found$means$emmean)
  systems$low <- back(bounds(found$means)$low)
  systems$high <- back(bounds(found$means)$high)
  names <- combn(levels(d$system), 2)
  is_with <- has_baseline(levels(d$system), criterion)
  kept <- which(!is_with | names[1, ] == baseline | names[2, ] == baseline)
  turned <- is_with & names[1, kept] == baseline
  one <- found$pairs[kept, ]
  ends <- bounds(one)
  pairs <- data.frame(
    criterion = criterion, system_1 = ifelse(turned, names[2, kept], names[1, kept]),
    system_2 = ifelse(turned, baseline, names[2, kept]),
    effect = if (scale == "magnitude") "ratio" else "difference",
    estimate = back(ifelse(turned, -one$estimate, one$estimate)),
    low = back(ifelse(turned, -ends$high, ends$low)),
    high = back(ifelse(turned, -ends$low, ends$high)), df = one$df, p = one$p.value,
    p_holm = p.adjust(one$p.value, "holm"), p_ordinal_holm = NA,
    wins = NA, ties = NA, losses = NA
  )
  if (scale == "likert") {
    p <- check_ordinal(d, criterion)
    if (!is.null(p)) pairs$p_ordinal_holm <- p.adjust(p[kept], "holm")
    apart <- which((pairs$p_holm < .05) != (pairs$p_ordinal_holm < .05))
    for (k in apart) {
      note(criterion, ": the two models disagree about ", pairs$system_1[k], " and ",
           pairs$system_2[k], ". Look at the distributions before you say anything.")
    }
  }
  list(systems = systems, pairs = pairs)
}

# --- preferences --------------------------------------------------------------------------------

# Weights of the ratings in each draw: items and raters are drawn anew, each with replacement, and
# a rating weighs the product (Owen's pigeonhole bootstrap).
draw_weights <- function(d) {
  draw <- function(names) {
    levels <- unique(names)
    counts <- rmultinom(draws, length(levels), rep(1, length(levels)))
    counts[match(names, levels), , drop = FALSE]
  }
  weights <- draw(d$unit)
  if (has_persons) weights <- weights * draw(d$participant)
  weights
}

compare_pair <- function(d, criterion) {
  sign <- ifelse(d$outcome == "1", 1, ifelse(d$outcome == "2", -1, 0))
  sides <- c(d$system_1[1], d$system_2[1])
  if (sides[1] == baseline) {
    sides <- rev(sides)
    sign <- -sign
  }
  weights <- draw_weights(d)
  nets <- colSums(weights * sign) / colSums(weights)
  interval <- quantile(nets[is.finite(nets)], c(.025, .975), names = FALSE)
  majority <- vapply(split(sign, d$item), function(one) sign(sum(one)), numeric(1))
  decided <- majority[majority != 0]
  p <- if (length(decided)) binom.test(sum(decided > 0), length(decided))$p.value else 1
  data.frame(
    criterion = criterion, system_1 = sides[1], system_2 = sides[2],
    effect = "net win share", estimate = mean(sign), low = interval[1], high = interval[2],
    df = NA, p = p, p_holm = NA, p_ordinal_holm = NA,
    wins = sum(sign > 0), ties = sum(sign == 0), losses = sum(sign < 0)
  )
}

# Davidson's model as a log-linear one: for each pair, wins of either and ties are counts.
fit_davidson <- function(d, criterion) {
  names <- sort(unique(c(d$system_1, d$system_2)), method = "radix")
  first <- ifelse(d$shown_first == d$system_1, 1, ifelse(d$shown_first == d$system_2, 2, 0))
  cells <- as.data.frame(table(pair = paste(d$system_1, d$system_2, first, sep = "\r"),
                               outcome = factor(d$outcome, levels = c("1", "tie", "2"))))
  parts <- do.call(rbind, strsplit(as.character(cells$pair), "\r", fixed = TRUE))
  share <- ifelse(cells$outcome == "1", 1, ifelse(cells$outcome == "2", 0, .5))
  strengths <- sapply(names, function(name) {
    (parts[, 1] == name) * share + (parts[, 2] == name) * (1 - share)
  })
  tie <- as.numeric(cells$outcome == "tie")
  place <- ifelse(tie == 1 | parts[, 3] == "0", 0,
                  ifelse((cells$outcome == "1") == (parts[, 3] == "1"), .5, -.5))
  chosen <- strengths[, -1, drop = FALSE]
  model <- glm(cells$Freq ~ factor(cells$pair) + chosen + tie + place, family = poisson())
  if (!model$converged || max(abs(coef(model)), na.rm = TRUE) > 15) {
    note(criterion, ": Davidson's model has no finite answer; some system always wins or always ",
         "loses.")
    return(rep(NA, length(names)))
  }
  found <- c(0, coef(model)[paste0("chosen", names[-1])])
  note(criterion, ": Davidson's model; log odds of the first place ",
       format(coef(model)[["place"]], digits = 3), ", ties ",
       format(coef(model)[["tie"]], digits = 3), ".")
  found - mean(found)
}

analyse_preferences <- function(d, criterion) {
  names <- sort(unique(c(d$system_1, d$system_2)), method = "radix")
  if (length(unique(d$outcome)) < 2) {
    note(criterion, ": all outcomes are equal, so intervals have no width.")
  }
  note(criterion, ": net win share with the percentile interval of ", draws,
       " draws over ", if (has_persons) "items and raters" else "items", ", seed ", seed,
       "; p of the exact sign test on the majority of each item, which holds over items.")
  compared <- d
  if (has_baseline(names, criterion)) {
    compared <- d[d$system_1 == baseline | d$system_2 == baseline, ]
  }
  pairs <- do.call(rbind, lapply(split(compared, paste(compared$system_1, compared$system_2,
                                                       sep = "\r")),
                                 compare_pair, criterion = criterion))
  rownames(pairs) <- NULL
  pairs$p_holm <- p.adjust(pairs$p, "holm")
  points <- sapply(names, function(name) {
    mine <- (d$system_1 == name | d$system_2 == name)
    won <- ifelse(d$outcome == "tie", .5, as.numeric(d$preferred == name))
    c(n = sum(mine), mean = mean(won[mine]))
  })
  strengths <- if (length(names) > 2) fit_davidson(d, criterion) else rep(NA, length(names))
  systems <- data.frame(criterion = criterion, system = names, n = points["n", ],
                        mean = points["mean", ], median = NA, geometric_mean = NA, points = "",
                        estimate = strengths, low = NA, high = NA)
  rownames(systems) <- NULL
  list(systems = systems, pairs = pairs)
}

# --- all criteria -------------------------------------------------------------------------------

set.seed(seed)
results <- lapply(unique(ratings$criterion), function(criterion) {
  message(criterion, " ...") # the ordinal check may take minutes
  d <- ratings[ratings$criterion == criterion, ]
  # a kind of question that this script doesn't know is analysed by what its rows hold
  scale <- if (all(d$outcome != "")) "preference"
           else if (all(d$log_ratio != "")) "magnitude"
           else d$scale[1]
  if (scale == "preference") analyse_preferences(d, criterion)
  else analyse_values(d, criterion, scale)
})
systems <- do.call(rbind, lapply(results, function(one) one$systems))
pairs <- do.call(rbind, lapply(results, function(one) one$pairs))

dir.create(folder, showWarnings = FALSE, recursive = TRUE)
write.csv(systems, file.path(folder, "systems.csv"), row.names = FALSE, na = "")
if (!is.null(pairs)) write.csv(pairs, file.path(folder, "pairs.csv"), row.names = FALSE, na = "")
notes <- c(notes, paste("R", getRversion()),
           vapply(needed, function(name) paste(name, packageVersion(name)), character(1)))
writeLines(notes, file.path(folder, "notes.txt"))

options(width = 160)
print(systems, digits = 4, row.names = FALSE)
if (!is.null(pairs)) print(pairs, digits = 4, row.names = FALSE)
cat(paste0(notes, "\n"), sep = "")
