import { type Context, Hono } from "hono";
import * as z from "zod/mini";
import type { ErrorType } from "../../contract/errors.ts";
import * as keys from "../../contract/keys.ts";
import { logEntrySchema } from "../../contract/log.ts";
import { orgSchema, queueSchema } from "../../contract/org.ts";
import * as pipelines from "../../contract/pipelines.ts";
import * as changes from "../../contract/run.ts";
import * as run from "../../contract/run.ts";
import * as runners from "../../contract/runners.ts";
import * as service from "../../contract/service.ts";
import type { Caller } from "../store/keys.ts";
import { type Access, requireAccess, type SignedIn } from "./authenticate.ts";
import { requestBody } from "./requestInput.ts";

/** An endpoint as the OpenAPI document describes it, and {@link Endpoints} checks it. */
export interface Endpoint<Path extends string = string, Body extends SchemaName = SchemaName> {
  readonly method: "get" | "post" | "put" | "delete";
  /** With `{name}` for a variable part. */
  readonly path: Path;
  readonly summary: string;
  readonly description?: string;
  readonly access: Access;
  readonly params?: Readonly<Record<Params<Path>, string>>;
  readonly query?: z.ZodMiniObject<Record<string, z.ZodMiniType>>;
  readonly headers?: readonly {
    readonly name: string;
    readonly description: string;
    readonly schema: z.ZodMiniType;
  }[];
  /** The schema of its JSON body. */
  readonly body?: Body;
  /** The most bytes of its body; 64 KiB when left out. */
  readonly bodyBytes?: (caller: Caller) => number | undefined;
  readonly reply: GoodReply;
  /** Besides those of every endpoint: `invalid-request`, `forbidden`, `internal`, and `unauthorized` where a key is needed. */
  readonly errors?: readonly Exclude<ErrorType, "out-of-reach" | "breaks-contract" | "usage">[];
}

/** The bytes of a JSON body that holds a text of 64 KiB: escaped, the text may be several times as long. */
export const longBody = 512 * 1024;

type Params<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | Params<Rest>
  : never;

interface GoodReply {
  /** 200 when left out. */
  readonly status?: 201 | 204;
  readonly description: string;
  /** The schema of its JSON; absent for text and bytes. */
  readonly json?: SchemaName;
  /** Other media types. */
  readonly text?: readonly string[];
  readonly bytes?: readonly string[];
  readonly headers?: readonly ReplyHeader[];
}

export type ReplyHeader = "Location" | "RateLimit" | "RateLimit-Policy";

interface CheckedRequest<Path extends string, Body extends SchemaName> {
  /** Whose key it has; undefined for an endpoint that needs none. */
  readonly caller: Caller;
  readonly params: Readonly<Record<Params<Path>, string>>;
  readonly body: z.infer<(typeof schemas)[Body]>;
}

/** The service's API routes, each with its description in `/openapi.json`. */
export class Endpoints {
  readonly routes = new Hono<SignedIn>();
  readonly all: Endpoint[] = [];
  readonly #machineKeyId: string | undefined;

  /** @param machineKeyId the id of the key that this machine's own faces use, where there is one. */
  constructor(machineKeyId: string | undefined) {
    this.#machineKeyId = machineKeyId;
  }

  /** @param answer called when the caller is allowed and the body is valid. */
  add<Path extends `/${string}`, Body extends SchemaName = never>(
    endpoint: Endpoint<Path, Body>,
    answer: (context: Context<SignedIn>, request: CheckedRequest<Path, Body>) => Response | Promise<Response>,
  ): void {
    this.all.push(endpoint);
    const { access, body: schema } = endpoint;
    const path = endpoint.path.replaceAll(/\{(\w+)\}/g, ":$1");
    this.routes.on(endpoint.method.toUpperCase(), path, async (context) => {
      const caller = context.get("caller");
      requireAccess(access, caller, this.#machineKeyId);
      const body =
        schema === undefined
          ? undefined
          : await requestBody(context, schemas[schema], endpoint.bodyBytes?.(caller));
      // The types come from the path and the schema.
      return answer(context, { caller, params: context.req.param(), body } as CheckedRequest<Path, Body>);
    });
  }
}

/** The contract's schemas by their names in the document. They also check the requests. */
export const schemas = {
  Health: service.healthSchema,
  HandOverReply: service.handOverReplySchema,
  ServiceState: service.serviceStateSchema,
  RunnerRequest: runners.runnerRequestSchema,
  Runner: runners.runnerReplySchema,
  WorkRequest: runners.workRequestSchema,
  Work: runners.workReplySchema,
  Heartbeat: runners.heartbeatRequestSchema,
  HeartbeatReply: runners.heartbeatReplySchema,
  RunnerMessages: runners.messagesRequestSchema,
  Snapshot: service.snapshotSchema,
  Error: service.errorBodySchema,
  Org: orgSchema,
  Queue: queueSchema,
  Run: run.servedRunSchema,
  RanPipeline: changes.ranPipelineSchema,
  Changes: changes.changesSchema,
  RunList: run.servedRunListSchema,
  StartRequest: run.startRequestSchema,
  CancelReply: run.cancelReplySchema,
  LogEntry: logEntrySchema,
  PipelineList: pipelines.servedPipelineListSchema,
  Project: pipelines.projectSchema,
  ProjectList: pipelines.projectListSchema,
  ProjectRequest: pipelines.projectRequestSchema,
  Key: keys.keySchema,
  KeyList: keys.keyListSchema,
  KeyRequest: keys.keyRequestSchema,
  NewKey: keys.newKeySchema,
  SignInLink: service.signInLinkSchema,
  OpenApi: z.record(z.string(), z.unknown()),
} as const satisfies Record<string, z.ZodMiniType>;

type SchemaName = keyof typeof schemas;
