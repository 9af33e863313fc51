import assert from "node:assert/strict";
import type { ToolEnd } from "../../cli/toolbox.ts";
import { toolbox } from "../../cli/toolbox.ts";

/** What `--json` or a refusal printed: an object that a test looks into. */
// biome-ignore lint/suspicious/noExplicitAny: a test reads what it has just parsed, and fails where it isn't there.
export type Told = any;

/**
 * The real tool, each of whose ends is looked at in what holds for every row: no key in any output, no stack, no
 * `undefined` or `NaN` where a value should be.
 */
export async function watchedTool() {
  const box = await toolbox();
  const secrets = new Set<string>();
  const watched = (end: ToolEnd): ToolEnd => {
    for (const text of [end.stdout, end.stderr]) {
      for (const secret of secrets) assert(!text.includes(secret), `the key is shown: ${text}`);
      assert.doesNotMatch(text, /^\s+at .*:\d+:\d+\)?$/m);
      assert.doesNotMatch(text, /\bundefined\b|\bNaN\b|\[object /);
    }
    return end;
  };
  const noted = (env: Readonly<Record<string, string | undefined>>) => {
    const { PIPELINE_API_KEY: key } = env;
    // What stands before the secret part is the prefix and the key's id, which are no secret.
    if (key) secrets.add(key.replace(/^plr_[0-9a-z]+_|^plk_/, ""));
    return env;
  };
  return {
    ...box,
    spawn: (
      args: readonly string[],
      env: Readonly<Record<string, string | undefined>> = {},
      folder?: string,
    ) => box.spawn(args, noted(env), folder),
    /** Looks at the end of a process of {@link spawn} as at one of {@link run}. */
    watched,
    async run(args: readonly string[], env: Readonly<Record<string, string | undefined>> = {}) {
      return watched(await box.run(args, noted(env)));
    },
    /** Looks at what a command comes to in the process of the tests, where its own was looked at for another case. */
    async call(
      args: readonly string[],
      env: Readonly<Record<string, string | undefined>> = {},
      folder?: string,
    ) {
      return watched(await box.call(args, noted(env), folder));
    },
    /** Runs a command with `--json` and returns the one object that it printed. */
    async json(args: readonly string[], env: Readonly<Record<string, string | undefined>> = {}) {
      const end = watched(await box.run([...args, "--json"], noted(env)));
      return { ...end, told: onlyObject(end.stdout) };
    },
    /** The same by {@link call}. */
    async calledJson(args: readonly string[], env: Readonly<Record<string, string | undefined>> = {}) {
      const end = watched(await box.call([...args, "--json"], noted(env)));
      return { ...end, told: onlyObject(end.stdout) };
    },
  };
}

/** The one JSON object that a text is made of, in a line of its own. */
export function onlyObject(text: string): Told {
  assert.match(text, /^\{.*\}$/, "standard output is one JSON object in one line, and nothing else");
  return JSON.parse(text);
}
