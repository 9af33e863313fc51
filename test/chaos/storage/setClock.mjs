// Loaded into a process before its program: its time of day is off by as many milliseconds as a file says now, as when its
// machine's clock is set while it runs. The time that passes goes on as it does.
import { readFileSync } from "node:fs";

const file = process.env["FAULTS_CLOCK_FILE"] ?? "";
const RealDate = Date;

function now() {
  let off = 0;
  try {
    off = Number(readFileSync(file, "utf8"));
  } catch {
    // It is the machine's own.
  }
  return RealDate.now() + off;
}

globalThis.Date = new Proxy(RealDate, {
  construct: (target, args, newTarget) =>
    Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget),
  apply: () => new RealDate(now()).toString(),
  get: (target, name, receiver) => (name === "now" ? now : Reflect.get(target, name, receiver)),
});
