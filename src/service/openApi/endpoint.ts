import type * as z from "zod/mini";
import type { ErrorType } from "../../contract/errors.ts";
import type { SchemaName } from "./schemas.ts";

/** One endpoint as the document tells of it. A test holds the list of them to the routes that are there. */
export interface Endpoint {
  readonly method: "get" | "post" | "put" | "delete";
  /** With `{name}` for what stands in a part of the path. */
  readonly path: `/${string}`;
  readonly group: "service" | "org" | "runs" | "projects" | "keys" | "page";
  readonly summary: string;
  readonly description?: string;
  /** Who may: anybody without a key, a key of any role, of any but a viewer's, an owner's, or who is signed in to the page. */
  readonly access: "open" | "every role" | "members" | "owners" | "session";
  /** What the parts of the path are. */
  readonly parts?: Readonly<Record<string, string>>;
  /** An object whose fields are the query's. */
  readonly query?: z.ZodMiniObject;
  readonly headers?: readonly RequestHeader[];
  readonly body?: SchemaName;
  readonly reply: GoodReply;
  /** Beside those that every endpoint has: `invalid-request`, `forbidden`, `internal`, and `unauthorized` behind the key. */
  readonly errors?: readonly Exclude<ErrorType, "out-of-reach" | "breaks-contract" | "usage">[];
}

interface GoodReply {
  readonly status: 200 | 201 | 204 | 303;
  readonly description: string;
  readonly content: ReplyContent;
  readonly headers?: readonly ReplyHeader[];
}

export type ReplyContent =
  | { readonly kind: "json"; readonly schema: SchemaName }
  /** A JSON object that no schema of ours describes. */
  | { readonly kind: "any-json" }
  /** Text, or bytes, of these media types. */
  | { readonly kind: "text" | "bytes"; readonly mediaTypes: readonly [string, ...string[]] }
  | { readonly kind: "nothing" };

export type ReplyHeader = "Location" | "RateLimit" | "RateLimit-Policy";

interface RequestHeader {
  readonly name: string;
  readonly description: string;
  readonly schema: z.ZodMiniType;
}
