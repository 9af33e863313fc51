import { t } from "@vscode/l10n";
import type { Disposable, LogOutputChannel, WorkspaceFolder } from "vscode";
import type { StartWhen } from "../../client/embedded/startEmbedded.ts";
import { ServiceClient, type ServiceClientOptions } from "../../client/service/client.ts";
import { isSameService } from "../../client/service/failedRequest.ts";
import { OutOfReach } from "../../client/service/reachFaults.ts";
import type { Fetch } from "../../client/service/request.ts";
import { growingPauses } from "../../client/service/retry.ts";
import { describeError, PipelineError } from "../../contract/errors.ts";
import type { Run } from "../../contract/run.ts";
import type { Clock } from "../../machine/clock.ts";
import { ServiceStopped } from "../../machine/connectionFile.ts";
import { originOf, type Target } from "../keys/serviceChoice.ts";
import { Emitter, ObservableValue } from "../window/observable.ts";
import {
  type OrgReading,
  pauseFor,
  ServiceConnection,
  type SessionState,
  steadyAfter,
} from "./serviceConnection.ts";

export interface SessionDeps extends ClientOfDeps, ServiceInUseDeps {
  readonly log: Pick<LogOutputChannel, "info" | "warn">;
  /** Whether the window has the focus; by default always. */
  readonly isFocused?: ObservableValue<boolean>;
  /** A number from 0 up to but not including 1. */
  readonly random?: () => number;
}

/** The bounds of the pauses between attempts to reconnect, in milliseconds. */
const reconnectBounds = {
  focused: { shortest: 1_000, longest: 30_000 },
  unfocused: { shortest: 1_000, longest: 300_000 },
} as const;

/** A service that a command has found. */
interface FoundService {
  readonly client: ServiceClient;
  readonly used: ServiceInUse;
}

/** This window's connection to the service that its settings name. */
export class Session implements Disposable {
  readonly state = new ObservableValue<SessionState>({ kind: "idle" });
  /** When and how the numbers of `live` were read; undefined while they are another day's or there are none. */
  readonly reading = new ObservableValue<OrgReading | undefined>(undefined);
  /** Emitted with each run that the service's events report. */
  readonly runChanged = new Emitter<Run>();
  readonly #deps: SessionDeps;
  readonly #isFocused: ObservableValue<boolean>;
  readonly #random: () => number;
  #wanted = false;
  #watching: AbortController | undefined;
  /** The connection whose numbers are shown. */
  #connection: ServiceConnection | undefined;
  #used: ServiceInUse | undefined;

  constructor(deps: SessionDeps) {
    this.#deps = deps;
    this.#isFocused = deps.isFocused ?? new ObservableValue(true);
    this.#random = deps.random ?? Math.random;
  }

  /**
   * A client of the service for a command; from then on the window follows the service. Returns the open connection's client, if
   * there is one, without a request.
   * @param start whether this machine's own service is started even if a person has stopped it.
   * @throws PipelineError that names what is missing: a key, a valid base URL, or a service that answers.
   */
  async connect(signal: AbortSignal, start: StartWhen = "needed"): Promise<ServiceClient> {
    if (this.#connection?.isOpen === true) {
      const used = this.#used;
      const now = await findServiceInUse(this.#deps);
      const isSame = used?.address === now.address && used.key === now.key;
      if (isSame && this.#connection?.isOpen === true) return this.#connection.client;
    }
    return this.reconnect(signal, start);
  }

  /** Like {@link connect}, if a request didn't reach the service at the connection's address. */
  async reconnect(signal: AbortSignal, start: StartWhen = "needed"): Promise<ServiceClient> {
    const inUse = findServiceInUse(this.#deps);
    const key = inUse.then((used) => used.key);
    const client = await clientOf(this.#deps.target(), key, this.#deps, signal, start);
    // Ends the pause before the next attempt.
    if (this.state.value.kind === "stopped") this.stop();
    this.watch({ client, used: await inUse });
    return client;
  }

  /** A client of the service whose numbers are shown; undefined while none is followed. Each connection has a new client. */
  get currentClient(): ServiceClient | undefined {
    return this.#connection?.client;
  }

  get hasEnteredKey(): boolean {
    return this.#used?.key !== undefined;
  }

  /** The origin of the service that {@link connect} would use, see `originOf`; undefined without a valid one. */
  get origin(): string | undefined {
    const where = this.#deps.target();
    return where.kind === "invalid" ? undefined : originOf(where);
  }

  /** A client with a key that is not stored yet. @throws as {@link connect}. */
  clientWith(where: Target, key: string, signal: AbortSignal): Promise<ServiceClient> {
    return clientOf(where, key, this.#deps, signal);
  }

  /** Follows the service until stopped; no effect if it is followed already. @param found the service, if it was just found. */
  watch(found?: FoundService): void {
    this.#wanted = true;
    if (this.#watching !== undefined) return;
    const watching = new AbortController();
    this.#watching = watching;
    if (found !== undefined) this.#used = found.used;
    void this.#keepWatching(found?.client, watching.signal).finally(() => {
      // Ended because there is no key or valid setting: the next `watch` starts again.
      if (this.#watching === watching) this.#watching = undefined;
    });
  }

  /** Resolves once the service's numbers are known, or why there are none. */
  async settled(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const observing = this.state.observe(({ kind }) => {
      if (kind !== "connecting") resolve();
    });
    await promise;
    observing.dispose();
  }

  /** Connects again with the current settings and keys; no effect on an idle window. */
  restart(): void {
    if (!this.#wanted) return;
    this.stop();
    this.watch();
  }

  async restartIfChanged(): Promise<void> {
    const used = this.#used;
    const now = await findServiceInUse(this.#deps);
    if (this.#used !== used) return;
    const isSame = this.#watching !== undefined && used?.address === now.address && used?.key === now.key;
    if (!isSame) this.restart();
  }

  /** Stops following the service and shows nothing, until the service is wanted again. */
  stop(): void {
    this.#wanted = false;
    this.#watching?.abort();
    this.#watching = undefined;
    this.#connection = undefined;
    this.reading.set(undefined);
    this.state.set({ kind: "idle" });
  }

  /** Called after the org's numbers have changed. Reads them if there are no events; errors show in the status bar anyway. */
  noteChange(client: ServiceClient, signal: AbortSignal): void {
    const { value } = this.state;
    if (value.kind !== "live" || value.activeRuns === undefined)
      void this.refresh(client, signal).catch(() => {});
  }

  async refresh(client: ServiceClient, signal: AbortSignal): Promise<void> {
    const told = await client.orgAndTime(signal);
    // The settings or the key may have changed since the command began; another org's numbers must not be shown.
    const { currentClient } = this;
    if (isSameService(client, currentClient)) this.#connection?.show(told);
  }

  dispose(): void {
    this.stop();
  }

  async #keepWatching(found: ServiceClient | undefined, signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    let pauses = this.#pauses();
    let hasNoEvents = false;
    let known = found;
    this.state.set({ kind: "connecting" });
    const following = this.#isFocused.subscribe(() => {
      pauses = this.#pauses();
    });
    try {
      while (!signal.aborted) {
        const began = clock.monotonic();
        let wanted = 0;
        try {
          const client = known ?? (await this.#find(signal));
          known = undefined;
          this.#connection = new ServiceConnection(client, {
            ...this.#deps,
            session: this,
            isFocused: this.#isFocused,
            random: this.#random,
          });
          const end = await this.#connection.watch(signal);
          if (end === "woken") continue;
        } catch (error) {
          if (signal.aborted || (await this.#showFault(error, signal)) === "final") return;
          wanted = error instanceof OutOfReach ? (error.retryAfterSeconds ?? 0) * 1000 : 0;
        }
        hasNoEvents = this.#connection?.hasNoEvents ?? hasNoEvents;
        // A connection that breaks at once isn't a success. Looking for a stopped service only reads a file.
        const isCheap = this.state.value.kind === "stopped";
        if (isCheap || clock.monotonic() - began > steadyAfter) pauses = this.#pauses();
        if (wanted > 0) await clock.sleep(wanted, signal).catch(() => undefined);
        // A window that regains the focus ends a long pause.
        do await pauseFor(pauses.next().value, clock, this.#isFocused, signal);
        while (hasNoEvents && !this.#isFocused.value && !signal.aborted);
      }
    } finally {
      following.dispose();
    }
  }

  /** Finds the service to follow. @throws as {@link connect}; the signal's reason. */
  async #find(signal: AbortSignal): Promise<ServiceClient> {
    const key = findServiceInUse(this.#deps).then((used) => {
      if (!signal.aborted) this.#used = used;
      return used.key;
    });
    const client = await clientOf(this.#deps.target(), key, this.#deps, signal);
    signal.throwIfAborted();
    return client;
  }

  #pauses(): Generator<number, never> {
    return growingPauses(
      this.#random,
      this.#isFocused.value ? reconnectBounds.focused : reconnectBounds.unfocused,
    );
  }

  async #showFault(error: unknown, signal: AbortSignal): Promise<"final" | "passing"> {
    if (error instanceof ServiceStopped) {
      if (this.state.value.kind === "stopped") return "passing";
      this.#deps.log.info(error.message);
      this.reading.set(undefined);
      this.state.set({ kind: "stopped" });
      return "passing";
    }
    // Ignored: the system's keyring may be locked.
    const used = await findServiceInUse(this.#deps).catch(() => undefined);
    if (signal.aborted) return "final";
    this.#deps.log.warn(describeError(error));
    this.reading.set(undefined);
    const isRefused = error instanceof PipelineError && error.type === "unauthorized";
    if (isRefused && used !== undefined && used.where.kind !== "invalid") {
      this.state.set({ kind: "no-key", origin: originOf(used.where), refused: used.key !== undefined });
      return "final";
    }
    if (error instanceof PipelineError && error.type === "not-supported") {
      this.state.set({ kind: "not-supported", problem: describeError(error) });
      return "final";
    }
    const retried = used?.where.kind !== "invalid";
    this.state.set({ kind: "out-of-reach", problem: describeError(error), retried });
    return retried ? "passing" : "final";
  }
}

export interface ClientOfDeps {
  /** Finds or starts this machine's own service. */
  readonly embedded: (
    signal: AbortSignal,
    start: StartWhen,
  ) => Promise<Pick<ServiceClientOptions, "baseUrl" | "apiKey" | "keyOfNow" | "environment" | "fetch">>;
  readonly clock: Clock;
  /** By default the editor's own, with its proxy settings, except for this machine's own service. */
  readonly fetch?: Fetch;
}

/**
 * A client of a service.
 * @param key the entered key, if any; this machine's service is found in the meantime.
 * @throws PipelineError that names what is missing: a key, a valid base URL, or a service that answers.
 */
export async function clientOf(
  where: Target,
  key: string | undefined | PromiseLike<string | undefined>,
  { embedded, clock, fetch }: ClientOfDeps,
  signal: AbortSignal,
  start: StartWhen = "needed",
): Promise<ServiceClient> {
  if (where.kind === "invalid") throw where.error;
  // The editor trusts the system's certificates (`http.systemCertificates`) and ignores environment variables.
  const trustNext = t(
    "If you trust it, add its authority to this machine's certificates, then reload the window.",
  );
  const others = fetch === undefined ? { clock, trustNext } : { clock, trustNext, fetch };
  if (where.kind === "embedded") {
    const [entered, own] = await Promise.all([key, embedded(signal, start)]);
    const { baseUrl, apiKey, environment, keyOfNow, fetch: ownFetch } = own;
    const its = { baseUrl, ...(ownFetch === undefined ? {} : { fetch: ownFetch }), ...others };
    if (entered !== undefined) return new ServiceClient({ ...its, apiKey: entered });
    return new ServiceClient({ ...its, apiKey, environment, keyOfNow });
  }
  const entered = await key;
  if (entered === undefined) throw missingKey(originOf(where));
  return new ServiceClient({ baseUrl: where.baseUrl, apiKey: entered, ...others });
}

function missingKey(origin: string): PipelineError {
  return new PipelineError("unauthorized", t("There is no API key for {0}.", origin), {
    next: t("Set one with “Set API Key…”."),
  });
}

interface ServiceInUseDeps {
  readonly target: () => Target;
  /** What knows the entered key in use for an origin. */
  readonly keys: { keyFor(origin: string): Thenable<{ readonly key: string } | undefined> };
}

export type ServiceInUse = Awaited<ReturnType<typeof findServiceInUse>>;

/** The service to use now, and the entered key, if any. */
async function findServiceInUse({ target, keys }: ServiceInUseDeps) {
  const where = target();
  // The same text for the same service.
  const address = where.kind === "remote" ? where.baseUrl.href : where.kind;
  const key = where.kind === "invalid" ? undefined : (await keys.keyFor(originOf(where)))?.key;
  return { where, address, key };
}

/**
 * Refuses this machine's own service to a window whose folders are all elsewhere.
 * @throws PipelineError `not-supported` for such a window.
 */
export function refuseVirtual(folders: readonly Pick<WorkspaceFolder, "uri">[] | undefined): void {
  if (folders === undefined || folders.length === 0) return;
  if (folders.some(({ uri }) => uri.scheme === "file")) return;
  throw new PipelineError(
    "not-supported",
    t("The files of this workspace are not on this machine, so its own service can't run their pipelines."),
    { next: t("Set pipelineRuns.baseUrl to a service that knows them, or open a folder of this machine.") },
  );
}
