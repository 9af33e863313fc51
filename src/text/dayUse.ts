import { dayMilliseconds, nextReset } from "../contract/limits.ts";
import type { Org } from "../contract/org.ts";
import type { Run } from "../contract/run.ts";
import type { Translate } from "./refusalText.ts";
import { timeOfDay } from "./time.ts";

/** Who used the day's runs, sorted by use. */
export interface DayUse {
  readonly byPipeline: readonly UseCount[];
  readonly byActor: readonly ActorUse[];
}

export interface UseCount {
  /** The name that people see. */
  readonly name: string;
  readonly runs: number;
}

/** The use of a key, identified by its id: several keys may have the same name. */
interface ActorUse extends UseCount, Pick<Run, "actorName"> {
  readonly actor: string;
}

/** Counts the day's runs per pipeline and actor; runs without the field are left out. */
export function countDayUse(runs: readonly Pick<Run, "pipeline" | "actor" | "actorName">[]): DayUse {
  const names = new Map(runs.map(({ actor, actorName }) => [actor, actorName]));
  return {
    byPipeline: mostFirst(runs.map(({ pipeline }) => pipeline)),
    byActor: mostFirst(runs.map(({ actor }) => actor)).map(({ name: actor, runs }) => {
      const actorName = names.get(actor);
      return { actor, ...(actorName && { actorName }), name: actorName ?? actor, runs };
    }),
  };
}

function mostFirst(names: readonly (string | undefined)[]): UseCount[] {
  const counts = new Map<string, number>();
  for (const name of names) if (name !== undefined) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].map(([name, runs]) => ({ name, runs })).sort((one, other) => other.runs - one.runs);
}

const mostNamed = 3;

/** The names to show, and how many others there are with how many runs; never just one other, which could be named instead. */
export function namedUse<Count extends UseCount>(counts: readonly Count[]) {
  const named = counts.slice(0, counts.length === mostNamed + 1 ? counts.length : mostNamed);
  const others = counts.slice(named.length);
  return { named, others: { count: others.length, runs: others.reduce((sum, { runs }) => sum + runs, 0) } };
}

/**
 * `Used by checkout 12, hello 5, 2 others 3; started by you 20`, leaving out what the service doesn't send.
 * @param me the id of the key in use.
 * @returns undefined if nothing is known.
 */
export function useText({ byPipeline, byActor }: DayUse, me: string, t: Translate): string | undefined {
  const pipelines = countsText(byPipeline, t);
  const keys = countsText(
    byActor.map(({ actor, name, runs }) => ({ name: actor === me ? t("you") : name, runs })),
    t,
  );
  if (keys === "") return pipelines === "" ? undefined : t("Used by {0}", pipelines);
  return pipelines === "" ? t("Started by {0}", keys) : t("Used by {0}; started by {1}", pipelines, keys);
}

function countsText(counts: readonly UseCount[], t: Translate): string {
  const { named, others } = namedUse(counts);
  return [
    ...named.map(({ name, runs }) => `${name} ${runs}`),
    ...(others.count === 0 ? [] : [t("{0} others {1}", others.count, others.runs)]),
  ].join(", ");
}

/** Fewer runs don't show a pace. */
const leastForPace = 5;

/**
 * When the day's runs will be used up at the pace since 00:00 UTC; undefined if they last until the count starts again.
 * @param now on the service's clock; in milliseconds since 1970, as is the result.
 */
export function usedUpAt({ limits, usage }: Pick<Org, "limits" | "usage">, now: number): number | undefined {
  const { runsToday } = usage;
  const left = limits.runsPerDay - runsToday;
  if (runsToday < leastForPace || left <= 0) return undefined;
  const passed = now - (nextReset(now) - dayMilliseconds);
  const end = now + (passed / runsToday) * left;
  return end < nextReset(now) ? end : undefined;
}

/** `At this pace the day's last run starts at about 5:20 PM.`; undefined if the runs last. `servedAt` is the service's clock. */
export function paceText(
  org: Pick<Org, "limits" | "usage">,
  { servedAt, now }: { readonly servedAt: number; readonly now: number },
  t: Translate,
): string | undefined {
  const end = usedUpAt(org, servedAt);
  if (end === undefined) return undefined;
  return t("At this pace the day's last run starts at about {0}.", timeOfDay(end - servedAt + now));
}
