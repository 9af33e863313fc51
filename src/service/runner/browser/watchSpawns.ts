import { ChildProcess } from "node:child_process";
import { subscribe, unsubscribe } from "node:diagnostics_channel";

/**
 * Tells of each process that this one spawns until it is disposed, as soon as it has an id. A library that starts a
 * program keeps it to itself; Node tells of it.
 */
export function watchSpawns(onSpawned: (child: ChildProcess, pid: number) => void): Disposable {
  const listen = (message: unknown): void => {
    const child = typeof message === "object" && message !== null && "process" in message && message.process;
    if (!(child instanceof ChildProcess)) return;
    child.once("spawn", () => {
      if (child.pid !== undefined) onSpawned(child, child.pid);
    });
  };
  subscribe("child_process", listen);
  return { [Symbol.dispose]: () => void unsubscribe("child_process", listen) };
}
