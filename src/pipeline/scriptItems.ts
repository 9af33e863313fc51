const shells = /^(?:ba|da|z|k|a|fi)?sh$/;
/** They take all that follows for their script. */
const windowsShells: ReadonlyMap<string, RegExp> = new Map([
  ["cmd", /^\/[ck]/i],
  ["powershell", /^[-/]c(?:ommand)?$/i],
  ["pwsh", /^[-/]c(?:ommand)?$/i],
]);

/**
 * The items of a list to run that a shell takes for its script: of `[env, sh, -ec, 'echo "$1"', sh, a]` the fourth. Those behind it
 * are values for the script, which can't become a part of it.
 */
export function scriptItems(run: readonly unknown[]): ReadonlySet<number> {
  for (const [at, word] of run.entries()) {
    const program = programOf(word);
    const script = shells.test(program) ? scriptBehind(run, at) : undefined;
    if (script !== undefined) return new Set([script]);
    const flagOf = windowsShells.get(program);
    if (flagOf === undefined) continue;
    const flag = run.findIndex((item, index) => index > at && flagOf.test(String(item)));
    return new Set(flag === -1 ? [] : [...run.keys()].slice(flag + 1));
  }
  return new Set();
}

function programOf(word: unknown): string {
  const name = String(word).split(/[/\\]/).at(-1) ?? "";
  return name.toLowerCase().replace(/\.exe$/, "");
}

/** @param at the shell's own place. */
function scriptBehind(run: readonly unknown[], at: number): number | undefined {
  let isCommand = false;
  for (let index = at + 1; index < run.length; index += 1) {
    const word = String(run[index]);
    if (!/^[-+]./.test(word)) return isCommand ? index : undefined;
    isCommand ||= /^-[A-Za-z]*c/.test(word);
    // `-o pipefail` is one option.
    if (/^[-+][A-Za-z]*[oO]$/.test(word)) index += 1;
  }
  return undefined;
}
