# Functions that use 70, 20 and 10 % of the CPU time. Commands on standard input, an answer line each:
# mark: "<units of work> <CPU ns in seventy> <in twenty> <in ten>"
# R cannot tell the end of its input from input that is not there yet: whoever starts this ends it.

used <- c(seventy = 0, twenty = 0, ten = 0)
units <- 0

cpu <- function() sum(proc.time()[1:2]) * 1e9

spin <- function() {
  value <- 1
  for (number in 0:999) value <- (value * 31) %% 65521 + number
}

chain <- function(depth) if (depth == 0) spin() else chain(depth - 1)

burn <- function(name, count) {
  begin <- cpu()
  for (unit in seq_len(count)) chain(8)
  units <<- units + count
  used[name] <<- used[name] + cpu() - begin
}

# The clock of R counts milliseconds.
seventy <- function() burn("seventy", 1400)
twenty <- function() burn("twenty", 400)
ten <- function() burn("ten", 200)

input <- fifo("/dev/stdin", "r", blocking = FALSE)

work <- function() {
  while (length(readLines(input, 1)) == 0) {
    seventy()
    twenty()
    ten()
  }
}

cat("ready\n")
repeat {
  work()
  cat(sprintf("%.0f", c(units, used)), "\n")
}
