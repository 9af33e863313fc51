import { Hono } from "hono";
import { type Key, keyRequestSchema } from "../../contract/key.ts";
import { mayManageKeys } from "../../contract/role.ts";
import { createKeyOf } from "../store/keys.ts";
import { type KeyFacts, listKeys } from "../store/listKeys.ts";
import { revokeKey } from "../store/revokeKey.ts";
import type { AppDeps } from "./appDeps.ts";
import { requireOwner, type SignedIn } from "./authenticate.ts";
import { reply } from "./reply.ts";
import { requestBody } from "./requestBody.ts";

/** Listing, making and revoking an org's keys. */
export function keyRoutes({ db, writer, clock, makeId, replies }: KeyRouteDeps): Hono<SignedIn> {
  const routes = new Hono<SignedIn>();

  routes.get("/", async (context) => {
    const { orgId, keyId, role } = context.get("caller");
    const keys = await listKeys(db, mayManageKeys(role) ? { orgId } : { orgId, keyId });
    return reply({ keys: keys.map((key) => asKey(key, keyId)) });
  });

  routes.post("/", async (context) => {
    const { orgId, role: callers } = context.get("caller");
    requireOwner(callers);
    const { role, name } = await requestBody(context, keyRequestSchema);
    const { keyId, secret, createdAt } = await writer.write((tx) =>
      createKeyOf(tx, orgId, { role, name }, { now: clock.now, makeId }),
    );
    return reply(
      { orgId, keyId, name, role, createdAt: new Date(createdAt).toISOString(), apiKey: secret },
      201,
    );
  });

  routes.post("/:id/revoke", async (context) => {
    const { orgId, keyId: callers, role } = context.get("caller");
    requireOwner(role);
    const keyId = context.req.param("id");
    const key = await writer.write((tx) => revokeKey(tx, { keyId, orgId }, clock.now()));
    // The caller's own reply is not cut off when it is the caller's own key.
    replies.endOf(keyId, context.env.outgoing);
    return reply(asKey(key, callers));
  });

  return routes;
}

type KeyRouteDeps = Pick<AppDeps, "db" | "writer" | "clock" | "makeId" | "replies">;

function asKey(key: KeyFacts, callers: string): Key {
  const { keyId, name, role, isMachine } = key;
  return {
    keyId,
    ...(name === undefined ? {} : { name }),
    role,
    createdAt: new Date(key.createdAt).toISOString(),
    ...(key.revokedAt === undefined ? {} : { revokedAt: new Date(key.revokedAt).toISOString() }),
    isActor: keyId === callers,
    isMachine,
  };
}
