import { readdir, readFile } from "node:fs/promises";

/** What a process has used since it began, all its threads together. */
export interface Usage {
  /** Of processor time. */
  readonly milliseconds: number;
  /** How often a thread of it went to sleep, to be woken again. */
  readonly wakeUps: number;
}

/** Linux tells. A thread that has ended takes what it has used with it. */
export async function usageOf(pid: number): Promise<Usage> {
  const threads = await readdir(`/proc/${pid}/task`);
  const used = await Promise.all(
    threads.map(async (thread) => {
      const of = (file: string) => readFile(`/proc/${pid}/task/${thread}/${file}`, "utf8").catch(() => "");
      const [schedule, status] = await Promise.all([of("schedstat"), of("status")]);
      const switches = /^voluntary_ctxt_switches:\s*(\d+)$/m.exec(status)?.[1] ?? "0";
      return { nanoseconds: Number(schedule.split(" ")[0] ?? 0), wakeUps: Number(switches) };
    }),
  );
  return {
    milliseconds: used.reduce((sum, { nanoseconds }) => sum + nanoseconds, 0) / 1e6,
    wakeUps: used.reduce((sum, { wakeUps }) => sum + wakeUps, 0),
  };
}
