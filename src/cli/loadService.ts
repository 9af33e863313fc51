import { refuseOldNode } from "../client/embedded/nodeTooOld.ts";

/**
 * Loads a part of the service's code, which the commands that only talk to a service do without.
 * @throws PipelineError with the next step where this Node.js is too old for it.
 */
export async function loadService<T>(load: () => Promise<T>): Promise<T> {
  refuseOldNode();
  return load();
}
