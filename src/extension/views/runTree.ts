import type { Run, RunStep } from "../../contract/run.ts";
import { isActive } from "../../contract/runStatus.ts";
import { nextReset, utcDay } from "../../contract/time.ts";
import type { RunListState } from "../session/runList.ts";

/** What has to be drawn again: everything, these elements with what is below them, or nothing. */
export type Redraw = "all" | readonly RunNode[];

const groups: readonly RunGroup[] = ["in-work", "today", "earlier", "ended"];

/** The rows of the Runs view, made of the list of runs: what is in work first, then the day's runs, then older ones. */
export class RunTree {
  readonly #runs = new Map<string, RunRowNode>();
  readonly #groups = new Map(groups.map((group) => [group, groupNode(group)]));
  readonly #older: OlderNode = { kind: "older", behind: "" };
  /** In which group each run stands. */
  #groupOf = new Map<string, RunGroup>();
  #shown: readonly GroupNode[] = [];

  /** The groups that have a run. */
  get roots(): readonly GroupNode[] {
    return this.#shown;
  }

  /** The runs that are in work, whose times move. */
  get activeRuns(): readonly RunRowNode[] {
    return this.#group("in-work").children.filter((child) => child.kind === "run");
  }

  has(runId: string): boolean {
    return this.#runs.has(runId);
  }

  /**
   * Takes the list as it is now.
   * @param now the service's clock, in milliseconds since 1970: its day decides what is today's.
   */
  update(state: RunListState, now: number): Redraw {
    const isListed = state.kind === "listed";
    const wanted = split(isListed ? state.runs : [], now);
    const places = new Map<string, RunGroup>();
    const changed: RunNode[] = [];
    let hasMoved = false;
    const children = groups.map((group) =>
      wanted[group].map((run) => {
        const before = this.#groupOf.get(run.runId);
        hasMoved ||= before !== undefined && before !== group;
        places.set(run.runId, group);
        return this.#take(run, changed);
      }),
    );
    for (const runId of this.#runs.keys()) if (!places.has(runId)) this.#runs.delete(runId);
    this.#groupOf = places;
    const shown = groups.filter((_, index) => (children[index]?.length ?? 0) > 0);
    const last = shown.at(-1);
    const oldest = isListed ? (state.runs.at(-1)?.runId ?? "") : "";
    const hasMore = isListed && state.hasMore;
    const refilled = groups.filter((group, index) => {
      const rows: (RunRowNode | OlderNode)[] = [...(children[index] ?? [])];
      if (hasMore && group === last) rows.push(this.#older);
      return this.#fill(this.#group(group), rows, oldest);
    });
    this.#older.behind = oldest;
    const before = this.#shown;
    this.#shown = shown.map((group) => this.#group(group));
    // The editor refuses a row that shows up in one group before it has left another.
    if (hasMoved || before.length !== shown.length || before.some(({ group }, at) => group !== shown[at])) {
      return "all";
    }
    const isRedrawn = (node: RunNode) =>
      node.kind === "run" && refilled.includes(places.get(node.runId) ?? "today");
    return [...refilled.map((group) => this.#group(group)), ...changed.filter((node) => !isRedrawn(node))];
  }

  #take(run: Run, changed: RunNode[]): RunRowNode {
    const known = this.#runs.get(run.runId);
    if (known === undefined) {
      const made: RunRowNode = { kind: "run", runId: run.runId, run, isUnfolded: false };
      this.#runs.set(run.runId, made);
      return made;
    }
    if (known.run !== run) {
      known.run = run;
      changed.push(known);
    }
    return known;
  }

  /** @returns whether other rows stand in the group than before. */
  #fill(group: GroupNode, rows: readonly (RunRowNode | OlderNode)[], oldest: string): boolean {
    const { children } = group;
    group.children = rows;
    const older = rows.at(-1)?.kind === "older";
    return (
      children.length !== rows.length ||
      children.some((child, index) => child !== rows[index]) ||
      (older && this.#older.behind !== oldest)
    );
  }

  #group(group: RunGroup): GroupNode {
    const node = this.#groups.get(group);
    if (node === undefined) throw new Error(`there is no group ${group}`);
    return node;
  }
}

function groupNode(group: RunGroup): GroupNode {
  return { kind: "group", group, children: [] };
}

function split(runs: readonly Run[], now: number): Record<RunGroup, Run[]> {
  const dayBegan = Date.parse(`${utcDay(now)}T00:00:00Z`);
  const parts: Record<RunGroup, Run[]> = { "in-work": [], today: [], earlier: [], ended: [] };
  const groupOf = (run: Run): RunGroup => {
    if (isActive(run)) return "in-work";
    if (run.createdAt === undefined) return "ended";
    return Date.parse(run.createdAt) >= dayBegan ? "today" : "earlier";
  };
  for (const run of runs) parts[groupOf(run)].push(run);
  return parts;
}

/** How long from `now` until rows have to be sorted into other days, in milliseconds: the service's midnight or one's own. */
export function untilNextDay(serviceNow: number, now: number): number {
  const midnight = new Date(now);
  midnight.setHours(24, 0, 0, 0);
  return Math.min(nextReset(serviceNow) - serviceNow, midnight.getTime() - now);
}

/** When a run counts in the list of runs; `ended` where the service doesn't tell when it began. */
export type RunGroup = "in-work" | "today" | "earlier" | "ended";

/**
 * An element of the Runs view. One run stays one object as long as the list has it, since the editor knows its rows by
 * their objects; what is known of it is replaced.
 */
export type RunNode = GroupNode | RunRowNode | StepNode | NoteNode | OlderNode;

export interface GroupNode {
  readonly kind: "group";
  readonly group: RunGroup;
  children: readonly (RunRowNode | OlderNode)[];
}

export interface RunRowNode {
  readonly kind: "run";
  /** For the menus' commands, which get the element itself. */
  readonly runId: string;
  run: Run;
  /** Whether its steps show: the editor forgets that when the run goes on to another group. */
  isUnfolded: boolean;
}

export interface StepNode {
  readonly kind: "step";
  readonly runId: string;
  readonly index: number;
  step: RunStep;
}

/** A line in place of a run's steps. */
export interface NoteNode {
  readonly kind: "note";
  readonly runId: string;
  readonly text: string;
  readonly isFault: boolean;
}

/** Stands where older runs come: loads them as soon as it is on the screen, or when it is chosen. */
export interface OlderNode {
  readonly kind: "older";
  /** The oldest run that is listed; after another it is another row, which loads again. */
  behind: string;
}
