import { isDeepStrictEqual } from "node:util";
import { nextReset, utcDay } from "../../contract/limits.ts";
import type { Run, RunStep } from "../../contract/run.ts";
import { isActive } from "../../contract/runStatus.ts";
import type { RunListState } from "../session/runList.ts";
import { areOfSeveralProjects } from "../window/runText.ts";
import { everyRun, isFiltering, passes, type ViewFilter } from "./filters.ts";

/** What to redraw: everything, or these elements with their children. */
export type Redraw = "all" | readonly RunNode[];

const groups: readonly RunGroup[] = ["active", "today", "earlier", "ended"];

/** The rows of the Runs view: active runs first, then today's, then older ones. */
export class RunTree {
  readonly #runs = new Map<string, RunRowNode>();
  readonly #groups: Readonly<Record<RunGroup, GroupNode>> = {
    active: { kind: "group", group: "active", children: [] },
    today: { kind: "group", group: "today", children: [] },
    earlier: { kind: "group", group: "earlier", children: [] },
    ended: { kind: "group", group: "ended", children: [] },
  };
  readonly #older: OlderNode = { kind: "older", behind: "", isLoadedWhenDrawn: true };
  #groupOf = new Map<string, RunGroup>();
  #shown: readonly GroupNode[] = [];
  #namesProjects = false;

  /** The groups that have runs or the row for older ones. */
  get roots(): readonly GroupNode[] {
    return this.#shown;
  }

  /** The rows of the active runs, whose times change. */
  get activeRuns(): readonly RunRowNode[] {
    return this.#groups.active.children.filter((child) => child.kind === "run");
  }

  /** Whether the listed runs are of several projects. */
  get namesProjects(): boolean {
    return this.#namesProjects;
  }

  get hasRuns(): boolean {
    return this.#runs.size > 0;
  }

  has(runId: string): boolean {
    return this.#runs.has(runId);
  }

  /**
   * Takes the list's state.
   * @param now the service's clock, in milliseconds since 1970: its day decides which runs are today's.
   */
  update(state: RunListState, now: number, filter: ViewFilter = everyRun): Redraw {
    const isListed = state.kind === "listed";
    const runs = isListed ? state.runs.filter((run) => passes(run, filter, state.me)) : [];
    const namedProjects = this.#namesProjects;
    this.#namesProjects = areOfSeveralProjects(runs);
    const wanted = split(runs, now);
    const places = new Map<string, RunGroup>();
    const changed: RunNode[] = [];
    let hasMoved = false;
    const children = groups.map((group) =>
      (wanted[group] ?? []).map((run) => {
        const before = this.#groupOf.get(run.runId);
        hasMoved ||= before !== undefined && before !== group;
        places.set(run.runId, group);
        return this.#take(run, changed);
      }),
    );
    for (const runId of this.#runs.keys()) if (!places.has(runId)) this.#runs.delete(runId);
    this.#groupOf = places;
    const filled = groups.filter((_, index) => (children[index]?.length ?? 0) > 0);
    const oldest = isListed ? (state.runs.at(-1)?.runId ?? "") : "";
    const hasMore = isListed && state.hasMore;
    // Runs that pass the filter may be among those that aren't listed yet.
    const shown: readonly RunGroup[] = hasMore && filled.length === 0 ? ["earlier"] : filled;
    const last = shown.at(-1);
    // With a filter that few runs pass, all pages would be loaded one after another.
    const isLoadedWhenDrawn = !isFiltering(filter);
    const refilled = groups.filter((group, index) => {
      const rows: (RunRowNode | OlderNode)[] = [...(children[index] ?? [])];
      if (hasMore && group === last) rows.push(this.#older);
      return this.#fill(this.#groups[group], rows, oldest);
    });
    this.#older.behind = oldest;
    this.#older.isLoadedWhenDrawn = isLoadedWhenDrawn;
    const before = this.#shown;
    this.#shown = shown.map((group) => this.#groups[group]);
    // The editor refuses a row in a new group before it has left the old one.
    const isRenamed = namedProjects !== this.#namesProjects;
    if (
      isRenamed ||
      hasMoved ||
      before.length !== shown.length ||
      before.some(({ group }, at) => group !== shown[at])
    ) {
      return "all";
    }
    const isRedrawn = (node: RunNode) =>
      node.kind === "run" && refilled.includes(places.get(node.runId) ?? "today");
    return [...refilled.map((group) => this.#groups[group]), ...changed.filter((node) => !isRedrawn(node))];
  }

  #take(run: Run, changed: RunNode[]): RunRowNode {
    const known = this.#runs.get(run.runId);
    if (known === undefined) {
      const made: RunRowNode = { kind: "run", runId: run.runId, run, isUnfolded: false };
      this.#runs.set(run.runId, made);
      return made;
    }
    if (known.run !== run) {
      if (!isOnlyMoreDetailed(run, known.run)) changed.push(known);
      known.run = run;
    }
    return known;
  }

  /** @returns whether the group's rows changed. */
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
}

/**
 * Whether a run gained only what lists omit, its steps and files. Nothing is redrawn for that: the editor has asked for the steps
 * and is about to draw them, and a row that is redrawn at that moment keeps steps that the editor no longer redraws.
 */
function isOnlyMoreDetailed({ steps, artifacts: _, ...run }: Run, before: Run): boolean {
  const { artifacts: _before, ...known } = before;
  return steps !== undefined && before.steps === undefined && isDeepStrictEqual(run, known);
}

function split(runs: readonly Run[], now: number): Partial<Record<RunGroup, Run[]>> {
  const dayBegan = Date.parse(`${utcDay(now)}T00:00:00Z`);
  return Object.groupBy(runs, (run): RunGroup => {
    if (isActive(run)) return "active";
    if (run.createdAt === undefined) return "ended";
    return Date.parse(run.createdAt) >= dayBegan ? "today" : "earlier";
  });
}

/** Milliseconds until a row's day changes: until the service's midnight or the person's own. */
export function untilNextDay(serviceNow: number, now: number): number {
  const midnight = new Date(now);
  midnight.setHours(24, 0, 0, 0);
  return Math.min(nextReset(serviceNow) - serviceNow, midnight.getTime() - now);
}

/** A run's group, by its start; `ended` if the service doesn't report that. */
export type RunGroup = "active" | "today" | "earlier" | "ended";

/**
 * An element of the Runs view. A run remains the same object while it is listed, since the editor identifies rows by their
 * objects.
 */
export type RunNode = GroupNode | RunRowNode | StepNode | NoteNode | OlderNode;

export interface GroupNode {
  readonly kind: "group";
  readonly group: RunGroup;
  children: readonly (RunRowNode | OlderNode)[];
}

export interface RunRowNode {
  readonly kind: "run";
  /** For the menus' commands, which receive the element. */
  readonly runId: string;
  run: Run;
  /** Whether its steps are unfolded, which the editor forgets when the run changes its group. */
  isUnfolded: boolean;
}

export interface StepNode {
  readonly kind: "step";
  readonly runId: string;
  /** The run's pipeline. */
  readonly pipeline: string;
  readonly index: number;
  step: RunStep;
  /** Whether a new run can begin at this step, at which the run failed; see `fromFailedStep`. */
  mayBegin: boolean;
}

/** A line that replaces a run's steps. */
export interface NoteNode {
  readonly kind: "note";
  readonly runId: string;
  readonly text: string;
  readonly isFault: boolean;
}

/** The row for older runs. It loads them when it is clicked and, unless the view is filtered, when it is drawn. */
export interface OlderNode {
  readonly kind: "older";
  isLoadedWhenDrawn: boolean;
  /** The oldest listed run. After another run it is another row, which loads again. */
  behind: string;
}
