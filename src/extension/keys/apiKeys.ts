import { hash } from "node:crypto";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import type { SecretStorage } from "vscode";
import * as z from "zod/mini";
import type { Org } from "../../contract/org.ts";

/** A stored key. Everything known about it is in the secret's own value. */
const storedKeySchema = z.object({
  /** The origin to which it is bound, see `originOf`. */
  origin: z.string(),
  /** The service's address; undefined for this machine's own. */
  baseUrl: z.optional(z.string()),
  key: z.string().check(z.minLength(1)),
  /** Undefined until the service reports it. */
  org: z.optional(z.object({ orgId: z.string(), orgName: z.string() })),
  /** When a key of this org was first entered, in milliseconds since 1970. */
  addedAt: z.number(),
});

export interface StoredKey extends z.infer<typeof storedKeySchema> {
  /** The name of its secret. */
  readonly name: string;
}

export interface EnteredKey {
  readonly origin: string;
  readonly baseUrl: URL | undefined;
  readonly key: string;
  /** Undefined if the service could not be asked. */
  readonly org: Pick<Org, "orgId" | "orgName"> | undefined;
}

/**
 * The API keys in the editor's secret storage, each bound to the origin it was entered for, so that a changed base URL never gets
 * another origin's key (contract: "The extension").
 *
 * Each org of an origin has its own secret, named after both, so that windows that add keys at the same time don't overwrite each
 * other's.
 */
export class ApiKeys {
  readonly #secrets: SecretStorage;
  readonly #none: string;
  readonly #now: () => number;
  /** How often any window has changed a key. */
  #changes = 0;

  /** @param none a file shared by the windows of all profiles, as secrets are. While it exists, no key is stored. */
  constructor(secrets: SecretStorage, none: string, now: () => number = Date.now) {
    this.#secrets = secrets;
    this.#none = none;
    this.#now = now;
  }

  /**
   * The keys of all origins, oldest first. If none is stored, the secret storage isn't asked: an opening window would wait for
   * it, and the system might ask the person to unlock a keyring for nothing.
   */
  async list(): Promise<StoredKey[]> {
    if (existsSync(this.#none)) return [];
    const changes = this.#changes;
    const names = (await this.#secrets.keys()).filter(isOurs);
    // Written synchronously, so that a key stored in the meantime isn't missed.
    if (names.length === 0 && changes === this.#changes) noteNone(this.#none);
    const read = await Promise.allSettled(names.map((name) => this.#read(name)));
    const kept = read.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
    // An unreadable key is an error only if no other can be read.
    const [failed] = read.filter((one) => one.status === "rejected");
    if (failed !== undefined && kept.length === 0) throw failed.reason;
    return kept
      .filter((key) => key !== undefined)
      .sort((one, other) => one.addedAt - other.addedAt || (one.name < other.name ? -1 : 1));
  }

  /** Stores a key, replacing the origin's key of the same org, or of an unknown org. */
  async add({ origin, baseUrl, key, org }: EnteredKey): Promise<StoredKey> {
    const name = nameOf(origin, org?.orgId);
    const before = await this.#read(name);
    const kept = {
      origin,
      baseUrl: baseUrl?.href,
      key,
      org: org && { orgId: org.orgId, orgName: org.orgName },
      addedAt: before?.addedAt ?? this.#now(),
    };
    this.#forgetNone();
    await this.#secrets.store(name, JSON.stringify(kept));
    return { name, ...storedKeySchema.parse(kept, { jitless: true }) };
  }

  /**
   * Stores a key under its org, once the service reports it: a key of an earlier version, or one entered while the service was
   * out of reach. A key that the org got in the meantime stays.
   */
  async setOrg(kept: StoredKey, org: Pick<Org, "orgId" | "orgName">): Promise<StoredKey> {
    const name = nameOf(kept.origin, org.orgId);
    if (kept.name === name && kept.org?.orgName === org.orgName) return kept;
    const there = kept.name === name ? undefined : await this.#read(name);
    if (there === undefined) {
      const { name: _, ...value } = kept;
      const learned = { ...value, org: { orgId: org.orgId, orgName: org.orgName } };
      await this.#secrets.store(name, JSON.stringify(learned));
    }
    // Removed last, so that a crash in between leaves the key twice rather than not at all.
    if (kept.name !== name) await this.remove(kept);
    return (await this.#read(name)) ?? kept;
  }

  async remove({ name, key }: Pick<StoredKey, "name" | "key">): Promise<void> {
    // Another window may have replaced the key.
    if ((await this.#read(name))?.key === key) await this.#secrets.delete(name);
  }

  /** Called when this or another window changes a key. */
  onDidChange(listener: () => void): { dispose(): void } {
    return this.#secrets.onDidChange(({ key }) => {
      if (!isOurs(key)) return;
      this.#changes += 1;
      this.#forgetNone();
      listener();
    });
  }

  #forgetNone(): void {
    if (existsSync(this.#none)) rmSync(this.#none, { force: true });
  }

  async #read(name: string): Promise<StoredKey | undefined> {
    const text = await this.#secrets.get(name);
    if (text === undefined || text === "") return undefined;
    if (name.startsWith(earlier)) return fromEarlier(name, text);
    try {
      const read = storedKeySchema.safeParse(JSON.parse(text), { jitless: true });
      return read.success ? { name, ...read.data } : undefined;
    } catch {
      return undefined;
    }
  }
}

function noteNone(file: string): void {
  try {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, "");
  } catch {
    // Ignored: the storage is then asked each time.
  }
}

const prefix = "key:";
/** Earlier versions stored one key per origin, unencoded, under the origin's name. */
const earlier = "apiKey:";

function isOurs(name: string): boolean {
  return name.startsWith(prefix) || name.startsWith(earlier);
}

/** Secrets' names aren't secret, so the name is a hash. */
function nameOf(origin: string, orgId: string | undefined): string {
  return prefix + hash("sha256", JSON.stringify([origin, orgId ?? null])).slice(0, 32);
}

function fromEarlier(name: string, key: string): StoredKey {
  const origin = name.slice(earlier.length);
  return { name, origin, key, addedAt: 0, ...(URL.canParse(origin) ? { baseUrl: `${origin}/` } : {}) };
}
