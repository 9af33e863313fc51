import type { Disposable, LogOutputChannel } from "vscode";
import type { Clock } from "../client/clock.ts";
import { type StreamState, watchEvents } from "../client/events/watchEvents.ts";
import { ServiceClient } from "../client/http/serviceClient.ts";
import { growingPauses } from "../client/pauses.ts";
import { describeError, PipelineError } from "../contract/errors.ts";
import type { ServiceEvent } from "../contract/event.ts";
import type { Org } from "../contract/org.ts";
import { isInWork, type Run } from "../contract/run.ts";
import type { ApiKeys } from "./apiKeys.ts";
import { News } from "./news.ts";
import { Observed } from "./observed.ts";
import { originOf, type Target } from "./target.ts";

/** What this window knows of the service. Only `live` holds numbers, and only ones that the service sent just now. */
export type SessionState =
  /** Nothing is asked for, nothing runs and nothing is shown. */
  | { readonly kind: "idle" }
  | { readonly kind: "connecting" }
  | {
      readonly kind: "no-key";
      readonly origin: string /** The service didn't accept the one there was. */;
      readonly refused: boolean;
    }
  | {
      readonly kind: "live";
      readonly org: Org /** Undefined where the service doesn't tell. */;
      readonly inWork: readonly Run[] | undefined;
    }
  | {
      readonly kind: "out-of-reach";
      readonly problem: string /** Whether it is tried again by itself. */;
      readonly retried: boolean;
    };

export interface SessionDeps {
  readonly target: () => Target;
  readonly keys: Pick<ApiKeys, "get">;
  /** Finds or starts this machine's own service. */
  readonly embedded: (signal: AbortSignal) => Promise<{ readonly baseUrl: URL; readonly apiKey: string }>;
  readonly clock: Clock;
  readonly log: Pick<LogOutputChannel, "info" | "warn">;
}

/** How often a service without events is asked for the org, in milliseconds. */
const askEvery = 30_000;
/** How long a connection has to last, in milliseconds, before its break counts as the first of its kind. */
const steadyAfter = 10_000;
/** The pauses between attempts to reach a service again, in milliseconds. */
const reconnectBounds = { shortest: 1_000, longest: 30_000 } as const;

/** This window's connection to the service that its settings name. */
export class Session implements Disposable {
  readonly state = new Observed<SessionState>({ kind: "idle" });
  /** Each run that the service tells of, whenever it changes. */
  readonly runTold = new News<Run>();
  readonly #deps: SessionDeps;
  #wanted = false;
  #watching: AbortController | undefined;
  /** Whether the service tells of runs, so that none told means none in work. */
  #runsAreTold = false;
  /** Whose numbers are shown. */
  #followed: ServiceClient | undefined;

  constructor(deps: SessionDeps) {
    this.#deps = deps;
  }

  /**
   * A client of the service, for a command; the window follows the service from then on.
   * @throws PipelineError naming what is missing: a key, a valid base URL, or a service that answers.
   */
  async connect(signal: AbortSignal): Promise<ServiceClient> {
    const client = await this.#findClient(signal);
    this.watch();
    return client;
  }

  /** The service whose numbers are shown; undefined while none is followed. A new connection is a new one. */
  get followed(): ServiceClient | undefined {
    return this.#followed;
  }

  /** A client of the service that a key was entered for, with that key, which is not kept yet. @throws as {@link connect}. */
  clientWith(where: Target, key: string, signal: AbortSignal): Promise<ServiceClient> {
    return this.#clientOf(where, key, signal);
  }

  /** Follows the service from now on, until disposed; while it is followed already, this changes nothing. */
  watch(): void {
    this.#wanted = true;
    if (this.#watching !== undefined) return;
    const watching = new AbortController();
    this.#watching = watching;
    void this.#keepWatching(watching.signal).finally(() => {
      // It has ended for good, for want of a key or a valid setting: the next one to watch begins anew.
      if (this.#watching === watching) this.#watching = undefined;
    });
  }

  /** Begins anew with the settings and keys as they are now. A window that showed nothing stays so. */
  restart(): void {
    if (!this.#wanted) return;
    this.rest();
    this.watch();
  }

  /** Follows nothing and shows nothing, until the service is wanted again. */
  rest(): void {
    this.#wanted = false;
    this.#watching?.abort();
    this.#watching = undefined;
    this.#followed = undefined;
    this.state.set({ kind: "idle" });
  }

  /** Asks for the org now, where no event tells of a change. */
  async refresh(client: ServiceClient, signal: AbortSignal): Promise<void> {
    const org = await client.org(signal);
    // Settings and keys may have changed since the command began; another org's number must not show.
    const followed = this.#followed;
    if (followed?.baseUrl.href === client.baseUrl.href && followed.apiKey === client.apiKey)
      this.#tellOrg(org);
  }

  dispose(): void {
    this.rest();
  }

  async #keepWatching(signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    let pauses = growingPauses(Math.random, reconnectBounds);
    this.state.set({ kind: "connecting" });
    while (!signal.aborted) {
      const began = clock.monotonic();
      try {
        await this.#watchOnce(await this.#findClient(signal), signal);
      } catch (error) {
        if (signal.aborted || (await this.#showFault(error, signal)) === "final") return;
      }
      // A connection that breaks as soon as it is made is no success.
      if (clock.monotonic() - began > steadyAfter) pauses = growingPauses(Math.random, reconnectBounds);
      await clock.sleep(pauses.next().value, signal).catch(() => undefined);
    }
  }

  /** Follows the events until they break, or asks now and then where there are none. */
  async #watchOnce(client: ServiceClient, signal: AbortSignal): Promise<void> {
    this.#followed = client;
    this.#runsAreTold = false;
    const watch = new AbortController();
    const ended = AbortSignal.any([signal, watch.signal]);
    let fault: unknown;
    let absent = false;
    const onState = (state: StreamState) => {
      switch (state.kind) {
        case "connected":
          this.#runsAreTold = true;
          // A service may tell of changes only: the numbers as they are now are asked for.
          this.refresh(client, ended).catch((error: unknown) => {
            fault ??= error;
            watch.abort();
          });
          return;
        case "absent":
          absent = true;
          return;
        case "broken":
          // The service may have come back under another port: it is looked for anew.
          fault ??= state.error;
          watch.abort();
          return;
        default:
          state satisfies never;
      }
    };
    await watchEvents(client, (event) => this.#tell(event), onState, ended);
    if (fault !== undefined) throw fault;
    while (absent && !signal.aborted) {
      this.#tellOrg(await client.org(signal));
      await this.#deps.clock.sleep(askEvery, signal).catch(() => undefined);
    }
  }

  #tell(event: ServiceEvent): void {
    if (event.kind === "org") {
      this.#tellOrg(event.org);
      return;
    }
    this.runTold.tell(event.run);
    const { value } = this.state;
    if (value.kind !== "live") return;
    const others = (value.inWork ?? []).filter(({ runId }) => runId !== event.run.runId);
    this.state.set({ ...value, inWork: isInWork(event.run) ? [...others, event.run] : others });
  }

  #tellOrg(org: Org): void {
    const { value } = this.state;
    this.state.set({
      kind: "live",
      org,
      inWork: value.kind === "live" ? value.inWork : this.#runsAreTold ? [] : undefined,
    });
  }

  async #showFault(error: unknown, signal: AbortSignal): Promise<"final" | "passing"> {
    const { target, keys, log } = this.#deps;
    const where = target();
    const refused = error instanceof PipelineError && error.type === "unauthorized";
    // This machine's own service has a new token at each start; only a key that someone has entered stays refused.
    const entered = where.kind === "invalid" ? undefined : await keys.get(originOf(where));
    if (signal.aborted) return "final";
    log.warn(describeError(error));
    if (refused && where.kind !== "invalid" && (where.kind === "remote" || entered !== undefined)) {
      this.state.set({ kind: "no-key", origin: originOf(where), refused: entered !== undefined });
      return "final";
    }
    const retried = where.kind !== "invalid";
    this.state.set({ kind: "out-of-reach", problem: describeError(error), retried });
    return retried ? "passing" : "final";
  }

  async #findClient(signal: AbortSignal): Promise<ServiceClient> {
    const where = this.#deps.target();
    const key = where.kind === "invalid" ? undefined : await this.#deps.keys.get(originOf(where));
    return this.#clientOf(where, key, signal);
  }

  async #clientOf(where: Target, key: string | undefined, signal: AbortSignal): Promise<ServiceClient> {
    const { embedded, clock } = this.#deps;
    if (where.kind === "invalid") throw where.error;
    if (where.kind === "embedded") {
      const own = await embedded(signal);
      return new ServiceClient({ baseUrl: own.baseUrl, apiKey: key ?? own.apiKey, clock });
    }
    if (key === undefined) throw missingKey(originOf(where));
    return new ServiceClient({ baseUrl: where.baseUrl, apiKey: key, clock });
  }
}

function missingKey(origin: string): PipelineError {
  return new PipelineError("unauthorized", `There is no API key for ${origin}.`, {
    next: "Set one with “Set API Key…”.",
  });
}
