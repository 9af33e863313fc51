// biome-ignore-all lint/suspicious/noTemplateCurlyInString: snippets.
import * as z from "zod/mini";
import { problemOfPort, problemOfReadyAddress } from "../file/address.ts";
import { outputs } from "../file/expectation.ts";
import { expectedText, field, needed, noneByDefault, typeText } from "../file/fieldTexts.ts";
import {
  leadsOut,
  readAllExpected,
  readTexts,
  readTimeLimit,
  type StepReading,
  writtenText,
  writtenTimeout,
} from "../file/readValues.ts";
import { hasExpression } from "../file/textPieces.ts";
import {
  everyStep,
  expectedWords,
  nonEmpty,
  type PlannedStep,
  type TextExpectation,
  that,
  timeoutField,
  variableName,
  words,
} from "../file/values.ts";
import { quoted } from "../mistakes/problem.ts";
import { type ReadResource, resourceType } from "./resourceType.ts";

/** The cli resource and its steps as a pipeline file writes them. */

const environment = z.record(variableName, words);

const shells = ["bash", "sh"] as const;
const shell = z.enum(shells, "expected bash or sh");
const shellText = { bounds: "`bash` or `sh`", values: [...shells] };
const shellByDefault =
  "`sh`; `bash` where the text has what only bash knows, such as `[[ … ]]`; with a pipe, a shell that fails with each of its programs; `cmd.exe` on Windows";

const aCommand = "expected a line for the shell, or a list of a program and its arguments";

const cliResourceSchema = z.strictObject({
  type: needed(z.literal("cli"), typeText),
  shell: field(shell, {
    meaning: "The shell of steps whose `run` is a text. A first line `#!` of a step goes before it.",
    byDefault: shellByDefault,
    ...shellText,
  }),
  cwd: field(nonEmpty, {
    meaning: "The folder in which programs run, against the project's folder.",
    byDefault: "`.`",
    values: ["."],
  }),
  env: noneByDefault(
    environment,
    "Environment variables of the programs. A step's own of the same name wins.",
  ),
  timeout: timeoutField(
    "How long each program may take. Those in the background may take until the run ends.",
    "the run's time limit alone",
  ),
});

/** The fields of a step whose program goes on while later steps run. */
const backgroundFile = {
  background: field(z.boolean(), {
    meaning:
      "Whether the program goes on while later steps run, as a server does: the step succeeds once it is `ready`, and the program is ended with the run.",
    byDefault: "`false`",
    values: ["true"],
  }),
  ready: field(
    z.strictObject(
      {
        port: field(words, {
          meaning: "It takes connections on this port of this machine.",
          byDefault: "none",
          bounds: "from `1` to `65535`",
          values: ["8080"],
        }),
        output: noneByDefault(expectedWords, `What it has printed: ${expectedText}.`),
        http: field(nonEmpty, {
          meaning:
            "This address answers with a status from 200 to 299. Redirects are followed, and a certificate isn't checked.",
          byDefault: "none",
          bounds: "begins with `http://` or `https://`",
          values: ["http://127.0.0.1:8080/health"],
        }),
        within: timeoutField(
          "How long it may take to be ready. After that it is ended, and the step fails.",
          "`20s`",
        ),
      },
      "expected what shows it, such as `{ port: 8080 }` or `{ output: is open }`",
    ),
    {
      meaning: "What shows that a program in the background is ready: all that stands here.",
      byDefault: "that it has started",
    },
  ),
};

const cliStepFileSchema = z.strictObject({
  ...everyStep,
  run: field(z.union([nonEmpty, z.array(words).check(z.minLength(1, aCommand))], aCommand), {
    meaning:
      "What to run. A text is lines for the shell, and the step is over at the first line that fails; a first line such as `#!/usr/bin/env python3` names another program for them. A list is a program and its arguments, with no shell between.",
  }),
  shell: field(shell, {
    meaning: "The shell of a `run` that is a text: `bash` runs with `-e -o pipefail`, `sh` with `-e`.",
    byDefault: `the resource's, else ${shellByDefault}`,
    ...shellText,
  }),
  cwd: field(nonEmpty, {
    meaning: "The folder in which it runs, against the project's folder.",
    byDefault: "the resource's, else `.`",
    values: ["."],
  }),
  env: field(environment, {
    meaning: "Environment variables of the program. They win over the resource's of the same name.",
    byDefault: "the resource's",
  }),
  stdin: field(words, {
    meaning: "The text that the program reads from its standard input.",
    byDefault: "no input",
  }),
  timeout: timeoutField(
    "How long the program may take. After that it is ended, and the step fails.",
    "the resource's, else the run's time limit alone",
  ),
  ...backgroundFile,
  keep: field(
    z.union([nonEmpty, z.array(nonEmpty).check(z.minLength(1))], "expected a file's path, or a list of them"),
    {
      meaning:
        "Files that the program leaves, kept with the run whether it succeeds or fails: paths or patterns such as `reports/**/*.xml`, from the folder in which it runs. Texts are masked.",
      byDefault: "none",
      bounds: "within the project's folder; 100 files of at most 8 MiB",
    },
  ),
  expect: field(
    z.strictObject({
      "exit-code": field(z.int().check(z.nonnegative()), {
        meaning: "The program's exit code.",
        byDefault: "`0`",
        bounds: "a whole number, 0 or more",
        values: ["0", "1"],
      }),
      output: noneByDefault(expectedWords, `What standard output or standard error holds: ${expectedText}.`),
      stdout: noneByDefault(expectedWords, `What standard output holds: ${expectedText}.`),
      stderr: noneByDefault(expectedWords, `What standard error holds: ${expectedText}.`),
      that,
    }),
    {
      meaning: "How the program has to end; otherwise the step fails.",
      byDefault: "an exit code of `0`",
    },
  ),
});

type CliResourceFile = z.infer<typeof cliResourceSchema>;
type CliStepFile = z.infer<typeof cliStepFileSchema>;

export const cliType = resourceType({
  type: "cli",
  meaning: "Runs a program of this machine and looks at how it ends and what it prints.",
  actions: "`run`",
  file: { resource: cliResourceSchema, step: cliStepFileSchema },
  snippets: {
    resource: { name: "shell", fields: "" },
    step: { name: "unit tests", lines: ["run: ${2:npm test}"] },
  },
  validResource: { type: "cli" },
  readResource: (resource) => (step, reading) => readCliStep(step, resource, reading),
});

/** Resolves a step against its resource. @returns undefined when it has no `run`. */
function readCliStep(
  file: CliStepFile,
  resource: ReadResource<CliResourceFile>,
  reading: StepReading,
): CliStep | undefined {
  const { path, problems, source } = reading;
  if (file.run === undefined) return undefined;
  const run =
    typeof file.run === "string"
      ? file.run
      : file.run.map((word, index) => writtenText(word, [...path, "run", index], source));
  const chosen = file.shell ?? resource.file.shell;
  // The program's name may look like a command line, but then its arguments hardly do too.
  if (typeof run !== "string" && run.every((word) => /^[\w.-]+\s/.test(word))) {
    problems.add(
      [...path, "run", 0],
      "a list is a program and each of its arguments; lines for the shell are one text, which begins with `run: |`",
    );
  }
  if (file.shell !== undefined && typeof run !== "string") {
    problems.addToName([...path, "shell"], "a list is run without a shell; write `run` as a text");
  }
  const background = readBackground(file, reading);
  if (background !== undefined) refuseEnd(file, reading);
  const keep = [file.keep ?? []].flat();
  for (const [index, pattern] of keep.entries()) {
    if (leadsOut(pattern)) {
      problems.add(
        [...path, "keep", ...(typeof file.keep === "string" ? [] : [index])],
        "this leads out of the folder; what is kept is within it, such as `reports/*.xml`",
      );
    }
  }
  const timeout = background === undefined ? writtenTimeout({ file, path }, resource, problems) : undefined;
  const expected = (output: (typeof outputs)[number]) => {
    const written = file.expect?.[output];
    return written === undefined ? undefined : readAllExpected(written, [...path, "expect", output], reading);
  };
  return {
    type: "cli",
    name: file.name ?? quoted(typeof run === "string" ? firstLine(run) : run.join(" ")),
    use: file.use,
    run,
    ...(chosen && { shell: chosen }),
    cwd: file.cwd ?? resource.file.cwd ?? ".",
    env: {
      ...readTexts(resource.file.env, [...resource.path, "env"], source),
      ...readTexts(file.env, [...path, "env"], source),
    },
    ...(file.stdin !== undefined && { stdin: writtenText(file.stdin, [...path, "stdin"], source) }),
    ...(timeout !== undefined && { timeoutMilliseconds: timeout }),
    ...(background && { background }),
    ...(keep.length > 0 && { keep }),
    expect: {
      exitCode: file.expect?.["exit-code"] ?? 0,
      output: expected("output"),
      stdout: expected("stdout"),
      stderr: expected("stderr"),
    },
  };
}

/** Reports fields about the program's end in a step that doesn't wait for it. */
function refuseEnd(file: CliStepFile, { path, problems }: StepReading): void {
  if (file.timeout !== undefined) {
    problems.addToName(
      [...path, "timeout"],
      "a program in the background goes on until the run ends; `ready.within` says how soon it has to be ready",
    );
  }
  if (file.keep !== undefined) {
    problems.addToName(
      [...path, "keep"],
      "a program in the background hasn't left its files yet when its step ends; a later step can keep them, in `finally` too",
    );
  }
  for (const field of ["exit-code", ...outputs] as const) {
    if (file.expect?.[field] === undefined) continue;
    problems.addToName(
      [...path, "expect", field],
      "a program in the background hasn't ended when its step has; `ready` says what is waited for",
    );
  }
}

function firstLine(text: string): string {
  return text.trim().split("\n", 1)[0] ?? text;
}

/** A step that runs a program, resolved against its resource and ready to run. */
export interface CliStep extends PlannedStep {
  readonly type: "cli";
  /** A line for the shell, or a program and its arguments without one. */
  readonly run: string | readonly string[];
  /** The shell of a text; undefined for the machine's own. */
  readonly shell?: (typeof shells)[number] | undefined;
  /** Relative to the project's folder. */
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly stdin?: string | undefined;
  /** Undefined for one that has only the run's time limit. */
  readonly timeoutMilliseconds?: number | undefined;
  /** Undefined for a program whose end the step waits for. */
  readonly background?: Background | undefined;
  /** Patterns of files that are saved as artifacts. */
  readonly keep?: readonly string[] | undefined;
  readonly expect: { readonly exitCode: number } & {
    readonly [Output in (typeof outputs)[number]]?: readonly TextExpectation[] | undefined;
  };
}

/** A program in the background, and what shows that it is ready; all of it has to. */
export interface Background {
  readonly port?: string | undefined;
  readonly output?: readonly TextExpectation[] | undefined;
  readonly http?: string | undefined;
  readonly withinMilliseconds: number;
}

/** Shorter than a run's time limit, so that the message says what is missing. */
const readyByDefault = 20_000;

/** @returns undefined for a step that waits for its program's end. */
function readBackground({ background, ready }: CliStepFile, reading: StepReading): Background | undefined {
  const { path, problems, source } = reading;
  if (background !== true) {
    if (ready !== undefined) {
      problems.addToName(
        [...path, "ready"],
        "only a program with `background: true` is waited for like this",
      );
    }
    return undefined;
  }
  const { port, output, http, within } = ready ?? {};
  if (ready !== undefined && port === undefined && output === undefined && http === undefined) {
    problems.add([...path, "ready"], "`ready` needs `port`, `output` or `http`");
  }
  const at = (field: keyof NonNullable<typeof ready>) => [...path, "ready", field];
  const check = (field: "port" | "http", text: string | undefined, problemOf: typeof problemOfPort) => {
    const problem = text === undefined || hasExpression(text) ? undefined : problemOf(text);
    if (problem !== undefined) problems.add(at(field), problem);
  };
  const portText = port === undefined ? undefined : writtenText(port, at("port"), source);
  check("port", portText, problemOfPort);
  check("http", http, problemOfReadyAddress);
  return {
    ...(portText !== undefined && { port: portText }),
    ...(output !== undefined && { output: readAllExpected(output, at("output"), reading) }),
    ...(http !== undefined && { http }),
    withinMilliseconds: within === undefined ? readyByDefault : readTimeLimit(within, at("within"), problems),
  };
}
