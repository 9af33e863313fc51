import { join } from "node:path";
import { execa } from "execa";
import * as z from "zod/mini";
import type { Round } from "./round.ts";
import { kill, type Row } from "./tormentedService.ts";

/** The tool as it is shipped. */
const toolPath = join(import.meta.dirname, "../../dist/cli.js");

const told = z.object({
  ok: z.boolean(),
  command: z.string(),
  error: z.optional(z.object({ type: z.string(), message: z.string() })),
  runs: z.optional(z.array(z.object({ "run-id": z.string(), status: z.string() }))),
});

/** One call of the tool, as a process. */
export interface ToolCall {
  readonly words: readonly string[];
  /** The pipeline that only this call starts; undefined where it starts none. */
  readonly pipeline: string | undefined;
  readonly pid: number | undefined;
  /** The signals that it was sent. */
  readonly signals: Set<NodeJS.Signals>;
  end: ToolEnd | undefined;
}

interface ToolEnd {
  readonly exitCode: number | undefined;
  /** The signal that it has died of, without a chance to say anything. */
  readonly died: NodeJS.Signals | undefined;
  readonly stdout: string;
  readonly stderr: string;
  /** The rows as they were once it had ended. */
  readonly rows: readonly Row[];
}

export interface ToolCallsDeps {
  readonly round: Round;
  readonly environment: Readonly<Record<string, string>>;
  readonly folder: string;
  readonly rows: () => Promise<Row[]>;
}

/** Calls of the tool, and whether their exit codes and last words are what happened. */
export class ToolCalls {
  readonly #deps: ToolCallsDeps;
  readonly #calls: ToolCall[] = [];
  readonly #open = new Set<Promise<void>>();

  constructor(deps: ToolCallsDeps) {
    this.#deps = deps;
  }

  get all(): readonly ToolCall[] {
    return this.#calls;
  }

  get living(): readonly ToolCall[] {
    return this.#calls.filter(({ end }) => end === undefined);
  }

  make(words: readonly string[], pipeline?: string): ToolCall {
    const { round, environment, folder, rows } = this.#deps;
    const child = execa(process.execPath, [toolPath, ...words, "--json"], {
      cwd: folder,
      env: environment,
      reject: false,
      stdin: "ignore",
    });
    const call: ToolCall = { words, pipeline, pid: child.pid, signals: new Set(), end: undefined };
    this.#calls.push(call);
    if (pipeline !== undefined) round.count("starts");
    const ended: Promise<void> = child
      .then(async ({ exitCode, signal, stdout, stderr }) => {
        round.trace(`tool ${words.join(" ")}: ended`, { exitCode, signal, stdout, stderr });
        call.end = { exitCode, died: signal, stdout, stderr, rows: await rows() };
        if (exitCode === 5) round.count("refusals");
      })
      .finally(() => this.#open.delete(ended));
    this.#open.add(ended);
    return call;
  }

  signal(call: ToolCall, signal: NodeJS.Signals): void {
    if (call.pid === undefined || call.end !== undefined) return;
    call.signals.add(signal);
    kill(call.pid, signal);
  }

  /**
   * Whether each has told the truth, now that all have ended.
   * @param isUsedUp whether the org has had as many runs today as it may.
   */
  check(rows: readonly Row[], isUsedUp: boolean): void {
    const { round } = this.#deps;
    for (const { words, pipeline, signals, end } of this.#calls) {
      if (end === undefined) continue;
      const own = rows.filter((row) => row.pipeline === pipeline);
      const { exitCode, stdout, stderr } = end;
      const facts = { words, signals: [...signals], exitCode, stdout, stderr, own };
      const must = (holds: boolean, fault: string): void => round.check(holds, `the tool: ${fault}`, facts);
      must(own.length <= 1, "one call has made two runs");
      must(!/^\s+at .*:\d+:\d+\)?$/m.test(stderr), "a stack was shown");
      if (end.died === "SIGKILL") continue;
      if (end.died !== undefined) {
        // Before it could listen, and so before it had begun anything.
        must(signals.has(end.died) && own.length === 0, "it died of a signal that it should have heard");
        continue;
      }
      const said = reportOf(stdout);
      must(said !== undefined, "no JSON object was printed");
      if (said === undefined) continue;
      must(said.ok === (exitCode === 0), "the object says otherwise than the exit code");
      this.#checkReport(said, { end, signals, own, rows, must, pipeline, isUsedUp });
    }
  }

  #checkReport(
    said: z.infer<typeof told>,
    {
      end,
      signals,
      own,
      rows,
      must,
      pipeline,
      isUsedUp,
    }: {
      readonly end: ToolEnd;
      readonly signals: ReadonlySet<string>;
      readonly own: readonly Row[];
      readonly rows: readonly Row[];
      readonly must: (holds: boolean, fault: string) => void;
      readonly pipeline: string | undefined;
      readonly isUsedUp: boolean;
    },
  ): void {
    const [row] = own;
    const [run] = said.runs ?? [];
    for (const { "run-id": id, status } of said.runs ?? []) {
      const now = rows.find((one) => one.id === id)?.status;
      must(now !== undefined, "a run was told that is not there");
      const isEnd = status !== "running" && status !== "cancelling";
      must(!isEnd || now === status, "a run was told to have ended otherwise than it has");
    }
    if (pipeline === undefined) {
      must([0, 4].includes(end.exitCode ?? -1) || signals.size > 0, "an exit code that nothing explains");
      return;
    }
    switch (end.exitCode) {
      case 0:
        must(row !== undefined && row.id === run?.["run-id"], "success was told of a run that is not there");
        break;
      case 1:
        must(row !== undefined && row.status !== "succeeded", "a failure was told of a run that has none");
        break;
      case 4: {
        const text = end.stdout + end.stderr;
        const isTold = row !== undefined && text.includes(row.id);
        const isDoubted = /may have been started|may still be in work|is not known/.test(text);
        must(row === undefined || isTold || isDoubted, "a run was started that the tool doesn't tell of");
        must((said.error?.message ?? "") !== "", "a fault was told without words");
        break;
      }
      case 5:
        must(row === undefined, "a refused call has made a run");
        must(isUsedUp || !/free-day/.test(said.error?.message ?? ""), "a refusal that no limit explains");
        break;
      case 130: {
        must(signals.size > 0, "interrupted by nobody");
        const then = end.rows.find(({ id }) => id === row?.id);
        const isOver = then === undefined || then.stopped_at !== null;
        const isTold = /may still be in work|is not known|was started/.test(end.stdout + end.stderr);
        must(
          row === undefined || isOver || isTold,
          "an interrupted call has left a run in work without a word",
        );
        break;
      }
      default:
        must(false, "an exit code that nothing explains");
    }
  }
}

function reportOf(stdout: string): z.infer<typeof told> | undefined {
  try {
    return told.parse(JSON.parse(stdout));
  } catch {
    return undefined;
  }
}
