import { createHash, randomBytes } from "node:crypto";
import type { Clock } from "../../contract/clock.ts";
import type { Endpoints } from "../http/endpoints.ts";
import { reply } from "../http/reply.ts";

/** How long a sign-in link can be used, in milliseconds. */
const linkLifetime = 60_000;

/** How many open links a key has at most; a new one replaces the oldest. */
const mostOfOneKey = 5;

interface OpenLink {
  readonly keyId: string;
  readonly endsAt: number;
}

export interface NewCode {
  readonly code: string;
  /** Milliseconds since 1970. */
  readonly endsAt: number;
}

/** One-time codes that sign a browser in, so that nobody has to type a key. Only their hashes are held, in memory. */
export class SignInLinks {
  readonly #clock: Pick<Clock, "now">;
  /** By hash, oldest first. */
  readonly #open = new Map<string, OpenLink>();

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  make(keyId: string): NewCode {
    this.#dropExpired();
    const ofKey = [...this.#open].filter(([, link]) => link.keyId === keyId);
    for (const [hash] of ofKey.slice(0, Math.max(0, ofKey.length + 1 - mostOfOneKey)))
      this.#open.delete(hash);
    const code = randomBytes(32).toString("base64url");
    const endsAt = this.#clock.now() + linkLifetime;
    this.#open.set(hashOf(code), { keyId, endsAt });
    return { code, endsAt };
  }

  /** The key of a valid code, which stays valid. */
  find(code: string): string | undefined {
    this.#dropExpired();
    return this.#open.get(hashOf(code))?.keyId;
  }

  /** Consumes a code. @returns its key; undefined when it was used before or has expired. */
  use(code: string): string | undefined {
    const keyId = this.find(code);
    this.#open.delete(hashOf(code));
    return keyId;
  }

  #dropExpired(): void {
    const now = this.#clock.now();
    for (const [hash, { endsAt }] of this.#open) if (endsAt <= now) this.#open.delete(hash);
  }
}

function hashOf(code: string): string {
  return createHash("sha256").update(code).digest("hex");
}

/** `POST /api/sign-in-links`: a link that signs a browser in with the caller's key, once and within a minute. */
export function signInLinkRoute(endpoints: Endpoints, links: SignInLinks): void {
  endpoints.add(
    {
      method: "post",
      path: "/api/sign-in-links",
      group: "page",
      summary: "Makes a link that signs a browser in to the page with the caller's key",
      description: "Takes no body. The link can be used once, until `expires-at`.",
      access: "every role",
      reply: { status: 201, description: "The link.", json: "SignInLink" },
    },
    (context) => {
      const { code, endsAt } = links.make(context.get("caller").keyId);
      const url = new URL("/app/sign-in", context.req.url);
      url.searchParams.set("code", code);
      return reply({ url: url.href, expiresAt: new Date(endsAt).toISOString() }, 201);
    },
  );
}
