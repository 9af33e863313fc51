import { join } from "node:path";
import { npmCommand, withoutScriptVariables } from "../scripts/process/npm.ts";
import { Program, runProgram } from "../scripts/process/program.ts";
import { projectRoot } from "../scripts/projectRoot.ts";
import { TemporaryFolder } from "../test/temporaryFolder.ts";
import type { Benchmark, Measured, Setting } from "./benchmark.ts";
import { median } from "./median.ts";

/** Each takes the better part of a minute, and half a gigabyte. */
const rounds = 5;
const install = "npm install";

/** How long a person waits on a fresh clone until there is an address to open, beside npm's own part of it. */
export const firstMinute: Benchmark = {
  name: "firstMinute",
  decides: "whether a person who tries it waits for anything but npm",
  measure,
};

interface Round {
  readonly installed: number;
  /** From the beginning of the install to the address. */
  readonly served: number;
  /** From the beginning of a second `npm start` to the address. */
  readonly again: number;
}

async function measure({ signal, say }: Setting): Promise<Measured> {
  const measured: Round[] = [];
  // The first round fills npm's cache.
  for (let round = 0; round <= rounds; round += 1) {
    say(`clone ${round} of ${rounds}`);
    const times = await inFreshClone(signal);
    if (round > 0) measured.push(times);
  }
  const floor = measured.map(({ installed }) => installed);
  const row = (name: string, milliseconds: readonly number[]) => ({
    name,
    figures: [
      { name: "median", value: median(milliseconds) / 1000, unit: "s" as const },
      { name: "fastest", value: Math.min(...milliseconds) / 1000, unit: "s" as const },
      {
        name: "ratio",
        value: median(milliseconds) / median(floor),
        unit: "×" as const,
        beside: install,
      },
    ],
  });
  const served = row(
    `${install} && npm start`,
    measured.map((round) => round.served),
  );
  const figures = served.figures.map((one) =>
    one.name === "ratio" ? { ...one, goal: { atMost: 1.3 } } : one,
  );
  const again = row(
    "npm start, from then on",
    measured.map((round) => round.again),
  );
  return {
    kind: "measured",
    rounds,
    tables: [{ rows: [row(install, floor), { ...served, figures }, again] }],
  };
}

async function inFreshClone(signal: AbortSignal): Promise<Round> {
  await using folder = await TemporaryFolder.make("first-minute");
  const clone = join(folder.path, "clone");
  await succeed("git", ["clone", "--quiet", projectRoot, clone], {}, signal);
  const [npm, ...leading] = npmCommand(process.env);
  const setting = { cwd: clone, env: withoutScriptVariables(process.env) };
  const began = performance.now();
  await succeed(npm, [...leading, "install"], setting, signal);
  const installed = performance.now() - began;
  const toAddress = async () => {
    const start = performance.now();
    const words = [...leading, "start", "--", "--served", "--port", "0"];
    await using program = new Program(npm, words, setting);
    const [, address] = (await program.outputMatching(/VS Code is ready: (http:\S+)\n/, signal)) ?? [];
    const milliseconds = performance.now() - start;
    if (address === undefined) throw new Error(`npm start told no address:\n${program.output}`);
    // With the token it hands out a cookie, and leads to the page.
    const { status } = await fetch(address, { redirect: "manual", signal });
    if (status !== 302) throw new Error(`The address that npm start told is answered by ${status}`);
    return milliseconds;
  };
  return { installed, served: installed + (await toAddress()), again: await toAddress() };
}

async function succeed(command: string, words: readonly string[], setting: object, signal: AbortSignal) {
  const { exitCode, output } = await runProgram(command, words, setting, signal);
  if (exitCode !== 0) throw new Error(`${command} ${words.join(" ")} ended with ${exitCode}:\n${output}`);
}
