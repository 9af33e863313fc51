import type { Endpoint } from "./endpoint.ts";

export const keyEndpoints: readonly Endpoint[] = [
  {
    method: "get",
    path: "/api/keys",
    group: "keys",
    summary: "The org's keys, for an owner; for anyone else the caller's own",
    access: "every role",
    reply: {
      status: 200,
      description: "The keys in the order they were made, also the revoked ones. No secret is among them.",
      content: { kind: "json", schema: "KeyList" },
    },
  },
  {
    method: "post",
    path: "/api/keys",
    group: "keys",
    summary: "Makes a key of the org",
    access: "owners",
    body: "KeyRequest",
    reply: {
      status: 201,
      description: "The key. This is the only time that its secret, `api-key`, is shown.",
      content: { kind: "json", schema: "NewKey" },
    },
  },
  {
    method: "post",
    path: "/api/keys/{id}/revoke",
    group: "keys",
    summary: "Makes a key open nothing any more",
    description:
      "Takes no body. Ends the key's streams and held requests at once; runs that it has started go on. Revoking again is no error. `conflict` for the org's last owner key and for this machine's own.",
    access: "owners",
    parts: { id: "The key's id." },
    reply: { status: 200, description: "The key as it is now.", content: { kind: "json", schema: "Key" } },
    errors: ["not-found", "conflict"],
  },
];
