import type { StartWhen } from "../client/embedded/startEmbedded.ts";
import type { ServiceClient } from "../client/service/client.ts";
import { refuseOldNode } from "../machine/versions.ts";
import type { Environment } from "../project/environment.ts";
import type { Output } from "./output/output.ts";

/** A terminal in which runs are started and followed: the tool's own, or that of an editor task. */
export interface RunTerminal {
  readonly output: Output;
  readonly env: Environment;
  /** Aborted by the first Ctrl-C. */
  readonly interrupted: AbortSignal;
  /** Aborted by the second Ctrl-C, when nothing more is awaited. Listeners can still print what is left. */
  readonly leaving: AbortSignal;
  /** Aborted once nobody reads standard output (`| head`): a command that only prints may stop. */
  readonly unread: AbortSignal;
  /**
   * Connects to the service in use, starting the embedded one if no other is named.
   * @param signal ends the attempt; by default the first Ctrl-C does.
   * @param start `needed` by default.
   */
  connect(signal?: AbortSignal, start?: StartWhen): Promise<ServiceClient>;
}

/** What every command receives. */
export interface Tool extends RunTerminal {
  /** The working folder. */
  readonly folder: string;
  /** The folder of the built programs. */
  readonly programs: string;
}

/**
 * Loads a part of the service's code, which most commands don't need.
 * @throws PipelineError `internal` if this Node.js is too old.
 */
export async function loadService<T>(load: () => Promise<T>): Promise<T> {
  refuseOldNode();
  return load();
}
