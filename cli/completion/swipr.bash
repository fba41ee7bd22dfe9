# bash completion for swipr

_swipr_pids() { swipr list --json 2>/dev/null | sed -n 's/.*"pid":\([0-9]*\).*/\1/p'; }
_swipr_names() { swipr list --json 2>/dev/null | sed -n 's/.*"command":"\([^"]*\)".*/\1/p'; }

_swipr() {
  local cur prev command word i
  cur=${COMP_WORDS[COMP_CWORD]}
  prev=${COMP_WORDS[COMP_CWORD - 1]}
  command=
  for ((i = 1; i < COMP_CWORD; ++i)); do
    word=${COMP_WORDS[i]}
    if [[ $word == -- ]]; then
      # What follows is a command of its own.
      if declare -F _command_offset >/dev/null; then
        _command_offset $((i + 1))
      else
        mapfile -t COMPREPLY < <(compgen -c -- "$cur")
      fi
      return
    fi
    [[ -z $command && $word != -* ]] && command=$word
  done

  local words=
  case $prev in
    --pid) words=$(_swipr_pids) ;;
    --name) words=$(_swipr_names) ;;
    --format)
      words='html pprof speedscope firefox perf collapsed col'
      [[ $command == record ]] && words="raw $words"
      ;;
    --weight) words='samples cpu wall blocked runqueue' ;;
    --state) words='running runnable blocked running,runnable' ;;
    --state-frames) words='on off' ;;
    --pprof-labels) words='all own thread none' ;;
    --frames) words='mixed native language' ;;
    --jitter) words='on off' ;;
    --mode) words='wall cpu offcpu' ;;
    --interval) words='1ms 10ms 100ms' ;;
    --duration) words='1s 10s 1min' ;;
    --rate) words='10 100 1000' ;;
    --count) words='100 1000 10000' ;;
    --top) words='10 20 50' ;;
    -o | --output | --diff | --json | --socket | --token-file | --ca-file)
      mapfile -t COMPREPLY < <(compgen -f -- "$cur")
      return
      ;;
    --debug-dir | --symfs | --root)
      mapfile -t COMPREPLY < <(compgen -d -- "$cur")
      return
      ;;
    *)
      case $command in
        '') words='record convert report top latency slower trace view agent push list doctor preload-path install-preload help --help --version' ;;
        record)
          words='--pid --name --socket --count --duration --interval --rate --mode --jitter --max-overhead --output --format --embed-symbols --tasks --json --no-arguments --no-follow --help --'
          ;;
        convert)
          words='--format --output --weight --state --thread --label --from --to --only --hide --focus --frames --split --merge-threads --invert --diff --state-frames --pprof-labels --frame-kinds --no-demangle --no-inlines --file-lines --short-names --debug-dir --symfs --no-cache --explain --help'
          ;;
        report) words='--weight --state --thread --label --from --to --only --hide --focus --frames --split --merge-threads --top --no-demangle --no-inlines --short-names --debug-dir --symfs --no-cache --json --help' ;;
        top) words='--pid --name --window --interval --weight --once --no-demangle --no-inlines --short-names --debug-dir --symfs --no-cache --help' ;;
        latency) words='--pid --name --at --threads --interval --count --duration --max-overhead --debug-dir --json --help' ;;
        slower) words='--pid --name --at --count --args --stack --duration --max-overhead --debug-dir --json --help' ;;
        trace) words='--pid --name --at --duration --interval --rate --max-overhead --output --embed-symbols --debug-dir --help' ;;
        view) words='--live --pid --name --interval --latency --duration --no-browser --state --thread --label --from --to --only --hide --focus --frames --split --merge-threads --no-demangle --no-inlines --short-names --debug-dir --symfs --no-cache --help --' ;;
        agent)
          words='--rate --slice --slices --once --continuous --mode --max-overhead --max-host-overhead --pids --include --exclude --socket-dir --max-processes --output-dir --rotating-output --keep --no-flamegraph --push --upload-results --server-host --service-name --label --thread-labels --token-file --ca-file --tenant --spool --spool-size --disable-application-identifiers --insert-dso-name --external-metadata --app-id-args-filter --disable-metrics-collection --disable-metadata-collection --config --pid-file --log-file --controller-pid --metrics-file --no-demangle --no-inlines --short-names --debug-dir --symfs --no-cache --help'
          ;;
        push) words='--service-name --label --thread-labels --token-file --ca-file --tenant --no-demangle --no-inlines --short-names --debug-dir --symfs --no-cache --help' ;;
        list) words='--json --help' ;;
        preload-path) words='--help' ;;
        install-preload) words='--service --user --remove --root --help' ;;
        doctor) words='--pid --compare-unwinders --help --' ;;
      esac
      if [[ ($command == convert || $command == report || $command == view || $command == push) && $cur != -* ]]; then
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
        return
      fi
      ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}
complete -o filenames -F _swipr swipr
