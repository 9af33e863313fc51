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
  | { readonly kind: "live"; readonly org: Org; readonly inWork: readonly Run[] }
  | { readonly kind: "out-of-reach"; readonly problem: string };

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
/** The pauses between attempts to reach a service again, in milliseconds. */
const reconnectBounds = { shortest: 1_000, longest: 30_000 } as const;

/** This window's connection to the service that its settings name. */
export class Session implements Disposable {
  readonly state = new Observed<SessionState>({ kind: "idle" });
  readonly #deps: SessionDeps;
  #watching: AbortController | undefined;
  /** The service that the numbers are of. */
  #followed: URL | undefined;

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

  /** A client that uses a key which is not kept yet, to try it. @throws as {@link connect}. */
  clientWith(key: string, signal: AbortSignal): Promise<ServiceClient> {
    return this.#findClient(signal, key);
  }

  /** Follows the service from now on, until disposed; calling it again changes nothing. */
  watch(): void {
    if (this.#watching !== undefined) return;
    const watching = new AbortController();
    this.#watching = watching;
    void this.#keepWatching(watching.signal);
  }

  /** Begins anew with the settings and keys as they are now. A window that showed nothing stays so. */
  restart(): void {
    if (this.#watching === undefined) return;
    this.#stop();
    this.watch();
  }

  /** Asks for the org now, where no event tells of a change. */
  async refresh(client: ServiceClient, signal: AbortSignal): Promise<void> {
    const org = await client.org(signal);
    // The settings may have changed since the command began; another service's number must not show.
    if (this.#followed?.href === client.baseUrl.href) this.#tellOrg(org);
  }

  dispose(): void {
    this.#stop();
  }

  #stop(): void {
    this.#watching?.abort();
    this.#watching = undefined;
    this.#followed = undefined;
    this.state.set({ kind: "idle" });
  }

  async #keepWatching(signal: AbortSignal): Promise<void> {
    let pauses = growingPauses(Math.random, reconnectBounds);
    this.state.set({ kind: "connecting" });
    while (!signal.aborted) {
      try {
        const client = await this.#findClient(signal);
        await this.#watchOnce(client, signal, () => {
          pauses = growingPauses(Math.random, reconnectBounds);
        });
      } catch (error) {
        if (signal.aborted) return;
        if (this.#showFault(error) === "final") return;
      }
      await this.#deps.clock.sleep(pauses.next().value, signal).catch(() => undefined);
    }
  }

  /** Follows the events until they break, or asks now and then where there are none. */
  async #watchOnce(client: ServiceClient, signal: AbortSignal, onConnected: () => void): Promise<void> {
    this.#followed = client.baseUrl;
    const watch = new AbortController();
    let fault: unknown;
    let absent = false;
    const onState = (state: StreamState) => {
      switch (state.kind) {
        case "connected":
          onConnected();
          return;
        case "absent":
          absent = true;
          return;
        case "broken":
          // The service may have come back under another port: it is looked for anew.
          fault = state.error;
          watch.abort();
          return;
        default:
          state satisfies never;
      }
    };
    await watchEvents(client, (event) => this.#tell(event), onState, AbortSignal.any([signal, watch.signal]));
    if (fault !== undefined) throw fault;
    while (absent && !signal.aborted) {
      this.#tellOrg(await client.org(signal));
      onConnected();
      await this.#deps.clock.sleep(askEvery, signal).catch(() => undefined);
    }
  }

  #tell(event: ServiceEvent): void {
    if (event.kind === "org") {
      this.#tellOrg(event.org);
      return;
    }
    const { value } = this.state;
    if (value.kind !== "live") return;
    const others = value.inWork.filter(({ runId }) => runId !== event.run.runId);
    this.state.set({ ...value, inWork: isInWork(event.run) ? [...others, event.run] : others });
  }

  #tellOrg(org: Org): void {
    const { value } = this.state;
    this.state.set({ kind: "live", org, inWork: value.kind === "live" ? value.inWork : [] });
  }

  #showFault(error: unknown): "final" | "passing" {
    this.#deps.log.warn(describeError(error));
    const target = this.#deps.target();
    if (error instanceof PipelineError && error.type === "unauthorized" && target.kind !== "invalid") {
      this.state.set({ kind: "no-key", origin: originOf(target), refused: !(error instanceof MissingKey) });
      return "final";
    }
    this.state.set({ kind: "out-of-reach", problem: describeError(error) });
    return target.kind === "invalid" ? "final" : "passing";
  }

  async #findClient(signal: AbortSignal, candidate?: string): Promise<ServiceClient> {
    const { target, keys, embedded, clock } = this.#deps;
    const where = target();
    if (where.kind === "invalid") throw where.error;
    const key = candidate ?? (await keys.get(originOf(where)));
    if (where.kind === "embedded") {
      const own = await embedded(signal);
      return new ServiceClient({ baseUrl: own.baseUrl, apiKey: key ?? own.apiKey, clock });
    }
    if (key === undefined) throw new MissingKey(originOf(where));
    return new ServiceClient({ baseUrl: where.baseUrl, apiKey: key, clock });
  }
}

/** No key has been entered for the service's origin. */
class MissingKey extends PipelineError {
  constructor(origin: string) {
    super("unauthorized", `There is no API key for ${origin}.`, { next: "Set one with “Set API Key…”." });
  }
}
