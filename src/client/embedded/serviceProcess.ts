import type { spawn } from "node:child_process";
import { PipelineError } from "../../contract/errors.ts";
import { lastLines, openServiceLog, serviceLogFile } from "../../machine/dataFolder.ts";
import { type Environment, lastingEnvironment } from "../../project/environment.ts";
import type { FindDeps } from "./findEmbedded.ts";

export interface ServiceProgram {
  readonly folder: string;
  /** The Node that runs the service, or an editor's Electron, which serves as one. */
  readonly execPath: string;
  /** The service's main file. */
  readonly servicePath: string;
  readonly env: Environment;
  readonly spawn: typeof spawn;
}

/**
 * Why the embedded service may be started: something needs it, which doesn't start one that a person has stopped; or a person
 * has asked for a run or for the service itself.
 */
export type StartWhen = "needed" | "asked";

export interface ConnectDeps extends Omit<FindDeps, "env">, Omit<ServiceProgram, "spawn"> {
  readonly spawn?: typeof spawn;
  /** The face's version, which is its service's too; the product's own when left out. */
  readonly version?: string | undefined;
  /** `needed` when left out. */
  readonly start?: StartWhen;
}

/** The state of a spawned service. */
export type ServiceProcess =
  | { readonly kind: "running" }
  /** Another service holds the folder's lock, or a person has stopped the service meanwhile. */
  | { readonly kind: "yielded" }
  | { readonly kind: "failed"; readonly error: PipelineError };

/**
 * Spawns the embedded service, detached from its starter: `execPath servicePath --idle-exit`, in the data folder, with its
 * output in `service.log`.
 *
 * The service's side is `service/serveMachine.ts`: it takes an exclusive lock in `PIPELINE_DATA_DIR` and writes the
 * connection file once it answers. Without the lock it exits with code 0, at once or, with `--take-over`, after some seconds.
 * Any other exit is a failure, whose reason is in the log.
 *
 * @param takesOver whether it replaces a service that is leaving, and waits some seconds for it.
 * @returns a function that reads the process's state.
 */
export async function spawnService(
  program: ServiceProgram,
  takesOver: boolean,
): Promise<() => Promise<ServiceProcess>> {
  const { folder, execPath, servicePath } = program;
  await using log = await openServiceLog(folder);
  const { size: logStart } = await log.stat();
  const words = [servicePath, "--idle-exit", ...(takesOver ? ["--take-over"] : [])];
  const child = program.spawn(execPath, words, {
    cwd: folder,
    env: { ...lastingEnvironment(program.env), ELECTRON_RUN_AS_NODE: "1", PIPELINE_DATA_DIR: folder },
    detached: true,
    windowsHide: true,
    stdio: ["ignore", log.fd, log.fd],
  });
  let state: () => Promise<ServiceProcess> = async () => ({ kind: "running" });
  child.once("error", (cause) => {
    const error = new PipelineError("internal", `The embedded service can't be run by ${execPath}.`, {
      cause,
      next: "Check that this program is there and may be run.",
    });
    state = async () => ({ kind: "failed", error });
  });
  child.once("exit", (code, killedBy) => {
    state = async () =>
      code === 0
        ? { kind: "yielded" }
        : { kind: "failed", error: await failure(folder, logStart, code ?? killedBy ?? "unknown") };
  });
  child.unref();
  return () => state();
}

async function failure(folder: string, logStart: number, end: number | string): Promise<PipelineError> {
  const lines = await lastLines(folder, logStart, 40).catch((): string[] => []);
  const how = typeof end === "number" ? `exit code ${end}` : `signal ${end}`;
  const said = lastWords(lines);
  return new PipelineError(
    "internal",
    `The embedded service ended with ${how} before it answered${said === "" ? "." : `: ${said}`}`,
    { next: `Its log is ${serviceLogFile(folder)}.` },
  );
}

/** The message of an uncaught error, without its stack; otherwise the last lines. */
function lastWords(lines: readonly string[]): string {
  const words = lines.findLast((line) => /^\w*Error\b/.test(line)) ?? lines.slice(-3).join(" / ");
  return words === "" || /[.!?]$/.test(words) ? words : `${words}.`;
}
