// Loaded into a process before its program: its wall clock is off by so many milliseconds, as on a machine whose clock is wrong.
const off = Number(process.env["PIPELINE_RUNS_TEST_CLOCK_OFF"]);
const RealDate = Date;

globalThis.Date = new Proxy(RealDate, {
  construct: (target, args, newTarget) =>
    Reflect.construct(target, args.length === 0 ? [RealDate.now() + off] : args, newTarget),
  apply: () => new RealDate(RealDate.now() + off).toString(),
  get: (target, name, receiver) =>
    name === "now" ? () => RealDate.now() + off : Reflect.get(target, name, receiver),
});
