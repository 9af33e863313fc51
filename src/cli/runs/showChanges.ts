import { exitCodes } from "../../contract/errors.ts";
import { nameOf } from "../../contract/run.ts";
import { changeNotes, ranText } from "../../text/changes.ts";
import type { Tool } from "../tool.ts";
import { ago } from "./listRuns.ts";
import { namedOrLatest } from "./showRun.ts";

/**
 * `pipeline runs diff [id]`: shows what changed since the pipeline last succeeded, for the caller's newest run by default.
 * @throws as `ServiceClient.run` and `ServiceClient.changes`.
 */
export async function showChanges(tool: Tool, _: object, named?: string): Promise<number> {
  const { output, interrupted } = tool;
  const client = await tool.connect();
  const runId = await namedOrLatest(client, named, interrupted);
  const [run, changes] = await Promise.all([
    client.run(runId, interrupted),
    client.changes(runId, interrupted),
  ]);
  const { lastPassed, diffs = {} } = changes;
  const { style } = output.out;
  const looks: Readonly<Record<string, (text: string) => string>> = {
    "+": style.good,
    "-": style.bad,
    "@": style.dim,
  };
  const since =
    lastPassed === undefined
      ? []
      : [
          `Since ${nameOf(run)} last succeeded: ${lastPassed.runId}, ${ago(lastPassed.createdAt, client.clock.now())}`,
        ];
  const files = Object.entries(diffs).flatMap(([path, diff]) => [
    "",
    style.bold(path),
    ...diff.split("\n").map((line) => (looks[line.charAt(0)] ?? String)(line)),
  ]);
  const text = [...since, ...changeNotes(run, changes), ...files].join("\n");
  const { commit, inputs } = run;
  output.result(
    "runs diff",
    { runId, ...(commit && { commit }), ...(inputs && { inputs }), ...changes },
    text,
  );
  return exitCodes.done;
}

/** `pipeline runs file [id]`: prints a run's pipeline file as it ran, and the files that it includes. */
export async function showFile(tool: Tool, _: object, named?: string): Promise<number> {
  const { output, interrupted } = tool;
  const client = await tool.connect();
  const runId = await namedOrLatest(client, named, interrupted);
  const ran = await client.ranPipeline(runId, interrupted);
  output.result("runs file", { runId, ...ran }, ranText(ran).trimEnd());
  return exitCodes.done;
}
