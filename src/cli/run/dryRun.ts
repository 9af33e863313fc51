import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import * as z from "zod/mini";
import { isServiceNamed } from "../../client/logins/logins.ts";
import { findProject } from "../../client/project.ts";
import { exitCodes } from "../../contract/errors.ts";
import { formatProblem } from "../../pipeline/mistakes/problem.ts";
import { withoutStarter } from "../../project/environment.ts";
import { type DryRun, dryRunSchema } from "../../runner/launch/messages.ts";
import { type DryJob, dryRunArgument } from "../../runner/launch/protocol.ts";
import { replaceControlCharacters } from "../../text/controlCharacters.ts";
import { counted } from "../../text/counted.ts";
import { duration } from "../../text/time.ts";
import type { Facts } from "../output/outputs.ts";
import { loadService, type Tool } from "../tool.ts";
import { checkPipelines, noPipelinesHere, wantedPipelines } from "./namedPipelines.ts";
import { inputsOfRuns, inputValuesOf } from "./runInputs.ts";
import type { RunFlags } from "./runPipelines.ts";

/**
 * `pipeline run --dry-run`: shows what each step would send or run, and what would make it fail. Starts no run, no step and no
 * service.
 * @returns the exit code: 1 if something would fail.
 * @throws PipelineError as a start would.
 */
export async function dryRunPipelines(
  tool: Tool,
  named: readonly string[],
  flags: RunFlags,
): Promise<number> {
  const { output, folder, env } = tool;
  const given = await inputValuesOf(flags.input, tool);
  const here = await findProject(folder);
  if (here === undefined) throw await noPipelinesHere(folder);
  const { root } = here;
  const project = flags.project ?? here.name;
  const where = { client: undefined, project, root };
  const names = await wantedPipelines(tool, where, named, flags.tag);
  const problem = await checkPipelines(tool, names, where);
  if (problem !== undefined) throw problem;
  const inputs = await inputsOfRuns(tool, names, given, where);
  const { ProjectPipelines, fixedInputs, requireStep } = await loadService(
    () => import("../../service/runs/projectPipelines.ts"),
  );
  const files = new ProjectPipelines();
  const environment = Object.entries(withoutStarter(env)).map(([name, value]) => `${name}=${value}`);
  const { from: fromStep, timeLimit, connect: isConnecting = false } = flags;
  const found = [];
  for (const name of names) {
    const { pipeline, source, warnings } = await files.find([{ name: project, root }], name);
    for (const warning of warnings)
      output.warn(replaceControlCharacters(formatProblem(source.path, warning)));
    requireStep(pipeline, fromStep);
    const fixed = fixedInputs(pipeline, inputs.get(name));
    found.push({
      path: source.path,
      job: { root, pipeline, project, environment, fromStep, isConnecting, inputs: fixed },
    });
  }
  const runs = await look(
    found.map(({ job }) => job),
    tool,
  );
  if (await isServiceNamed(env)) {
    output.warn(
      "This looks at the programs, files and variables of this machine; the service in use may run pipelines elsewhere.",
    );
  }
  const dryRuns = found.flatMap(({ path, job: { pipeline } }, index): Shown[] => {
    const run = runs[index];
    const limit = timeLimit ?? pipeline.timeLimitSeconds;
    return run === undefined ? [] : [{ pipeline: pipeline.name, path, timeLimitSeconds: limit, ...run }];
  });
  for (const [index, run] of dryRuns.entries()) {
    if (index > 0) output.line("");
    print(run, tool);
  }
  const problems = dryRuns.flatMap((run) => [run, ...run.steps].flatMap((each) => each.problems)).length;
  if (problems === 0) {
    output.result("run", { runs: [], dryRuns }, "");
    if (!output.json) output.note("No problem found. Nothing was started.");
    return exitCodes.done;
  }
  const message = `A run would fail: ${counted(problems, "problem")}. Nothing was started.`;
  output.failure("run", { type: "run-failed", message, next: "" }, { runs: [], dryRuns });
  return exitCodes.problemsFound;
}

type Shown = NonNullable<Facts<"run">["dryRuns"]>[number];

/** Has the runner's program do the dry run, since it has everything that steps need. @throws the signal's reason. */
async function look(jobs: readonly DryJob[], { env, interrupted, programs }: Tool): Promise<DryRun[]> {
  const runnerPath = join(programs, "runner.js");
  const looking = promisify(execFile)(process.execPath, [runnerPath, dryRunArgument], {
    env: { ...withoutStarter(env), ELECTRON_RUN_AS_NODE: "1" },
    maxBuffer: Number.POSITIVE_INFINITY,
    signal: interrupted,
    windowsHide: true,
  });
  // Ignored: the way the program ends says more.
  looking.child.stdin?.on("error", () => {}).end(JSON.stringify(jobs));
  const { stdout } = await looking.catch((error: unknown) => {
    interrupted.throwIfAborted();
    throw error;
  });
  return z.array(dryRunSchema).parse(JSON.parse(stdout));
}

function print({ pipeline, path, timeLimitSeconds, inputs, problems, steps }: Shown, { output }: Tool): void {
  const { bold, dim, bad, caution } = output.out.style;
  output.line(
    `${bold(pipeline)}, ${path}: ${counted(steps.length, "step")}, up to ${duration(timeLimitSeconds * 1000)}`,
  );
  const tell = (lines: readonly string[], paint: typeof bold, what = "") => {
    for (const line of lines) output.line(`   ${paint(`${what}${line}`)}`);
  };
  tell(
    Object.entries(inputs).map(([name, value]) => `${name} = ${value}`),
    String,
  );
  tell(problems, bad, "problem: ");
  for (const [index, step] of steps.entries()) {
    if (step.cleanup && !steps[index - 1]?.cleanup) output.line("finally");
    output.line(`${String(index + 1).padStart(2)} ${bold(step.name)}, ${step.use} (${step.type})`);
    if (step.skipped !== undefined) tell([step.skipped], dim, "skipped: ");
    tell(step.conditions, dim);
    tell(step.does, String, "  ");
    tell(step.problems, bad, "problem: ");
    tell(step.warnings, caution, "warning: ");
  }
}
