// Loaded into a process before its program: its wall clock is off by so many milliseconds, as on a machine whose clock is wrong;
// by as many as a file says now where one is named, as when that clock is set meanwhile. The time that passes goes on as it does.
import { readFileSync } from "node:fs";

const file = process.env["PIPELINE_RUNS_TEST_CLOCK_FILE"];
const off = Number(process.env["PIPELINE_RUNS_TEST_CLOCK_OFF"]);
const RealDate = Date;
const now = () => RealDate.now() + (file === undefined ? off : Number(readFileSync(file, "utf8")));

globalThis.Date = new Proxy(RealDate, {
  construct: (target, args, newTarget) =>
    Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget),
  apply: () => new RealDate(now()).toString(),
  get: (target, name, receiver) => (name === "now" ? now : Reflect.get(target, name, receiver)),
});
