import { t } from "@vscode/l10n";

const aProblem = /^pipelines\/.*\.yaml:\d+:\d+: /;
const andMore = /^and (\d+) more$/;

/** A text for where the editor has one line: of the problems of a pipeline file the first, and how many more there are. */
export function inOneLine(text: string): string {
  const lines = text.split("\n");
  const problems = lines.filter((line) => aProblem.test(line));
  const [first] = problems;
  if (first === undefined) return lines.join(" ");
  const others = problems.length - 1 + sum(lines.map((line) => Number(andMore.exec(line)?.[1] ?? 0)));
  const told = others === 0 ? first : t("{0} (and {1} more)", first, others);
  const before = lines.slice(0, lines.indexOf(first));
  const after = lines
    .slice(lines.lastIndexOf(problems.at(-1) ?? first) + 1)
    .filter((line) => !andMore.test(line));
  const end = after.length === 0 || /[.?!]$/.test(told) ? "" : ".";
  return [...before, `${told}${end}`, ...after].join(" ");
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((one, other) => one + other, 0);
}
