import { refuseOldNode } from "../client/embedded/versions.ts";
import type { Environment } from "../client/environment.ts";
import type { ServiceClient } from "../client/service/client.ts";
import type { Output } from "./output/output.ts";

/** What every command is handed. */
export interface Tool {
  readonly output: Output;
  readonly env: Environment;
  /** The folder that the person stands in. */
  readonly folder: string;
  /** Aborted by the first Ctrl-C. */
  readonly interrupted: AbortSignal;
  /** Aborted by the second one, right before the process exits: what is left behind can still be told. */
  readonly leaving: AbortSignal;
  /** Aborted once nobody reads standard output any more (`| head`): whoever only tells may stop. */
  readonly unread: AbortSignal;
  /** The program of one run; `serve` needs it. */
  readonly runnerPath: string;
  /** The built style and script of the page; `serve` needs them. */
  readonly pageFolder: string;
  /**
   * Finds the service, and starts this machine's own when no other is named.
   * @param signal ends the looking; the first Ctrl-C does when left out.
   */
  connect(signal?: AbortSignal): Promise<ServiceClient>;
}

/**
 * Loads a part of the service's code, which the commands that only talk to a service do without.
 * @throws PipelineError with the next step where this Node.js is too old for it.
 */
export async function loadService<T>(load: () => Promise<T>): Promise<T> {
  refuseOldNode();
  return load();
}
