import type { ServiceClient } from "../client/service/client.ts";
import { refuseOldNode } from "../machine/versions.ts";
import type { Environment } from "../project/environment.ts";
import type { Output } from "./output/output.ts";

/** What every command gets. */
export interface Tool {
  readonly output: Output;
  readonly env: Environment;
  /** The working folder. */
  readonly folder: string;
  /** Aborted by the first Ctrl-C. */
  readonly interrupted: AbortSignal;
  /** Aborted by the second Ctrl-C, right before the process exits: listeners can still print what is left. */
  readonly leaving: AbortSignal;
  /** Aborted once nobody reads standard output (`| head`): a command that only prints may stop. */
  readonly unread: AbortSignal;
  /** The program of one run; `serve` needs it. */
  readonly runnerPath: string;
  /** The built style and script of the page; `serve` needs them. */
  readonly pageFolder: string;
  /**
   * Connects to the service in use, starting the embedded one where no other is named.
   * @param signal ends that; the first Ctrl-C when left out.
   */
  connect(signal?: AbortSignal): Promise<ServiceClient>;
}

/**
 * Loads a part of the service's code, which most commands do without.
 * @throws PipelineError `internal` when this Node.js is too old.
 */
export async function loadService<T>(load: () => Promise<T>): Promise<T> {
  refuseOldNode();
  return load();
}
