import { execa } from "execa";
import { toolPath } from "../service/programs.ts";
import { kill, type Row } from "./chaosService.ts";
import type { Round } from "./round.ts";
import { checkTruth, type ToolEnd } from "./toolTruth.ts";

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

export interface ToolCallsDeps {
  readonly round: Round;
  readonly environment: Readonly<Record<string, string>>;
  readonly folder: string;
  readonly rows: () => Promise<Row[]>;
}

/** Calls the tool, and checks its exit codes and final output against what happened. */
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
    const ended: Promise<void> = child
      .then(async ({ exitCode, signal, stdout, stderr }) => {
        round.trace(`tool ${words.join(" ")}: ended`, { exitCode, signal, stdout, stderr });
        call.end = { exitCode, died: signal, stdout, stderr, rows: await rows() };
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
   * Checks what each call reported, once all have ended.
   * @param isUsedUp whether the org has had as many runs today as it may.
   */
  check(rows: readonly Row[], isUsedUp: boolean): void {
    const { round } = this.#deps;
    for (const { words, pipeline, signals, end } of this.#calls) {
      if (end === undefined) continue;
      const own = rows.filter((row) => row.pipeline === pipeline);
      const facts = { words, signals: [...signals], ...end, rows: own };
      const must = (holds: boolean, fault: string): void => round.check(holds, `the tool: ${fault}`, facts);
      checkTruth({ pipeline, signals, end, rows, isUsedUp }, must);
    }
  }
}
