import type { StartWhen } from "../client/embedded/startEmbedded.ts";
import type { ServiceClient } from "../client/service/client.ts";
import { refuseOldNode } from "../machine/versions.ts";
import type { Environment } from "../project/environment.ts";
import type { Output } from "./output/output.ts";

/** A terminal in which runs are started and followed: the tool's own, or that of a task of the editor. */
export interface RunTerminal {
  readonly output: Output;
  readonly env: Environment;
  /** Aborted by the first Ctrl-C. */
  readonly interrupted: AbortSignal;
  /** Aborted by the second Ctrl-C, when nothing is awaited any more. Listeners can still print what is left. */
  readonly leaving: AbortSignal;
  /** Aborted once nobody reads standard output (`| head`): a command that only prints may stop. */
  readonly unread: AbortSignal;
  /**
   * Connects to the service in use, starting the embedded one where no other is named.
   * @param signal ends that; the first Ctrl-C when left out.
   * @param start `needed` when left out.
   */
  connect(signal?: AbortSignal, start?: StartWhen): Promise<ServiceClient>;
}

/** What every command gets. */
export interface Tool extends RunTerminal {
  /** The working folder. */
  readonly folder: string;
  /** The folder of the built programs. */
  readonly programs: string;
}

/**
 * Loads a part of the service's code, which most commands do without.
 * @throws PipelineError `internal` when this Node.js is too old.
 */
export async function loadService<T>(load: () => Promise<T>): Promise<T> {
  refuseOldNode();
  return load();
}
