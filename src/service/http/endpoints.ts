import { type Context, Hono } from "hono";
import * as z from "zod/mini";
import type { ErrorType } from "../../contract/errors.ts";
import { keyListSchema, keyRequestSchema, keySchema, newKeySchema } from "../../contract/keys.ts";
import { logEntrySchema } from "../../contract/log.ts";
import { orgSchema } from "../../contract/org.ts";
import {
  projectListSchema,
  projectRequestSchema,
  projectSchema,
  servedPipelineListSchema,
} from "../../contract/pipelines.ts";
import {
  cancelReplySchema,
  servedRunListSchema,
  servedRunSchema,
  startRequestSchema,
} from "../../contract/run.ts";
import {
  errorBodySchema,
  handOverReplySchema,
  healthSchema,
  signInLinkSchema,
} from "../../contract/service.ts";
import type { Caller } from "../store/keys.ts";
import { requireChange, requireOwner, type SignedIn } from "./authenticate.ts";
import { requestBody } from "./requestInput.ts";

/** One endpoint, as it is told in the document and held to by {@link Endpoints}. */
export interface Endpoint<Path extends string = string, Body extends SchemaName = SchemaName> {
  readonly method: "get" | "post" | "put" | "delete";
  /** With `{name}` for what stands in a part of the path. */
  readonly path: Path;
  readonly group: "service" | "org" | "runs" | "projects" | "keys" | "page";
  readonly summary: string;
  readonly description?: string;
  readonly access: Access;
  /** What the parts of the path are. */
  readonly parts?: Readonly<Record<Parts<Path>, string>>;
  /** An object whose fields are the query's. */
  readonly query?: z.ZodMiniObject<Record<string, z.ZodMiniType>>;
  readonly headers?: readonly RequestHeader[];
  /** The schema that its JSON body is checked by. */
  readonly body?: Body;
  readonly reply: GoodReply;
  /** Beside those that every endpoint has: `invalid-request`, `forbidden`, `internal`, and `unauthorized` behind the key. */
  readonly errors?: readonly Exclude<ErrorType, "out-of-reach" | "breaks-contract" | "usage">[];
}

/** Who may: anybody without a key, a key of any role, of any but a viewer's, an owner's, or this machine's own. */
export type Access = "open" | "every role" | "members" | "owners" | "this machine";

type Parts<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | Parts<Rest>
  : never;

interface GoodReply {
  /** 200 when left out. */
  readonly status?: 201;
  readonly description: string;
  /** The schema of its JSON; left out where it is text or bytes. */
  readonly json?: SchemaName;
  /** The media types that it may have instead. */
  readonly text?: readonly string[];
  readonly bytes?: readonly string[];
  readonly headers?: readonly ReplyHeader[];
}

export type ReplyHeader = "Location" | "RateLimit" | "RateLimit-Policy";

interface RequestHeader {
  readonly name: string;
  readonly description: string;
  readonly schema: z.ZodMiniType;
}

/** What an endpoint's answer is given of the request, beside its context. */
interface Given<Path extends string, Body extends SchemaName> {
  readonly parts: Readonly<Record<Parts<Path>, string>>;
  readonly body: z.infer<(typeof schemas)[Body]>;
}

/** The service's routes for programs, and beside each what `/openapi.json` tells of it: there is no route without. */
export class Endpoints {
  readonly routes = new Hono<SignedIn>();
  readonly all: Endpoint[] = [];

  /** The answer is asked once the caller may and the body is valid. */
  add<Path extends `/${string}`, Body extends SchemaName = never>(
    endpoint: Endpoint<Path, Body>,
    answer: (context: Context<SignedIn>, given: Given<Path, Body>) => Response | Promise<Response>,
  ): void {
    this.all.push(endpoint);
    const { access, body: schema } = endpoint;
    const path = endpoint.path.replaceAll(/\{(\w+)\}/g, ":$1");
    this.routes.on(endpoint.method.toUpperCase(), path, async (context) => {
      mayAsk(access, context.get("caller"));
      const body = schema === undefined ? undefined : await requestBody(context, schemas[schema]);
      // The path and the schema are those that the types come from.
      return answer(context, { parts: context.req.param(), body } as Given<Path, Body>);
    });
  }
}

/** Whose key this machine's own is, its endpoint knows. @throws PipelineError `forbidden`. */
function mayAsk(access: Access, caller: Caller): void {
  if (access === "members") requireChange(caller);
  if (access === "owners") requireOwner(caller.role);
}

/** The contract's schemas that the document names: the very ones that check what comes in. */
export const schemas = {
  Health: healthSchema,
  HandOverReply: handOverReplySchema,
  Error: errorBodySchema,
  Org: orgSchema,
  Run: servedRunSchema,
  RunList: servedRunListSchema,
  StartRequest: startRequestSchema,
  CancelReply: cancelReplySchema,
  LogEntry: logEntrySchema,
  PipelineList: servedPipelineListSchema,
  Project: projectSchema,
  ProjectList: projectListSchema,
  ProjectRequest: projectRequestSchema,
  Key: keySchema,
  KeyList: keyListSchema,
  KeyRequest: keyRequestSchema,
  NewKey: newKeySchema,
  SignInLink: signInLinkSchema,
  OpenApi: z.record(z.string(), z.unknown()),
} as const satisfies Record<string, z.ZodMiniType>;

type SchemaName = keyof typeof schemas;
