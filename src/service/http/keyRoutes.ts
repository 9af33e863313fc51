import { type Key, mayManageKeys } from "../../contract/keys.ts";
import { createKeyOf, type KeyFacts, listKeys, revokeKey } from "../store/keys.ts";
import type { AppDeps } from "./appDeps.ts";
import type { Endpoints } from "./endpoints.ts";
import { reply } from "./reply.ts";

/** Listing, making and revoking an org's keys. */
export function keyRoutes(endpoints: Endpoints, { db, writer, clock, makeId, replies }: AppDeps): void {
  endpoints.add(
    {
      method: "get",
      path: "/api/keys",
      summary: "The org's keys, for an owner; for anyone else the caller's own",
      access: "every role",
      reply: {
        description: "The keys in the order they were made, also the revoked ones. No secret is among them.",
        json: "KeyList",
      },
    },
    async (_, { caller: { orgId, keyId, role } }) => {
      const keys = await listKeys(db, mayManageKeys(role) ? { orgId } : { orgId, keyId });
      return reply({ keys: keys.map((key) => asKey(key, keyId)) });
    },
  );

  endpoints.add(
    {
      method: "post",
      path: "/api/keys",
      summary: "Makes a key of the org",
      access: "owners",
      body: "KeyRequest",
      reply: {
        status: 201,
        description: "The key. This is the only time that its secret, `api-key`, is shown.",
        json: "NewKey",
      },
    },
    async (_, { caller: { orgId }, body: { role, name } }) => {
      const { keyId, secret, createdAt } = await writer.write((tx) =>
        createKeyOf(tx, orgId, { role, name }, { now: clock.now, makeId }),
      );
      return reply({ orgId, keyId, name, role, createdAt, apiKey: secret }, 201);
    },
  );

  endpoints.add(
    {
      method: "post",
      path: "/api/keys/{id}/revoke",
      summary: "Makes a key open nothing any more",
      description:
        "Takes no body. Ends the key's streams and held requests at once, on other servers within 2 s; runs that it has started go on. Revoking again is no error. `conflict` for the org's last owner key and for this machine's own.",
      access: "owners",
      params: { id: "The key's id." },
      reply: { description: "The key as it is now.", json: "Key" },
      errors: ["not-found", "conflict"],
    },
    async (context, { caller: { orgId, keyId: callers }, params: { id: keyId } }) => {
      const key = await writer.write((tx) => revokeKey(tx, { keyId, orgId }, clock.now()));
      // Except this reply, when callers revoke their own key.
      replies.endRevoked(keyId, context.env.outgoing);
      return reply(asKey(key, callers));
    },
  );
}

function asKey({ orgId: _, orgName: __, ...key }: KeyFacts, callers: string): Key {
  return { ...key, isActor: key.keyId === callers };
}
