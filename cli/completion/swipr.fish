# fish completion for swipr

# True while the command line holds one of the given commands and no "--" before the cursor.
function __swipr_using
    set -l words (commandline -opc)
    contains -- -- $words; and return 1
    for word in $words[2..-1]
        string match -q -- '-*' $word; and continue
        contains -- $word $argv
        return
    end
    return 1
end

function __swipr_needs_command
    set -l words (commandline -opc)
    test (count (string match -v -- '-*' $words)) -eq 1
end

function __swipr_after_separator
    contains -- -- (commandline -opc)
end

# The words after the first "--".
function __swipr_complete_recorded_command
    set -l words (commandline -opc) (commandline -ct)
    set -l separator (contains -i -- -- $words)
    complete --do-complete=(string join ' ' -- $words[(math $separator + 1)..-1])
end

function __swipr_pids
    swipr list --json 2>/dev/null | string replace -rf '.*"pid":(\d+).*"command":"([^"]*)".*' '$1\t$2'
end

function __swipr_names
    swipr list --json 2>/dev/null | string replace -rf '.*"command":"([^"]*)".*' '$1'
end

complete -c swipr -f
complete -c swipr -n __swipr_after_separator -a '(__swipr_complete_recorded_command)'
complete -c swipr -n __swipr_needs_command -l help -s h -d 'Print help'
complete -c swipr -n __swipr_needs_command -l version -d 'Print version, commit and build type'
complete -c swipr -n __swipr_needs_command -a record -d 'Record a process or a command'
complete -c swipr -n __swipr_needs_command -a convert -d 'Convert to another format'
complete -c swipr -n __swipr_needs_command -a report -d 'Print hot functions, threads and waits'
complete -c swipr -n __swipr_needs_command -a view -d 'Show a recording, or a running process, in the browser'
complete -c swipr -n __swipr_needs_command -a agent -d 'Record all processes continuously'
complete -c swipr -n __swipr_needs_command -a push -d 'Send recordings to a store'
complete -c swipr -n __swipr_needs_command -a top -d 'Show live what a process does'
complete -c swipr -n __swipr_needs_command -a latency -d 'Measure how long function calls take'
complete -c swipr -n __swipr_needs_command -a slower -d 'Print calls that take longer than a threshold'
complete -c swipr -n __swipr_needs_command -a trace -d 'Record samples, and the calls that they are in'
complete -c swipr -n __swipr_needs_command -a list -d 'List processes that can be recorded'
complete -c swipr -n __swipr_needs_command -a doctor -d 'Check what can be recorded'
complete -c swipr -n __swipr_needs_command -a preload-path -d 'Print the path of the library'
complete -c swipr -n __swipr_needs_command -a install-preload -d 'Preload the library into a service'
complete -c swipr -n __swipr_needs_command -a help -d 'Print help'

complete -c swipr -n '__swipr_using record convert report top latency slower trace view agent push list doctor preload-path install-preload' -l help -s h -d 'Print help'
complete -c swipr -n '__swipr_using record top latency slower trace view doctor' -l pid -x -a '(__swipr_pids)' -d 'Process'
complete -c swipr -n '__swipr_using doctor' -l compare-unwinders -d 'Compare stacks with libunwind'
complete -c swipr -n '__swipr_using record' -l socket -r -F -d 'The process that listens here'
complete -c swipr -n '__swipr_using record' -l name -x -a '(__swipr_names)' -d 'Processes of this name'
complete -c swipr -n '__swipr_using record' -l count -x -a '100 1000 10000' -d 'Stop after this many ticks'
complete -c swipr -n '__swipr_using record view' -l duration -x -a '1s 10s 1min' -d 'How long to record'
complete -c swipr -n '__swipr_using record' -l interval -x -a '1ms 10ms 100ms' -d 'Time between ticks'
complete -c swipr -n '__swipr_using record' -l rate -x -a '10 100 1000' -d 'Ticks per second'
complete -c swipr -n '__swipr_using record' -l mode -x -a 'wall cpu offcpu' -d 'Which time to record'
complete -c swipr -n '__swipr_using record' -l jitter -x -a 'on off' -d 'Ticks at random intervals'
complete -c swipr -n '__swipr_using record' -l max-overhead -x -a '1% 2% 10%' -d 'Limit of overhead'
complete -c swipr -n '__swipr_using record convert' -l output -s o -r -F -d 'Output file'
complete -c swipr -n '__swipr_using record' -l format -x -a 'raw html pprof speedscope firefox perf collapsed col'
complete -c swipr -n '__swipr_using convert' -l format -x -a 'html pprof speedscope firefox perf collapsed col'
complete -c swipr -n '__swipr_using record' -l embed-symbols -d 'Store names in the recording'
complete -c swipr -n '__swipr_using record' -l tasks -d 'Record where tasks of asyncio wait'
complete -c swipr -n '__swipr_using record' -l no-arguments -d 'Omit the command line from the recording'
complete -c swipr -n '__swipr_using record' -l no-follow -d 'Do not record children of the command'
complete -c swipr -n '__swipr_using record' -l json -r -F -d 'Write the summary as JSON'
complete -c swipr -n '__swipr_using report list' -l json -d 'Print JSON'
complete -c swipr -n '__swipr_using view' -l live -d 'Follow the process while it runs'
complete -c swipr -n '__swipr_using view' -l name -x -a '(__swipr_names)' -d 'Follow the first process with this name'
complete -c swipr -n '__swipr_using view' -l interval -x -a '1ms 10ms 100ms' -d 'Time between ticks of what is followed'
complete -c swipr -n '__swipr_using view' -l latency -x -d 'Trace calls of this function, too'
complete -c swipr -n '__swipr_using view' -l no-browser -d 'Print the address only'
complete -c swipr -n '__swipr_using report' -l top -x -a '10 20 50' -d 'Lines of each part'

# Inputs, weights and filters.
complete -c swipr -n '__swipr_using convert report view' -F
complete -c swipr -n '__swipr_using convert report' -l weight -x -a 'samples cpu wall blocked runqueue'
complete -c swipr -n '__swipr_using convert report view' -l state -x -a 'running runnable blocked'
complete -c swipr -n '__swipr_using convert report view' -l thread -x -d 'Name pattern or tid'
complete -c swipr -n '__swipr_using convert report view' -l label -x -d 'Label of threads, KEY=VALUE'
complete -c swipr -n '__swipr_using convert report view' -l from -x -a '1s 10s' -d 'From this time on'
complete -c swipr -n '__swipr_using convert report view' -l to -x -a '1s 10s' -d 'Up to this time'
complete -c swipr -n '__swipr_using convert report view' -l only -x -d 'Stacks with a matching function'
complete -c swipr -n '__swipr_using convert report view' -l hide -x -d 'Remove matching functions'
complete -c swipr -n '__swipr_using convert report view' -l focus -x -d 'Start stacks at the outermost match'
complete -c swipr -n '__swipr_using convert report view' -l frames -x -a 'mixed native language' -d 'Kinds of frames'
complete -c swipr -n '__swipr_using convert report view' -l split -x -a 'p95 p99' -d 'Only inside calls of this duration'
complete -c swipr -n '__swipr_using convert report view' -l merge-threads -d 'One thread per process'

complete -c swipr -n '__swipr_using convert' -l invert -d 'Innermost functions first'
complete -c swipr -n '__swipr_using convert' -l diff -r -F -d 'Compare with this recording'
complete -c swipr -n '__swipr_using convert' -l frame-kinds -d 'Mark frames of languages'
complete -c swipr -n '__swipr_using convert' -l state-frames -x -a 'on off' -d 'Waits as innermost frames'
complete -c swipr -n '__swipr_using convert' -l pprof-labels -x -a 'all own thread none' -d 'Labels of samples'
complete -c swipr -n '__swipr_using convert' -l explain -d 'Print where names come from'
complete -c swipr -n '__swipr_using convert' -l file-lines -d 'File and line (perf), text of lines (html)'

# Names of functions.
complete -c swipr -n '__swipr_using convert report top view agent push' -l no-demangle -d 'Names as in the symbol table'
complete -c swipr -n '__swipr_using convert report top view agent push' -l no-inlines -d 'Omit inlined functions'
complete -c swipr -n '__swipr_using convert report top view agent push' -l short-names -d 'Names without parameters'
complete -c swipr -n '__swipr_using convert report top view agent push' -l debug-dir -x -a '(__fish_complete_directories)'
complete -c swipr -n '__swipr_using convert report top view agent push' -l symfs -x -a '(__fish_complete_directories)'
complete -c swipr -n '__swipr_using convert report top view agent push' -l no-cache -d 'Do not use the cache of names'

complete -c swipr -n '__swipr_using agent' -l rate -x -d 'Ticks per second'
complete -c swipr -n '__swipr_using agent' -l slice -x -d 'Length of a slice'
complete -c swipr -n '__swipr_using agent' -l slices -x -d 'End after this many slices'
complete -c swipr -n '__swipr_using agent' -l once -d 'End after one slice'
complete -c swipr -n '__swipr_using agent' -l continuous -d 'Go on until SIGTERM'
complete -c swipr -n '__swipr_using agent' -l mode -x -d 'Cpu or wall'
complete -c swipr -n '__swipr_using agent' -l max-overhead -x -d 'Most CPU time for recording a process'
complete -c swipr -n '__swipr_using agent' -l max-host-overhead -x -d 'Most CPU time for recording all, of all CPUs'
complete -c swipr -n '__swipr_using agent' -l pids -x -d 'Only these processes'
complete -c swipr -n '__swipr_using agent' -l include -x -d 'Only processes with such a name'
complete -c swipr -n '__swipr_using agent' -l exclude -x -d 'No processes with such a name'
complete -c swipr -n '__swipr_using agent' -l socket-dir -x -a '(__fish_complete_directories)' -d 'Only processes with sockets in this folder'
complete -c swipr -n '__swipr_using agent' -l max-processes -x -d 'At most this many processes'
complete -c swipr -n '__swipr_using agent' -l output-dir -x -a '(__fish_complete_directories)' -d 'Write files of each slice here'
complete -c swipr -n '__swipr_using agent' -l rotating-output -d 'Keep the files of the last slice only'
complete -c swipr -n '__swipr_using agent' -l keep -x -d 'Keep the files of the last slices'
complete -c swipr -n '__swipr_using agent' -l no-flamegraph -d 'Write no HTML files'
complete -c swipr -n '__swipr_using agent' -l insert-dso-name -d 'Write files of functions into .col files'
complete -c swipr -n '__swipr_using agent' -l external-metadata -r -F -d 'Add this metadata to .col files'
complete -c swipr -n '__swipr_using agent' -l app-id-args-filter -x -d 'Options of Java for its name'
complete -c swipr -n '__swipr_using agent' -l disable-metrics-collection -d 'Accepted'
complete -c swipr -n '__swipr_using agent' -l disable-metadata-collection -d 'Accepted'
complete -c swipr -n '__swipr_using agent' -l push -x -d 'Push to this store'
complete -c swipr -n '__swipr_using agent' -l upload-results -d 'Push to the studio at --server-host'
complete -c swipr -n '__swipr_using agent' -l server-host -x -d 'URL of the studio'
complete -c swipr -n '__swipr_using agent' -l service-name -x -d 'Service of all profiles'
complete -c swipr -n '__swipr_using agent' -l label -x -d 'Label of all profiles'
complete -c swipr -n '__swipr_using agent push' -l thread-labels -x -d 'Labels of threads that samples get'
complete -c swipr -n '__swipr_using agent' -l token-file -r -F -d 'File with the token of the stores'
complete -c swipr -n '__swipr_using agent' -l ca-file -r -F -d 'Trust these certificates'
complete -c swipr -n '__swipr_using agent' -l tenant -x -d 'Tenant of the stores'
complete -c swipr -n '__swipr_using agent' -l spool -x -a '(__fish_complete_directories)' -d 'Folder of requests that wait'
complete -c swipr -n '__swipr_using agent' -l spool-size -x -d 'Most bytes that wait for a store'
complete -c swipr -n '__swipr_using agent' -l disable-application-identifiers -d 'Do not read command lines'
complete -c swipr -n '__swipr_using agent' -l config -r -F -d 'Read options from this file'
complete -c swipr -n '__swipr_using agent' -l pid-file -r -F -d 'Write the process id here'
complete -c swipr -n '__swipr_using agent' -l log-file -r -F -d 'Write messages here'
complete -c swipr -n '__swipr_using agent' -l controller-pid -x -d 'End with this process'
complete -c swipr -n '__swipr_using agent' -l metrics-file -r -F -d 'Write counters for Prometheus here'

complete -c swipr -n '__swipr_using push' -F
complete -c swipr -n '__swipr_using push' -l service-name -x -d 'Name of the service'
complete -c swipr -n '__swipr_using push' -l label -x -d 'Label of the profiles'
complete -c swipr -n '__swipr_using push' -l token-file -r -F -d 'File with the token of the store'
complete -c swipr -n '__swipr_using push' -l ca-file -r -F -d 'Trust these certificates'
complete -c swipr -n '__swipr_using push' -l tenant -x -d 'Tenant of the store'
complete -c swipr -n '__swipr_using top' -l name -x -d 'The first process with this name'
complete -c swipr -n '__swipr_using top' -l window -x -a '1s 5s 10s 30s 60s' -d 'The time that is shown'
complete -c swipr -n '__swipr_using top' -l interval -x -a '1ms 10ms 100ms' -d 'Time between two ticks'
complete -c swipr -n '__swipr_using top' -l weight -x -a 'samples cpu wall blocked runqueue' -d 'What is summed'
complete -c swipr -n '__swipr_using latency' -l name -x -d 'The first process with this name'
complete -c swipr -n '__swipr_using latency' -l interval -s i -x -a '100ms 1s 10s' -d 'Print rows at this interval'
complete -c swipr -n '__swipr_using latency' -l count -x -a '10 60' -d 'Stop after this many intervals'
complete -c swipr -n '__swipr_using latency' -l duration -s d -x -a '1s 10s 1min' -d 'Stop after this time'
complete -c swipr -n '__swipr_using latency' -l max-overhead -x -a '1% 2% 10%' -d 'Of one CPU, for each function'
complete -c swipr -n '__swipr_using latency' -l debug-dir -x -a '(__fish_complete_directories)'
complete -c swipr -n '__swipr_using latency' -l at -x -d 'Only calls of this line'
complete -c swipr -n '__swipr_using latency' -l threads -d 'Show the calls of each thread'
complete -c swipr -n '__swipr_using latency' -l json -d 'Print JSON'
complete -c swipr -n '__swipr_using slower' -l name -x -d 'The first process with this name'
complete -c swipr -n '__swipr_using slower' -l at -x -d 'Only calls of this line'
complete -c swipr -n '__swipr_using slower' -l count -x -a '10 100' -d 'Stop after this many slow calls'
complete -c swipr -n '__swipr_using slower' -l args -x -a '0 1 2 3 4 5 6' -d 'Show at most this many arguments'
complete -c swipr -n '__swipr_using slower' -l stack -d 'Show all callers'
complete -c swipr -n '__swipr_using slower' -l duration -s d -x -a '1s 10s 1min' -d 'Stop after this time'
complete -c swipr -n '__swipr_using slower' -l max-overhead -x -a '1% 2% 10%' -d 'Of one CPU, for each function'
complete -c swipr -n '__swipr_using slower' -l debug-dir -x -a '(__fish_complete_directories)'
complete -c swipr -n '__swipr_using slower' -l json -d 'Print JSON'
complete -c swipr -n '__swipr_using trace' -l name -x -d 'The first process with this name'
complete -c swipr -n '__swipr_using trace' -l at -x -d 'Only calls of this line'
complete -c swipr -n '__swipr_using trace' -l duration -s d -x -a '1s 10s 1min' -d 'Stop after this time'
complete -c swipr -n '__swipr_using trace' -l interval -x -a '1ms 10ms 100ms' -d 'Time between ticks'
complete -c swipr -n '__swipr_using trace' -l rate -x -a '10 100 1000' -d 'Ticks per second'
complete -c swipr -n '__swipr_using trace' -l max-overhead -x -a '1% 2% 10%' -d 'Of one CPU, for each function'
complete -c swipr -n '__swipr_using trace' -l output -s o -r -F -d 'Write to this file'
complete -c swipr -n '__swipr_using trace' -l embed-symbols -d 'Store names in the recording'
complete -c swipr -n '__swipr_using trace' -l debug-dir -x -a '(__fish_complete_directories)'
complete -c swipr -n '__swipr_using top' -l once -d 'Print one window as text'
complete -c swipr -n '__swipr_using install-preload' -l service -x -d 'A service of systemd'
complete -c swipr -n '__swipr_using install-preload' -l user -d 'A service or all programs of the user'
complete -c swipr -n '__swipr_using install-preload' -l remove -d 'Remove what this command wrote'
complete -c swipr -n '__swipr_using install-preload' -l root -x -a '(__fish_complete_directories)' -d 'Use the files below this folder'
