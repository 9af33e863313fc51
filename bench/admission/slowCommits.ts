import { type SQLInputValue, StatementSync } from "node:sqlite";

/** Makes every commit of this process take so many milliseconds more, as on a disk that is slower to sync: the thread blocks. */
export function slowCommits(milliseconds: number): void {
  if (milliseconds === 0) return;
  const nothing = new Int32Array(new SharedArrayBuffer(4));
  const { run } = StatementSync.prototype;
  Object.defineProperty(StatementSync.prototype, "run", {
    value(this: StatementSync, ...values: SQLInputValue[]): unknown {
      const done: unknown = Reflect.apply(run, this, values);
      if (this.sourceSQL === "commit") Atomics.wait(nothing, 0, 0, milliseconds);
      return done;
    },
  });
}
