// Loaded into a process before its program: its time passes so many times as fast, but for how long it gives others to answer.
import { syncBuiltinESMExports } from "node:module";
import { performance } from "node:perf_hooks";
import timers from "node:timers/promises";

const times = Number(process.env["PIPELINE_RUNS_TEST_CLOCK_TIMES"]);
/** The shortest time that is a guard against somebody who is silent, in milliseconds. What is waited for on purpose is shorter. */
const guard = 10_000;

const now = performance.now.bind(performance);
performance.now = () => now() * times;

const hurried = (milliseconds) =>
  milliseconds === undefined || milliseconds >= guard ? milliseconds : milliseconds / times;

const sleep = timers.setTimeout;
timers.setTimeout = (milliseconds, value, options) => sleep(hurried(milliseconds), value, options);
const later = globalThis.setTimeout;
globalThis.setTimeout = (act, milliseconds, ...values) => later(act, hurried(milliseconds), ...values);
syncBuiltinESMExports();
