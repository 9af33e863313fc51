// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the placeholders are the shell's.

import type { Tool } from "../tool.ts";

/** The shells with a completion script. */
export type Shell = keyof typeof scripts;

/**
 * `pipeline completion`: prints a shell's completion script. The script calls the tool by the name that was typed, so its
 * completions always match the installed version.
 */
export async function printCompletion({ output }: Tool, _: object, shell: Shell): Promise<void> {
  const script = scripts[shell].join("\n");
  output.result("completion", { shell, script }, script);
}

const scripts = {
  /** Also runs on macOS's bash 3.2, which has neither compopt nor mapfile. Protocol: see `answerTab`. */
  bash: [
    '# bash completion for pipeline. In ~/.bashrc: eval "$(pipeline completion bash)"',
    "_pipeline_runs() {",
    "  local tool=$1 line files=",
    '  [[ $tool == "~/"* ]] && tool=$HOME/${tool:2}',
    "  COMPREPLY=()",
    "  while IFS= read -r line; do",
    "    if [[ -z $files ]]; then",
    "      files=$line",
    "    else",
    '      COMPREPLY+=("$line")',
    "    fi",
    '  done < <("${tool//\\\\/}" __complete bash "${COMP_LINE:0:COMP_POINT}" "$COMP_WORDBREAKS" 2>/dev/null)',
    "  [[ ${#COMPREPLY[@]} -gt 0 ]] && return",
    "  case $files in",
    "    files | words-or-files)",
    "      compopt -o default 2>/dev/null || while IFS= read -r line; do",
    '        COMPREPLY+=("$line")',
    '      done < <(compgen -f -- "$2")',
    "      ;;",
    "    folders)",
    "      compopt -o filenames 2>/dev/null",
    "      while IFS= read -r line; do",
    '        COMPREPLY+=("$line")',
    '      done < <(compgen -d -- "$2")',
    "      ;;",
    "  esac",
    "}",
    "complete -F _pipeline_runs pipeline",
  ],
  /** Loaded as an autoload function by `compinit`, or by `eval` after it. Protocol: see `answerTab`. */
  zsh: [
    "#compdef pipeline",
    "# zsh completion for pipeline. As a file _pipeline in a folder of fpath, or in ~/.zshrc behind compinit:",
    '# eval "$(pipeline completion zsh)"',
    "_pipeline() {",
    "  local tool=${(Q)words[1]} line word head files",
    "  local -a lines found",
    '  [[ $tool == "~/"* ]] && tool=$HOME/${tool#"~/"}',
    '  lines=("${(@f)$("$tool" __complete zsh "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")',
    "  head=${lines[1]}",
    "  files=${head%%$'\\t'*}",
    "  [[ -n ${head#*$'\\t'} ]] && compset -P 1 '*='",
    '  for line in "${(@)lines[2,-1]}"; do',
    "    word=${line%%$'\\t'*}",
    "    word=${word//\\\\/\\\\\\\\}",
    "    found+=(\"${word//:/\\\\:}:${line#*$'\\t'}\")",
    "  done",
    "  case $files in",
    "    files) _files ;;",
    "    folders) _files -/ ;;",
    "    words) _describe -V 'pipeline' found ;;",
    "    words-or-files)",
    "      _describe -V 'pipeline' found",
    "      _files",
    "      ;;",
    "  esac",
    "}",
    "if [[ $funcstack[1] == _pipeline ]]; then",
    '  _pipeline "$@"',
    "else",
    "  compdef _pipeline pipeline",
    "fi",
  ],
  /** fish matches and quotes the words itself. Protocol: see `answerTab`. */
  fish: [
    "# fish completion for pipeline. As ~/.config/fish/completions/pipeline.fish, or: pipeline completion fish | source",
    "function __pipeline_runs_complete",
    "    set -l before (commandline -opc)",
    "    set -l tool (string replace -r '^~(?=/)' -- $HOME $before[1])",
    "    set -l current (commandline -ct)",
    '    set -l lines ($tool __complete fish $before[2..-1] "$current" 2>/dev/null)',
    '    switch (string split -f 1 \\t -- "$lines[1]")',
    "        case folders",
    "            __fish_complete_directories \"$current\" ''",
    "        case files",
    '            __fish_complete_path "$current"',
    "        case words-or-files",
    "            printf '%s\\n' $lines[2..-1]",
    '            __fish_complete_path "$current"',
    "        case words",
    "            printf '%s\\n' $lines[2..-1]",
    "    end",
    "end",
    "complete -c pipeline -f -k -a '(__pipeline_runs_complete)'",
  ],
};
