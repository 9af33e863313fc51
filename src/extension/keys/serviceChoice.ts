import { t } from "@vscode/l10n";
import type { Memento, WorkspaceConfiguration } from "vscode";
import * as z from "zod/mini";
import { parseBaseUrl } from "../../client/service/request.ts";
import { describeError, PipelineError } from "../../contract/errors.ts";
import { Emitter } from "../window/observable.ts";
import { chosenServiceKey } from "../window/storedState.ts";
import type { ApiKeys, StoredKey } from "./apiKeys.ts";

/** The person's choice for this workspace, which the workspace's files can't make. */
const chosenSchema = z.discriminatedUnion("kind", [
  /** This machine's own service, with its own token. */
  z.object({ kind: z.literal("own") }),
  z.object({
    kind: z.literal("key"),
    /** The name of the key's secret. */
    name: z.string(),
    origin: z.string(),
    baseUrl: z.optional(z.string()),
    /**
     * Whether the service differed from the one in the settings when it was chosen; if not, the choice ends when that setting
     * changes.
     */
    overrides: z.boolean(),
  }),
]);

type Chosen = z.infer<typeof chosenSchema>;

/** Why a window uses its service and key. */
export type Source =
  /** A person chose them for this workspace. */
  | "chosen"
  /** The base URL in the settings, and the first key entered for it. */
  | "settings"
  /** This machine's own service, since there is no base URL. */
  | "default";

/**
 * The service and key that this window uses: those of the settings, unless the person chooses others for the workspace. A key
 * goes only to the origin that it was entered for.
 */
export class ServiceChoice {
  readonly changed = new Emitter<void>();
  readonly #memento: Pick<Memento, "get" | "update">;
  readonly #keys: ApiKeys;
  readonly #settings: () => Target;

  constructor(kept: Pick<Memento, "get" | "update">, keys: ApiKeys, settings: () => Target) {
    this.#memento = kept;
    this.#keys = keys;
    this.#settings = settings;
  }

  target(): Target {
    const chosen = this.#chosen();
    if (chosen === undefined) return this.#settings();
    // The address was valid when stored, but perhaps by a version with other rules.
    const address = chosen.kind === "own" ? undefined : chosen.baseUrl;
    return targetAt(address ?? "", t("The chosen service can't be used."));
  }

  source(): Source {
    if (this.#chosen() !== undefined) return "chosen";
    return this.#settings().kind === "embedded" ? "default" : "settings";
  }

  /** The entered key in use for an origin; undefined if there is none, and for this machine's own service with its own token. */
  async keyFor(origin: string): Promise<StoredKey | undefined> {
    const chosen = this.#chosen();
    if (chosen?.kind === "own") return undefined;
    const kept = await this.#keys.list();
    const ofOrigin = kept.filter((key) => key.origin === origin);
    return ofOrigin.find(({ name }) => name === chosen?.name) ?? ofOrigin[0];
  }

  /** Chooses a key and its service for this workspace; `own` is this machine's service with its own token. */
  async choose(key: StoredKey | "own"): Promise<void> {
    if (key === "own") return this.#store({ kind: "own" });
    const { name, origin, baseUrl } = key;
    const settings = this.#settings();
    const overrides = settings.kind === "invalid" || originOf(settings) !== origin;
    return this.#store({ kind: "key", name, origin, baseUrl, overrides });
  }

  /** Chooses a key that was just entered, unless it is already in use. */
  async use(key: StoredKey): Promise<void> {
    const target = this.target();
    const isUsed =
      target.kind !== "invalid" &&
      originOf(target) === key.origin &&
      (await this.keyFor(key.origin))?.name === key.name;
    if (!isUsed) await this.choose(key);
  }

  /** Keeps the choice of a key whose name changed when its org became known. */
  async keyRenamed(before: string, now: StoredKey): Promise<void> {
    const chosen = this.#chosen();
    if (chosen?.kind === "key" && chosen.name === before) await this.#store({ ...chosen, name: now.name });
  }

  /** Lets the settings decide again. */
  async clear(): Promise<void> {
    await this.#store(undefined);
  }

  async #store(chosen: Chosen | undefined): Promise<void> {
    await this.#memento.update(chosenServiceKey, chosen);
    this.changed.emit();
  }

  #chosen(): Chosen | undefined {
    const read = chosenSchema.safeParse(this.#memento.get(chosenServiceKey), { jitless: true });
    if (!read.success) return undefined;
    if (read.data.kind === "own" || read.data.overrides) return read.data;
    const settings = this.#settings();
    // A choice among the keys of one service ends when the settings name another.
    return settings.kind !== "invalid" && originOf(settings) === read.data.origin
      ? { ...read.data, baseUrl: settings.kind === "remote" ? settings.baseUrl.href : undefined }
      : undefined;
  }
}

/** The service that the settings name. */
export type Target =
  /** No base URL: this machine's own service. */
  | { readonly kind: "embedded" }
  | { readonly kind: "remote"; readonly baseUrl: URL }
  | { readonly kind: "invalid"; readonly error: PipelineError };

/** Reads `pipelineRuns.baseUrl`, which no workspace can set. */
export function readTarget(settings: Pick<WorkspaceConfiguration, "get">): Target {
  const text = String(settings.get("baseUrl") ?? "").trim();
  return targetAt(text, t("The setting pipelineRuns.baseUrl can't be used."));
}

/** The service at an address; this machine's own for an empty one. @param unusable the message for an invalid address. */
function targetAt(address: string, unusable: string): Target {
  if (address === "") return { kind: "embedded" };
  try {
    return { kind: "remote", baseUrl: parseBaseUrl(address) };
  } catch (error) {
    return { kind: "invalid", error: new PipelineError("usage", unusable, { next: describeError(error) }) };
  }
}

/** The origin of keys for this machine's own service; never shown. */
const ownOrigin = "this machine's own service";

/** The origin that a key is bound to; {@link originText} is its text for people. */
export function originOf(target: Exclude<Target, { kind: "invalid" }>): string {
  return target.kind === "embedded" ? ownOrigin : target.baseUrl.origin;
}

/** The origin for people, at the beginning of a sentence. */
export function originText(origin: string): string {
  return origin === ownOrigin ? t("This machine's own service") : origin;
}
