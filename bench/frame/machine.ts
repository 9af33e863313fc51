import { cpus, loadavg, release, totalmem, type } from "node:os";

/** What figures were measured on: none means anything without. */
export interface Machine {
  readonly system: string;
  readonly processors: string;
  readonly memoryBytes: number;
  readonly node: string;
  /** How many processes wanted a processor in the last 1, 5 and 15 minutes. */
  readonly load: readonly number[];
}

export function thisMachine(): Machine {
  return {
    system: `${type()} ${release()}`,
    processors: `${cpus().length} × ${cpus()[0]?.model.trim() ?? "unknown"}`,
    memoryBytes: totalmem(),
    node: process.versions.node,
    load: loadNow(),
  };
}

export function loadNow(): readonly number[] {
  return loadavg().map((value) => Math.round(value * 10) / 10);
}
