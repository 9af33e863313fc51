import type { Disposable, LogOutputChannel } from "vscode";
import { AbsentEndpoint } from "../client/http/replyError.ts";
import type { ServiceClient } from "../client/http/serviceClient.ts";
import { inACircle, newestFirst } from "../client/listRuns.ts";
import { describeError } from "../contract/errors.ts";
import type { Run } from "../contract/run.ts";
import { Observed } from "./observed.ts";
import type { Session } from "./session.ts";

/** The org's runs, as far as they are known. */
export type RunListState =
  /** Not read yet, or the service is not within reach: what was known may be stale and is not shown. */
  | { readonly kind: "unknown" }
  /** The service lists no runs (contract: "Endpoints", rows marked given). */
  | { readonly kind: "not-listed" }
  | {
      readonly kind: "listed";
      /** Newest first. */
      readonly runs: readonly Run[];
      /** Whether the service has older ones; see {@link RunList.loadMore}. */
      readonly hasMore: boolean;
      /** The id of this window's key: the `actor` of its own runs. */
      readonly me: string;
    };

export interface RunListDeps {
  readonly session: Pick<Session, "state" | "runTold" | "followed">;
  readonly log: Pick<LogOutputChannel, "warn">;
}

const pageSize = 50;

/**
 * The org's runs for whatever shows them: read page by page while somebody wants them, and live by the service's events,
 * without polling. It asks for nothing while nobody wants it.
 */
export class RunList implements Disposable {
  readonly state = new Observed<RunListState>({ kind: "unknown" });
  readonly #deps: RunListDeps;
  readonly #following: readonly Disposable[];
  #wanting = 0;
  #reading: AbortController | undefined;
  /** The service whose runs are listed, and where its next page begins. */
  #source: ServiceClient | undefined;
  #next: string | undefined;
  readonly #cursors = new Set<string>();
  /** Runs that events told of while the first page was being read, and so know better. */
  readonly #told = new Map<string, Run>();

  constructor(deps: RunListDeps) {
    this.#deps = deps;
    this.#following = [
      deps.session.state.follow(() => this.#look()),
      deps.session.runTold.listen((run) => this.#put(run)),
    ];
  }

  /** Keeps the list read and live until the returned object is disposed. */
  want(): Disposable {
    this.#wanting += 1;
    this.#look();
    let isWanted = true;
    return {
      dispose: () => {
        if (!isWanted) return;
        isWanted = false;
        this.#wanting -= 1;
        this.#look();
      },
    };
  }

  /**
   * Reads the next page of older runs; nothing when there is none.
   * @throws PipelineError as `ServiceClient.runs`; `breaks-contract` for pages in a circle.
   */
  async loadMore(signal: AbortSignal): Promise<void> {
    const client = this.#source;
    const after = this.#next;
    if (client === undefined || after === undefined || this.state.value.kind !== "listed") return;
    const page = await client.runs({ limit: pageSize, after }, signal);
    // Meanwhile the list may have begun anew, or another caller may have read this page.
    if (this.#source !== client || this.#next !== after) return;
    if (page.next !== undefined && this.#cursors.has(page.next)) throw inACircle();
    if (page.next !== undefined) this.#cursors.add(page.next);
    this.#next = page.next;
    // What is there already has been kept live, so it knows better than the page.
    this.#tell([...page.runs, ...this.#runs()]);
  }

  dispose(): void {
    for (const following of this.#following) following.dispose();
    this.#wanting = 0;
    this.#forget();
  }

  #look(): void {
    const { state, followed } = this.#deps.session;
    const source = this.#wanting > 0 && state.value.kind === "live" ? followed : undefined;
    if (source === this.#source) return;
    this.#forget();
    if (source === undefined) return;
    this.#source = source;
    const reading = new AbortController();
    this.#reading = reading;
    void this.#read(source, reading.signal);
  }

  async #read(client: ServiceClient, signal: AbortSignal): Promise<void> {
    try {
      const page = await client.runs({ limit: pageSize }, signal);
      if (signal.aborted) return;
      this.#next = page.next;
      if (page.next !== undefined) this.#cursors.add(page.next);
      this.#tell(page.runs);
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof AbsentEndpoint) {
        this.state.set({ kind: "not-listed" });
        return;
      }
      this.#deps.log.warn(`The runs could not be listed: ${describeError(error)}`);
      // Read again with the next news of the org: the session finds out by itself whether the service has gone.
      this.#source = undefined;
    }
  }

  #forget(): void {
    this.#reading?.abort();
    this.#reading = undefined;
    this.#source = undefined;
    this.#next = undefined;
    this.#cursors.clear();
    this.#told.clear();
    if (this.state.value.kind !== "unknown") this.state.set({ kind: "unknown" });
  }

  #put(run: Run): void {
    if (this.#source === undefined) return;
    if (this.state.value.kind === "listed") this.#tell([...this.#runs(), run]);
    else this.#told.set(run.runId, run);
  }

  #runs(): readonly Run[] {
    return this.state.value.kind === "listed" ? this.state.value.runs : [];
  }

  #tell(read: readonly Run[]): void {
    const { value } = this.#deps.session.state;
    if (value.kind !== "live") return;
    const byId = new Map([...read, ...this.#told.values()].map((run) => [run.runId, run]));
    this.#told.clear();
    const runs = [...byId.values()].sort(newestFirst);
    this.state.set({ kind: "listed", runs, hasMore: this.#next !== undefined, me: value.org.actor });
  }
}
