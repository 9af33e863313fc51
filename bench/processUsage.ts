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

/** What of a process's memory no other has, in bytes. */
export async function memoryOf(pid: number): Promise<number> {
  const lines = await readFile(`/proc/${pid}/smaps_rollup`, "utf8");
  const own = [...lines.matchAll(/^Private_\w+:\s+(\d+) kB$/gm)];
  return own.reduce((sum, [, kilobytes]) => sum + Number(kilobytes) * 1024, 0);
}

/** Of a stat file's fields behind the name, which may hold anything: state and parent, then the times. */
const statFields = { parent: 1, endedUser: 13, endedSystem: 14 } as const;
/** Linux counts the time of ended children in these, in milliseconds. */
const tick = 10;

/** The processor time of a process, its children, and those children that have ended, in milliseconds. */
export async function familyMilliseconds(pid: number): Promise<number> {
  const statOf = async (of: string) => {
    const text = await readFile(`/proc/${of}/stat`, "utf8").catch(() => "");
    return text.slice(text.lastIndexOf(")") + 2).split(" ");
  };
  const all = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const children = await Promise.all(
    all.map(async (one) => ((await statOf(one))[statFields.parent] === String(pid) ? [Number(one)] : [])),
  );
  const living = await Promise.all(
    [pid, ...children.flat()].map(
      async (one) => (await usageOf(one).catch(() => undefined))?.milliseconds ?? 0,
    ),
  );
  const own = await statOf(String(pid));
  const ended = Number(own[statFields.endedUser]) + Number(own[statFields.endedSystem]);
  return living.reduce((sum, one) => sum + one, 0) + ended * tick;
}
