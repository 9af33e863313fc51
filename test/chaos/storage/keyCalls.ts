import * as z from "zod/mini";

/** The calls about keys, by one owner of an org, at the service where it is now. */
export function keyCalls(baseUrl: URL, ownersSecret: string, signal: AbortSignal) {
  const ask = (path: string, init: RequestInit, secret: string) =>
    fetch(new URL(path, baseUrl), {
      ...init,
      headers: { "x-api-key": secret, "content-type": "application/json" },
      signal,
    });
  return {
    /** A new key of a viewer; undefined where it could not be made. */
    async make(): Promise<{ readonly keyId: string; readonly secret: string } | undefined> {
      const reply = await ask(
        "api/keys",
        { method: "POST", body: JSON.stringify({ role: "viewer" }) },
        ownersSecret,
      );
      if (reply.status !== 201) return undefined;
      const { "key-id": keyId, "api-key": secret } = newKeySchema.parse(await reply.json());
      return { keyId, secret };
    },
    /** @returns whether the service has said that it is revoked. */
    revoke: async (keyId: string): Promise<boolean> =>
      (await ask(`api/keys/${keyId}/revoke`, { method: "POST" }, ownersSecret)).status === 200,
    /** @returns the status of what anyone may ask with a key. */
    use: async (secret: string): Promise<number> => (await ask("api/org", {}, secret)).status,
    /** The lines of a run's log as they are now; undefined where it could not be read. */
    async log(runId: string): Promise<readonly string[] | undefined> {
      const reply = await ask(`api/runs/${runId}/log?follow=false`, {}, ownersSecret);
      const text = await reply.text();
      if (reply.status === 404) return text.includes("was removed") ? [] : undefined;
      return reply.status === 200 ? text.split("\n").slice(0, -1) : undefined;
    },
  };
}

const newKeySchema = z.object({ "key-id": z.string(), "api-key": z.string() });
