# Functions whose names can be checked: each one called rNUMBER and letters is called by the one with a letter less.
# usage: stress.R ordinary|hostile. Ends with its input; with code 0 if all calls returned what they should.
result <- 300
# How a function calls the next one, which is the only one that it calls.
ways <- c(
  "%s()", "sapply(1, function(i) %s())", "do.call('%s', list())", "tryCatch(%s(), error = identity)",
  "tryCatch(stop(structure(class = c('found', 'error', 'condition'), list(message = 'x', value = %s()))), found = function(e) e$value)",
  "Reduce(function(a, b) %s(), 1:2)", "eval(quote(%s()))", "eval(parse(text = '%s()'))", "own$%s()", "local(%s())",
  "identity(%s())", "(function() { on.exit({ %s(); 1 }); %s() })()", "mapply(function(i) %s(), 1)", "switch('a', a = %s())",
  "withCallingHandlers({ warning('x'); %s() }, warning = function(w) invokeRestart('muffleWarning'))",
  "vapply(1, function(i) %s(), 1)", "repeat { found <- %s(); break }; found", "Recall_once(function() %s())",
  "unlist(lapply(structure(list(function() %s()), class = 'called'), function(f) f()))"
)
Recall_once <- function(f, again = TRUE) if (again) Recall(f, FALSE) else f()
number <- 0

leaf <- function(count) {
  value <- 0
  for (i in seq_len(count)) value <- value + 1
  value
}

text_of <- function(name, depth) {
  letters <- c("a", "b", "c")
  bodies <- rep("leaf(300)", 3)
  below <- ""
  if (depth > 0) {
    drawn <- sample(ways, 3)
    bodies <- vapply(1:3, function(i) gsub("%s", paste0(name, letters[i]), drawn[i], fixed = TRUE), "")
    below <- paste(vapply(letters, function(letter) text_of(paste0(name, letter), depth - 1), ""), collapse = "")
  }
  sprintf("%s <- function() switch(sample(3, 1), { %s }, { %s }, { %s })\n%s", name, bodies[1], bodies[2], bodies[3], below)
}

# A new family of functions: a call of its first one.
made <- function(depth) {
  base <- paste0("r", number %% 2000)
  number <<- number + 1
  own <- new.env(parent = globalenv())
  own$own <- own
  eval(parse(text = text_of(base, depth)), own)
  eval(parse(text = sprintf("function() %s()", base)), own)
}

check <- function(found) {
  if (!identical(found, result)) {
    cat("wrong result", format(found), "\n", file = stderr())
    quit(status = 3)
  }
}

# R cannot tell the end of its input from input that is not there yet: a line says so.
input <- fifo("/dev/stdin", "r", blocking = FALSE)
has_ended <- function() length(readLines(input, 1)) > 0

deep <- function(depth) if (depth == 0) 0 else 1 + deep(depth - 1)
without_end <- function() 1 + without_end()

storm <- function() {
  first <- made(2)
  for (i in seq_len(sample(0:50, 1))) check(first())
  deep(sample(0:500, 1))
  if (runif(1) < 0.01) tryCatch(without_end(), error = function(e) 1)
  for (i in 1:200) {
    x <- new.env()
    x$f <- function() x$number
    x$number <- i
    reg.finalizer(x, function(e) e$f())
  }
  if (runif(1) < 0.02) gc()
}

family <- made(4)
cat("ready\n")
if (commandArgs(TRUE) == "hostile") {
  repeat {
    storm()
    if (has_ended()) break
  }
} else {
  repeat {
    for (i in 1:20) check(family())
    if (has_ended()) break
  }
}
cat("whole\n")
