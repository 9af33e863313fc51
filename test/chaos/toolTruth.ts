import * as z from "zod/mini";
import type { Row } from "./chaosService.ts";

/** How a call of the tool with `--json` has ended. */
export interface ToolEnd {
  readonly exitCode: number | undefined;
  /** The signal that killed it, before it could print anything. */
  readonly died: NodeJS.Signals | undefined;
  readonly stdout: string;
  readonly stderr: string;
  /** The runs as they were once it had ended. */
  readonly rows: readonly ToldRow[];
}

type ToldRow = Pick<Row, "id" | "pipeline" | "status" | "stopped_at">;

interface EndedCall {
  /** The pipeline that only this call starts; undefined where it starts none. */
  readonly pipeline: string | undefined;
  /** The signals that it was sent. */
  readonly signals: ReadonlySet<string>;
  readonly end: ToolEnd;
  /** The runs once all have ended. */
  readonly rows: readonly ToldRow[];
  /** Whether the org has had as many runs today as it may. */
  readonly isUsedUp: boolean;
}

type Must = (holds: boolean, fault: string) => void;

const told = z.object({
  ok: z.boolean(),
  command: z.string(),
  error: z.optional(z.object({ type: z.string(), message: z.string() })),
  runs: z.optional(z.array(z.object({ "run-id": z.string(), status: z.string() }))),
  failed: z.optional(z.array(z.object({ "run-id": z.string() }))),
});

/** Whether the exit code and the final output of a call match what happened. */
export function checkTruth(call: EndedCall, must: Must): void {
  const { pipeline, signals, end, rows } = call;
  const own = rows.filter((row) => row.pipeline === pipeline);
  must(own.length <= 1, "one call has made two runs");
  must(!/^\s+at .*:\d+:\d+\)?$/m.test(end.stderr), "a stack was shown");
  if (end.died === "SIGKILL") return;
  if (end.died !== undefined) {
    // Before it could listen, and so before it had begun anything.
    must(signals.has(end.died) && own.length === 0, "it died of a signal that it should have heard");
    return;
  }
  const said = reportOf(end.stdout);
  must(said !== undefined, "no JSON object was printed");
  if (said === undefined) return;
  must(said.ok === (end.exitCode === 0), "the object says otherwise than the exit code");
  for (const { "run-id": id, status } of said.runs ?? []) {
    const now = rows.find((row) => row.id === id)?.status;
    must(now !== undefined, "a run was told that is not there");
    const isEnd = status !== "running" && status !== "cancelling";
    must(!isEnd || now === undefined || now === status, "a run was told to have ended otherwise than it has");
  }
  if (pipeline === undefined) {
    // Some of several runs could be cancelled, others not.
    const isPartly = end.exitCode === 1 && (said.runs ?? []).length > 0 && (said.failed ?? []).length > 0;
    const isExplained = [0, 4].includes(end.exitCode ?? -1) || isPartly || signals.size > 0;
    must(isExplained, "an exit code that nothing explains");
  } else {
    checkStart(call, said, own[0], must);
  }
}

function checkStart(
  { end, signals, isUsedUp }: EndedCall,
  { runs: [run] = [], error }: z.infer<typeof told>,
  row: ToldRow | undefined,
  must: Must,
): void {
  const text = end.stdout + end.stderr;
  const isDoubted = /may have been started|may still be|it is unknown whether/.test(text);
  switch (end.exitCode) {
    case 0:
      must(row !== undefined && row.id === run?.["run-id"], "success was told of a run that is not there");
      break;
    case 1:
      must(row !== undefined && row.status !== "succeeded", "a failure was told of a run that has none");
      break;
    case 4: {
      const isTold = row !== undefined && text.includes(row.id);
      must(row === undefined || isTold || isDoubted, "a run was started that the tool doesn't tell of");
      must((error?.message ?? "") !== "", "a fault was told without words");
      break;
    }
    case 5:
      must(row === undefined, "a refused call has made a run");
      must(isUsedUp || !/free-day/.test(error?.message ?? ""), "a refusal that no limit explains");
      break;
    case 130: {
      must(signals.size > 0, "interrupted by nobody");
      const then = end.rows.find(({ id }) => id === row?.id);
      const isOver = then === undefined || then.stopped_at !== null;
      const isTold = isDoubted || /was started/.test(text);
      must(row === undefined || isOver || isTold, "an interrupted call has left a run active without a word");
      break;
    }
    default:
      must(false, "an exit code that nothing explains");
  }
}

function reportOf(stdout: string): z.infer<typeof told> | undefined {
  try {
    return told.parse(JSON.parse(stdout));
  } catch {
    return undefined;
  }
}
