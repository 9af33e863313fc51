// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the references that pipeline files are written with.
import assert from "node:assert/strict";
import { outlineOf } from "../../../src/pipeline/editing/outline.ts";
import { fixOf, problemSpan } from "../../../src/pipeline/editing/problemSpan.ts";
import { edited } from "../../../src/pipeline/mistakes/repairs.ts";
import { parsePipeline } from "../../../src/pipeline/parsePipeline.ts";

interface Slip {
  readonly slip: string;
  readonly text: string;
  /** `line:from-to: message`: the only problem, and the columns that are underlined. */
  readonly problem: string;
  /** The text with the quick fix, which is a valid pipeline; undefined where none is offered. */
  readonly mended?: string;
}

const steps = (lines: string) => `resources:\n  sh: { type: cli }\nsteps:\n${lines}`;

const slips: readonly Slip[] = [
  {
    slip: "a merge conflict of git, within a step",
    text: steps("  - use: sh\n<<<<<<< HEAD\n    run: echo a\n=======\n    run: echo b\n>>>>>>> main\n"),
    problem: "5:1-13: a merge conflict of git begins here: keep one of its sides, and remove its markers",
  },
  {
    slip: "one within the lines of a command, in a file with line ends of Windows",
    text: steps(
      "  - use: sh\n    run: |\n      a\n<<<<<<< HEAD\n      b\n=======\n      c\n>>>>>>> main\n",
    ).replaceAll("\n", "\r\n"),
    problem: "7:1-13: a merge conflict of git begins here: keep one of its sides, and remove its markers",
  },
  {
    slip: "`: ` in a command",
    text: steps('  - use: sh\n    run: echo "warn: x"\n'),
    problem: "5:10-24: put this value in quotes: it contains `: `",
    mended: steps("  - use: sh\n    run: 'echo \"warn: x\"'\n"),
  },
  {
    slip: "`: ` in typographic quotes",
    text: steps("  - use: sh\n    run: “echo: a”\n"),
    problem: "5:10-15: a colon ends a name here: leave it out, or put the value in plain quotes",
  },
  {
    slip: "a colon too many",
    text: steps("  - use: sh:\n    run: a\n"),
    problem: "4:10-12: a colon ends a name here: leave it out, or put the value in plain quotes",
  },
  {
    slip: "a comment without a space before it",
    text: steps('  - use: sh #c\n    run: "a"#x\n'),
    problem: "5:13-14: a comment needs a space before its `#`",
    mended: steps('  - use: sh #c\n    run: "a" #x\n'),
  },
  {
    slip: "`: ` beside both kinds of quotes",
    text: steps('  - use: sh\n    run: echo warn: it\'s "x"\n    name: a\n'),
    problem: "5:10-29: put this value in quotes: it contains `: `",
    mended: steps("  - use: sh\n    run: 'echo warn: it''s \"x\"'\n    name: a\n"),
  },
  {
    slip: "a command that YAML takes for something else",
    text: steps("  - use: sh\n    run: false\n"),
    problem:
      "5:10-15: expected a line for the shell, or a list of a program and its arguments; put this boolean in quotes",
    mended: steps('  - use: sh\n    run: "false"\n'),
  },
  {
    slip: "`: ` in a name",
    text: steps("  - name: test: unit\n    use: sh\n    run: a\n"),
    problem: "4:11-21: put this value in quotes: it contains `: `",
    mended: steps('  - name: "test: unit"\n    use: sh\n    run: a\n'),
  },
  {
    slip: "`: ` in a flow map",
    text: steps("  - { use: sh, run: echo a: b }\n"),
    problem: "4:21-30: put this value in quotes: it contains `: `",
    mended: steps('  - { use: sh, run: "echo a: b" }\n'),
  },
  {
    slip: "a list that isn't closed, within its line",
    text: steps("  - { use: sh, run: [echo, a }\n"),
    problem: "4:21-22: this `[` isn't closed",
    mended: steps("  - { use: sh, run: [echo, a] }\n"),
  },
  {
    slip: "a line indented too little",
    text: steps("  - name: a\n   use: sh\n    run: a\n"),
    problem: "5:4-11: the indentation is wrong: this line has to begin in column 5",
    mended: steps("  - name: a\n    use: sh\n    run: a\n"),
  },
  {
    slip: "a line indented too far",
    text: steps("  - name: a\n      use: sh\n    run: a\n"),
    problem: "5:7-14: the indentation is wrong: this line has to begin in column 5",
    mended: steps("  - name: a\n    use: sh\n    run: a\n"),
  },
  {
    slip: "a line indented too far at the end",
    text: steps("  - run: a\n     use: sh\n"),
    problem: "5:6-13: the indentation is wrong: this line has to begin in column 5",
    mended: steps("  - run: a\n    use: sh\n"),
  },
  {
    slip: "a step's lines below its dash",
    text: steps("  - name: a\n  use: sh\n  run: x\n"),
    problem: "5:3-10: the indentation is wrong: this line has to begin in column 5",
    mended: steps("  - name: a\n    use: sh\n    run: x\n"),
  },
  {
    slip: "a tab as indentation",
    text: steps("  - use: sh\n\trun: a\n"),
    problem: "5:1-2: this line is indented with a tab; YAML is indented with spaces",
    mended: steps("  - use: sh\n    run: a\n"),
  },
  {
    slip: "tabs everywhere",
    text: "resources:\n\tsh: { type: cli }\nsteps:\n\t- use: sh\n\t  run: a\n",
    problem: "2:1-2: this line is indented with a tab; YAML is indented with spaces",
    mended: steps("  - use: sh\n    run: a\n"),
  },
  {
    slip: "a tab behind spaces",
    text: steps("  - use: sh\n  \trun: a\n"),
    problem: "5:1-4: this line is indented with a tab; YAML is indented with spaces",
    mended: steps("  - use: sh\n    run: a\n"),
  },
  {
    slip: "no space after a colon, at the end",
    text: steps("  - use: sh\n    run:npm test\n"),
    problem: "5:5-9: the colon after `run` needs a space after it",
    mended: steps("  - use: sh\n    run: npm test\n"),
  },
  {
    slip: "no space after a colon, before more lines",
    text: steps("  - use:sh\n    run: npm test\n"),
    problem: "4:5-9: the colon after `use` needs a space after it",
    mended: steps("  - use: sh\n    run: npm test\n"),
  },
  {
    slip: "no space after a colon at the top",
    text: "resources:\n  sh: { type: cli }\ntime-limit:60s\nsteps:\n  - use: sh\n    run: a\n",
    problem: "3:1-12: the colon after `time-limit` needs a space after it",
    mended: "resources:\n  sh: { type: cli }\ntime-limit: 60s\nsteps:\n  - use: sh\n    run: a\n",
  },
  {
    slip: "no dash at the first step",
    text: steps("  use: sh\n  run: a\n"),
    problem: "4:3-6: expected a list; begin each of its items with `- `",
  },
  {
    slip: "no dash, but its column",
    text: steps("  - use: sh\n    run: a\n  use: sh\n  run: b\n"),
    problem: "6:3-10: a dash is missing: each item of a list begins with `- `",
    mended: steps("  - use: sh\n    run: a\n  - use: sh\n    run: b\n"),
  },
  {
    slip: "no space after a dash",
    text: steps("  -use: sh\n   run: a\n"),
    problem: "4:3-4: a dash needs a space after it",
    mended: steps("  - use: sh\n    run: a\n"),
  },
  {
    slip: "an unclosed double quote",
    text: steps('  - use: sh\n    run: "echo\n  - use: sh\n    run: b\n'),
    problem: "5:10-15: this `\"` isn't closed",
    mended: steps('  - use: sh\n    run: "echo"\n  - use: sh\n    run: b\n'),
  },
  {
    slip: "an unclosed single quote",
    text: steps("  - use: sh\n    run: 'echo\n"),
    problem: "5:10-15: this `'` isn't closed",
    mended: steps("  - use: sh\n    run: 'echo'\n"),
  },
  {
    slip: "a command that begins with a quoted word",
    text: steps('  - use: sh\n    run: "echo" a\n'),
    problem: '5:10-18: put this value in quotes: it contains `"`',
    mended: steps("  - use: sh\n    run: '\"echo\" a'\n"),
  },
  {
    slip: "an apostrophe in single quotes",
    text: steps("  - use: sh\n    name: 'it's fine'\n    run: a\n"),
    problem: "5:11-22: put this value in quotes: it contains `'`",
    mended: steps('  - use: sh\n    name: "it\'s fine"\n    run: a\n'),
  },
  {
    slip: "a Windows path in double quotes",
    text: steps('  - use: sh\n    run: "C:\\dir\\x"\n'),
    problem: "5:10-20: `\\d` means nothing in double quotes; put this value in single quotes",
    mended: steps("  - use: sh\n    run: 'C:\\dir\\x'\n"),
  },
  {
    slip: "a pattern in double quotes",
    text: steps('  - use: sh\n    run: "grep \\d x"\n'),
    problem: "5:10-21: `\\d` means nothing in double quotes; put this value in single quotes",
    mended: steps("  - use: sh\n    run: 'grep \\d x'\n"),
  },
  {
    slip: "`{{` at the beginning of a value",
    text: steps("  - use: sh\n    run: {{ x }}\n"),
    problem: "5:10-17: put this value in quotes: it begins with `{{`",
    mended: steps('  - use: sh\n    run: "{{ x }}"\n'),
  },
  {
    slip: "`${{` in a flow map",
    text: steps("  - { use: sh, run: ${{ env.X }} }\n"),
    problem: "4:21-33: put this value in quotes: it contains `${{`",
    mended: steps('  - { use: sh, run: "${{ env.X }}" }\n'),
  },
  {
    slip: "`${{` in the middle of a flow map's value",
    text: steps("  - { use: sh, run: echo ${{ env.X }} }\n"),
    problem: "4:21-38: put this value in quotes: it contains `${{`",
    mended: steps('  - { use: sh, run: "echo ${{ env.X }}" }\n'),
  },
  {
    slip: "another tool's braces in a flow map",
    text: steps("  - { use: sh, run: {{x}} }\n"),
    problem: "4:21-26: put this value in quotes: it begins with `{{`",
    mended: steps('  - { use: sh, run: "{{x}}" }\n'),
  },
  {
    slip: "another tool's braces in the middle of a flow map's value",
    text: steps("  - { use: sh, run: echo {{ x }} }\n"),
    problem: "4:21-33: put this value in quotes: it contains `{{`",
    mended: steps('  - { use: sh, run: "echo {{ x }}" }\n'),
  },
  {
    slip: "`*` at the beginning of a value",
    text: steps("  - use: sh\n    run: *.js\n"),
    problem: "5:10-14: put this value in quotes: it begins with `*`",
    mended: steps('  - use: sh\n    run: "*.js"\n'),
  },
  {
    slip: "`*` alone",
    text: steps("  - use: sh\n    run: *\n"),
    problem: "5:10-11: put this value in quotes: it begins with `*`",
    mended: steps('  - use: sh\n    run: "*"\n'),
  },
  {
    slip: "`%` at the beginning of a value",
    text: steps("  - use: sh\n    run: %TEMP%\\x\n"),
    problem: "5:10-18: put this value in quotes: it begins with `%`",
    mended: steps("  - use: sh\n    run: '%TEMP%\\x'\n"),
  },
  {
    slip: "`@` at the beginning of a value",
    text: steps("  - use: sh\n    run: @echo off\n"),
    problem: "5:10-19: put this value in quotes: it begins with `@`",
    mended: steps('  - use: sh\n    run: "@echo off"\n'),
  },
  {
    slip: "a backtick at the beginning of a value",
    text: steps("  - use: sh\n    run: `date`\n"),
    problem: "5:10-16: put this value in quotes: it begins with a backtick",
    mended: steps('  - use: sh\n    run: "`date`"\n'),
  },
  {
    slip: "`!` at the beginning of a value",
    text: steps("  - use: sh\n    run: !true x\n"),
    problem: "5:10-17: put this value in quotes: it begins with `!`",
    mended: steps('  - use: sh\n    run: "!true x"\n'),
  },
  {
    slip: "`[` at the beginning of a command",
    text: steps("  - use: sh\n    run: [ -f x ] && y\n"),
    problem: "5:10-23: put this value in quotes: it begins with `[`",
    mended: steps('  - use: sh\n    run: "[ -f x ] && y"\n'),
  },
  {
    slip: "a command on the line of its `|`",
    text: steps("  - use: sh\n    run: | sort\n"),
    problem: "5:10-16: the text after `|` begins on the next line",
    mended: steps("  - use: sh\n    run: |\n      sort\n"),
  },
  {
    slip: "a command on the line of its `>`",
    text: steps("  - use: sh\n    run: > x\n"),
    problem: "5:10-13: the text after `>` begins on the next line",
    mended: steps("  - use: sh\n    run: >\n      x\n"),
  },
  {
    slip: "a list on the line of its name",
    text: steps("  - use: sh\n    run: - a\n"),
    problem: "5:10-13: a list begins on the line below its name",
    mended: steps("  - use: sh\n    run:\n      - a\n"),
  },
  {
    slip: "a name twice",
    text: steps("  - use: sh\n    run: a\n    run: b\n"),
    problem: "6:5-8: `run` is here twice",
  },
  {
    slip: "a number where text is wanted",
    text: steps("  - use: sh\n    name: 12\n    run: a\n"),
    problem: "5:11-13: expected text; put this number in quotes",
    mended: steps('  - use: sh\n    name: "12"\n    run: a\n'),
  },
  {
    slip: "a boolean where text is wanted",
    text: steps("  - use: sh\n    name: true\n    run: a\n"),
    problem: "5:11-15: expected text; put this boolean in quotes",
    mended: steps('  - use: sh\n    name: "true"\n    run: a\n'),
  },
  {
    slip: "a list where a map is wanted",
    text: "resources:\n  - sh: { type: cli }\nsteps:\n  - use: sh\n    run: a\n",
    problem:
      "2:3-4: expected a map of names and values, not a list: `name: value` without dashes and brackets",
  },
  {
    slip: "a block that isn't indented",
    text: steps("  - use: sh\n    run: |\n    echo a\n"),
    problem: "6:5-11: the text after `run: |` has to be indented more",
    mended: steps("  - use: sh\n    run: |\n      echo a\n"),
  },
  {
    slip: "a block whose last line is indented less",
    text: steps("  - use: sh\n    run: |\n      echo a\n     echo b\n"),
    problem: "7:6-12: the indentation is wrong: this line has to begin in column 7",
    mended: steps("  - use: sh\n    run: |\n      echo a\n      echo b\n"),
  },
  {
    slip: "several lines without `|`, below the name",
    text: steps("  - use: sh\n    run:\n      echo a: b\n      echo b\n"),
    problem: "5:5-9: a text of several lines needs `|`: `run: |`",
    mended: steps("  - use: sh\n    run: |\n      echo a: b\n      echo b\n"),
  },
  {
    slip: "several lines without `|`, beside the name",
    text: steps("  - use: sh\n    run: echo a\n      echo b: c\n"),
    problem: "5:5-10: a text of several lines needs `|`: `run: |`",
    mended: steps("  - use: sh\n    run: |\n      echo a\n      echo b: c\n"),
  },
  {
    slip: "no-break spaces as indentation",
    text: steps("  - use: sh\n    run: a\n"),
    problem: "5:1-5: this line is indented with no-break spaces, which YAML takes for letters",
    mended: steps("  - use: sh\n    run: a\n"),
  },
  {
    slip: "a no-break space after a colon",
    text: steps("  - use: sh\n    run: a\n"),
    problem: "5:5-9: the colon after `run` needs a plain space after it, not a no-break space",
    mended: steps("  - use: sh\n    run: a\n"),
  },
  {
    slip: "a full-width colon",
    text: steps("  - use：sh\n    run: a\n"),
    problem: "4:5-9: expected a colon and a space after `use`, not `：`",
    mended: steps("  - use: sh\n    run: a\n"),
  },
  {
    slip: "an empty file",
    text: "",
    problem: "1:1-1: the file is empty; a pipeline has `steps`",
  },
  {
    slip: "a file of comments",
    text: "# x\n",
    problem: "1:1-2: the file is empty; a pipeline has `steps`",
  },
  {
    slip: "two documents",
    text: steps("  - use: sh\n    run: a\n---\na: b\n"),
    problem: "6:1-4: a pipeline file holds one YAML document, and here a second one begins",
  },
  {
    slip: "a misspelt name",
    text: steps("  - use: sh\n    rnu: a\n"),
    problem: "5:5-8: a cli step has no `rnu`; did you mean `run`?",
    mended: steps("  - use: sh\n    run: a\n"),
  },
  {
    slip: "a name in the wrong case",
    text: steps("  - Use: sh\n    run: a\n"),
    problem: "4:5-8: a step has no `Use`; did you mean `use`?",
    mended: steps("  - use: sh\n    run: a\n"),
  },
  {
    slip: "a name in the wrong case at the top",
    text: "resources:\n  sh: { type: cli }\nSteps:\n  - use: sh\n    run: a\n",
    problem: "3:1-6: a pipeline has no `Steps`; did you mean `steps`?",
    mended: steps("  - use: sh\n    run: a\n"),
  },
  {
    slip: "an unclosed `[`",
    text: steps("  - use: sh\n    run: [echo, a\n  - use: sh\n    run: b\n"),
    problem: "5:10-11: this `[` isn't closed",
    mended: steps("  - use: sh\n    run: [echo, a]\n  - use: sh\n    run: b\n"),
  },
  {
    slip: "an unclosed `{`",
    text: "resources:\n  sh: { type: cli\nsteps:\n  - use: sh\n    run: b\n",
    problem: "2:7-8: this `{` isn't closed",
    mended: steps("  - use: sh\n    run: b\n"),
  },
  {
    slip: "a missing comma",
    text: steps("  - { use: sh run: b }\n"),
    problem: "4:12-14: a comma is missing before `run`",
    mended: steps("  - { use: sh, run: b }\n"),
  },
  {
    slip: "a bracket too many",
    text: steps("  - { use: sh, run: [a] ] }\n"),
    problem: "4:25-26: this `]` closes nothing",
    mended: steps("  - { use: sh, run: [a] }\n"),
  },
  {
    slip: "` #` in a quotation",
    text: steps('  - use: sh\n    run: echo "a #b"\n'),
    problem: "5:10-21: put this value in quotes: it contains ` #`",
    mended: steps("  - use: sh\n    run: 'echo \"a #b\"'\n"),
  },
  {
    slip: "a merge key",
    text: steps("  - &a\n    use: sh\n    run: a\n  - <<: *a\n    run: b\n"),
    problem: "7:5-7: a pipeline file has no merge keys (`<<`); an alias can stand for a whole value",
  },
  {
    slip: "`=` for a colon",
    text: steps("  - use = sh\n    run: b\n"),
    problem: "4:5-10: expected a colon and a space after `use`, not `=`",
    mended: steps("  - use: sh\n    run: b\n"),
  },
  {
    slip: "a line without a colon",
    text: steps("  - use: sh\n    run: a\n    npm test\n"),
    problem: "6:5-13: expected `name: value`, with a colon and a space",
  },
  {
    slip: "a word at the top",
    text: "resources:\n  sh: { type: cli }\nhello\nsteps:\n  - use: sh\n    run: a\n",
    problem: "3:1-6: expected `name: value`, with a colon and a space",
  },
  {
    slip: "a missing colon",
    text: steps("  - use sh\n    run: a\n"),
    problem: "4:5-8: the colon after `use` is missing",
    mended: steps("  - use: sh\n    run: a\n"),
  },
  {
    slip: "a dash too far left",
    text: steps("  - use: sh\n    run: a\n - use: sh\n   run: b\n"),
    problem: "6:2-11: the indentation is wrong: this line has to begin in column 3",
    mended: steps("  - use: sh\n    run: a\n  - use: sh\n    run: b\n"),
  },
  {
    slip: "a dash too far right",
    text: steps("  - use: sh\n    run: a\n   - use: sh\n     run: b\n"),
    problem: "6:4-13: the indentation is wrong: this line has to begin in column 3",
    mended: steps("  - use: sh\n    run: a\n  - use: sh\n    run: b\n"),
  },
  {
    slip: "a resource indented too far",
    text: "resources:\n  sh: { type: cli }\n   s2: { type: cli }\nsteps:\n  - use: sh\n    run: b\n",
    problem: "3:4-21: the indentation is wrong: this line has to begin in column 3",
    mended: "resources:\n  sh: { type: cli }\n  s2: { type: cli }\nsteps:\n  - use: sh\n    run: b\n",
  },
  {
    slip: "`%` at the beginning of the file",
    text: "%x\nresources:\n  sh: { type: cli }\nsteps:\n  - use: sh\n    run: a\n",
    problem: "1:1-3: a line can't begin with `%` here; put a value that does in quotes",
  },
  {
    slip: "two quoted texts",
    text: steps("  - use: sh\n    run: 'a' 'b'\n"),
    problem: "5:10-17: put this value in quotes: it contains `'`",
    mended: steps("  - use: sh\n    run: \"'a' 'b'\"\n"),
  },
  {
    slip: "`: ` in a file with Windows line ends and a byte-order mark",
    text: "\uFEFFresources: { sh: { type: cli } }\r\nsteps:\r\n  - use: sh\r\n    run: echo a: b\r\n",
    problem: "4:10-19: put this value in quotes: it contains `: `",
    mended: 'resources: { sh: { type: cli } }\r\nsteps:\r\n  - use: sh\r\n    run: "echo a: b"\r\n',
  },
  {
    slip: "`: ` before a comment",
    text: steps("  - use: sh\n    run: echo a: b # says it\n"),
    problem: "5:10-19: put this value in quotes: it contains `: `",
    mended: steps('  - use: sh\n    run: "echo a: b" # says it\n'),
  },
];

const valid: readonly (readonly [what: string, text: string])[] = [
  [
    "lines of a command that print a conflict's marker",
    steps("  - use: sh\n    run: |\n      echo\n      <<<<<<< HEAD\n"),
  ],
  ["a reference at the beginning of a value", steps("  - use: sh\n    run: ${{ env.X }}\n")],
  ["a colon without a space", steps("  - use: sh\n    run: curl http://h.test:80/a:b\n")],
  ["a `#` without a space", steps("  - use: sh\n    run: echo a#b\n")],
  ["a comment behind a value", steps("  - use: sh # the shell\n    run: echo a # prints it\n")],
  ["comments at odd places", steps("# one\n  - use: sh\n        # two\n    run: a\n# three\n")],
  ["a comment behind an apostrophe", steps("  - use: sh\n    name: it's # fine\n    run: a\n")],
  ["a comment behind inches", steps('  - use: sh\n    name: 5" pipe # a comment\n    run: a\n')],
  [
    "a body with a member named `<<`",
    "resources: { s: { type: http, base-url: 'http://h.test' } }\nsteps:\n  - use: s\n    post: /\n    json: { <<: 1 }\n",
  ],
  ["quotes in a command", steps("  - use: sh\n    run: echo \"a\" 'b'#c\n")],
  ["a quoted command", steps("  - use: sh\n    run: 'echo \"a: b #c\"'\n")],
  ["a block", steps('  - use: sh\n    run: |\n      echo "a: b" #c\n      - @x `y` {{ z }}\n')],
  ["a block that ends with a blank line", steps("  - use: sh\n    run: >-\n      a\n\n      b\n\n")],
  ["a command on two lines", steps("  - use: sh\n    run: echo a\n      b\n")],
  ["a list at the column of its name", "resources: { sh: { type: cli } }\nsteps:\n- use: sh\n  run: a\n"],
  ["a list of a program and its arguments", steps("  - use: sh\n    run:\n      - echo\n      - a\n")],
  ["a flow list on several lines", steps("  - use: sh\n    run: [\n      echo,\n      a,\n    ]\n")],
  ["yes, no and on in texts", steps("  - use: sh\n    run: a\n    env: { A: yes, B: no, C: on, D: ~x }\n")],
  ["numbers in texts", steps("  - use: sh\n    run: a\n    env: { A: 1.10, B: 0o17, C: 017, D: 1e3 }\n")],
  ["an anchor and its alias", steps("  - use: &s sh\n    run: a\n  - use: *s\n    run: b\n")],
  ["typographic quotes", steps("  - use: sh\n    name: “fine”\n    run: a\n")],
  ["a no-break space in a text", steps("  - use: sh\n    run: |\n      \u00A0a\n")],
  ["a tab behind a colon", steps("  - use:\tsh\n    run: a\tb\n")],
  ["a tab in a block", steps("  - use: sh\n    run: |\n      if a; then\n      \tb\n      fi\n")],
  ["a document's begin and end", `---\n${steps("  - use: sh\n    run: a\n")}...\n`],
  ["a byte-order mark", `\uFEFF${steps("  - use: sh\n    run: a\n")}`],
  ["Windows line ends", steps("  - use: sh\n    run: |\n      a\n      b\n").replaceAll("\n", "\r\n")],
  ["a resource named as a field", "resources:\n  run:\n    type: cli\nsteps: [{ use: run, run: a }]\n"],
];

describe("a slip of YAML in a pipeline file", () => {
  for (const { slip, text: written, problem, mended } of slips) {
    it(`is one problem in a person's words: ${slip}`, () => {
      const text = written.replace(/^\uFEFF/, "");
      const parsed = parsePipeline(written, "a.yaml");
      const problems = parsed.kind === "invalid" ? parsed.problems : [];
      const { tree } = outlineOf(text);
      const shown = problems.map((found) => {
        const span = problemSpan(text, tree, found);
        const lineStart = text.lastIndexOf("\n", span.start - 1) + 1;
        const columns = `${span.start - lineStart + 1}-${span.end - lineStart + 1}`;
        return `${found.line}:${columns}: ${found.message}`;
      });
      assert.deepEqual(shown, [problem]);
      const fixes = problems.flatMap((found) => fixOf(text, problemSpan(text, tree, found), found) ?? []);
      assert.deepEqual(
        fixes.map(({ edits }) => edited(text, edits)),
        mended === undefined ? [] : [mended],
      );
      if (mended !== undefined) assert.equal(parsePipeline(mended, "a.yaml").kind, "valid");
    });
  }

  for (const [what, text] of valid) {
    it(`is not seen in ${what}`, () => {
      const parsed = parsePipeline(text, "a.yaml");
      assert.deepEqual(parsed.kind === "invalid" ? parsed.problems : [], []);
    });
  }

  it("is reported also where so many are in a file that they can't all be mended", () => {
    const parsed = parsePipeline(steps("  - use: sh\n    run: echo a: b\n".repeat(1500)), "a.yaml");
    assert.ok(parsed.kind === "invalid");
    assert.ok(parsed.problems.length > 0 && parsed.problems.length <= 100);
  });
});
