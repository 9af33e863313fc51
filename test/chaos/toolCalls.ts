import { execa } from "execa";
import { toolPath } from "../service/programs.ts";
import { type ChaosService, kill, type Row } from "./chaosService.ts";
import type { Round } from "./round.ts";
import { checkTruth, type ToolEnd } from "./toolTruth.ts";

/** One call of the tool, as a process. */
interface ToolCall {
  readonly words: readonly string[];
  /** The pipeline that only this call starts; undefined where it starts none. */
  readonly pipeline: string | undefined;
  readonly pid: number | undefined;
  /** The signals that it was sent. */
  readonly signals: Set<NodeJS.Signals>;
  end: ToolEnd | undefined;
}

/** Calls the tool, and checks its exit codes and final output against what happened. */
export class ToolCalls {
  readonly all: ToolCall[] = [];
  readonly #service: ChaosService;
  readonly #round: Round;

  constructor(service: ChaosService, round: Round) {
    this.#service = service;
    this.#round = round;
  }

  get living(): readonly ToolCall[] {
    return this.all.filter(({ end }) => end === undefined);
  }

  make(words: readonly string[], pipeline?: string): void {
    const { environment, project } = this.#service;
    const child = execa(process.execPath, [toolPath, ...words, "--json"], {
      cwd: project,
      env: environment,
      reject: false,
      stdin: "ignore",
    });
    const call: ToolCall = { words, pipeline, pid: child.pid, signals: new Set(), end: undefined };
    this.all.push(call);
    void child.then(async ({ exitCode, signal, stdout, stderr }) => {
      this.#round.trace(`tool ${words.join(" ")}: ended`, { exitCode, signal, stdout, stderr });
      call.end = { exitCode, died: signal, stdout, stderr, rows: await this.#service.rows() };
    });
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
    for (const { words, pipeline, signals, end } of this.all) {
      if (end === undefined) continue;
      const own = rows.filter((row) => row.pipeline === pipeline);
      const facts = { words, signals: [...signals], ...end, rows: own };
      const must = (holds: boolean, fault: string): void =>
        this.#round.check(holds, `the tool: ${fault}`, facts);
      checkTruth({ pipeline, signals, end, rows, isUsedUp }, must);
    }
  }
}
