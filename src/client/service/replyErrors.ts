import * as z from "zod/mini";
import { type ErrorType, errorTypes, isErrorType, PipelineError } from "../../contract/errors.ts";
import { runCommand } from "../../contract/refusal.ts";
import { type Run, runSchema } from "../../contract/run.ts";
import { errorBodySchema } from "../../contract/service.ts";
import { fromWire } from "../../contract/wire.ts";
import { duration } from "../../text/time.ts";
import { type Reply, readReply } from "./exchange.ts";
import { foreignLines, foreignText, parseForeignJson } from "./foreignText.ts";
import { OutOfReach } from "./reachFaults.ts";
import { labelOf, type ResponseHeaders, type Service, type ServiceCall } from "./request.ts";

/**
 * The service lacks an endpoint that only our service has, or its endpoint is unusable. A service may have only the endpoints
 * that its description lists (contract: "Endpoints"), so callers catch this and do without.
 */
export class AbsentEndpoint extends PipelineError {
  constructor(message: string, cause?: unknown) {
    super("not-supported", message, { cause });
  }
}

/** The service runs pipelines on other machines, so a start must bring the pipeline file (contract: "Many machines"). */
export class DefinitionWanted extends PipelineError {}

/**
 * Who defines an endpoint (contract: "Endpoints"): `described` is in the service's description, `own` exists only in our service.
 * `own, of something` is for requests that name a run, a pipeline or a project, which a 404 may refer to.
 */
export type Origin = "described" | "own" | "own, of something";

/** The error for a reply of status 400 or more. */
export function replyError(service: Service, call: ServiceCall, reply: Reply, origin: Origin): PipelineError {
  const told = toldError(reply);
  const { host } = service.baseUrl;
  if (isAbsence(reply.status, told.type, origin))
    return new AbsentEndpoint(`${host} has no ${labelOf(call)}.`);
  // One of several servers that is shutting down, has no database, or was suspended while the request was on its way (408). The
  // fault passes, and another server may answer.
  const passes = reply.status === 408 || (reply.status === 503 && reply.headers.get("retry-after") !== null);
  if (told.type !== undefined && !passes) {
    // An invalid request may have several problems, such as those of a pipeline file.
    const shown = told.type === "invalid-request" ? foreignLines : foreignText;
    const said = shown(told.message ?? "", service.apiKey);
    const toldNext = told.next === undefined ? {} : { next: foreignText(told.next, service.apiKey) };
    const next = { ...toldNext, ...keyAdvice(service, told.type) };
    return new PipelineError(told.type, said || `${host} said ${told.type}.`, next);
  }
  const said = foreignText(told.message ?? "", service.apiKey);
  const answered = `${host} answered ${reply.status} to ${labelOf(call)}${said === "" ? "" : `: ${said}`}`;
  const sentence = /[.!?]$/.test(answered) ? answered : `${answered}.`;
  switch (reply.status) {
    case 404:
    case 405:
    case 410:
    case 501:
      // A real service has every described endpoint, so the base URL belongs to something else.
      if (call.method === "GET") return new PipelineError("breaks-contract", sentence);
      break;
    case 413:
      return new PipelineError("payload-too-large", sentence, {
        next: "Something in front of the service takes no more than that. Allow larger requests there (nginx: `client_max_body_size`).",
      });
    case 429:
      return unavailable(service, reply, "throttled", sentence);
  }
  // A service's own errors have the contract's body, so this one is from a proxy, or the service is broken.
  if (passes || reply.status >= 500) return unavailable(service, reply, "unavailable", sentence);
  const type = typeOfStatus(reply.status);
  return new PipelineError(type, sentence, keyAdvice(service, type));
}

function unavailable(
  { clock }: Service,
  { headers }: Reply,
  fault: "throttled" | "unavailable",
  sentence: string,
): OutOfReach {
  const seconds = retryAfterSeconds(headers, clock.now());
  const next = seconds === undefined ? "Try again later." : `Try again in ${duration(seconds * 1000)}.`;
  return new OutOfReach(fault, sentence, {
    next,
    ...(seconds === undefined ? {} : { retryAfterSeconds: seconds }),
  });
}

function isAbsence(status: number, type: ErrorType | undefined, origin: Origin): boolean {
  if (origin === "described") return false;
  if (status === 404) return origin === "own" || type !== "not-found";
  return status === 405 || status === 410 || status === 501;
}

function keyAdvice({ refusedKeyNext: next }: Service, type: ErrorType): { readonly next?: string } {
  return type === "unauthorized" && next !== undefined ? { next } : {};
}

/** The contract's error body, or only the message if the body has another shape. */
function toldError(reply: Reply): {
  readonly type?: ErrorType;
  readonly message?: string;
  readonly next?: string;
} {
  let body: unknown;
  try {
    body = JSON.parse(reply.body);
  } catch {
    return {};
  }
  const parsed = fromWire(errorBodySchema, body);
  if (parsed.kind === "valid") {
    const { type, message, next } = parsed.value.error;
    if (!isErrorType(type) || errorTypes[type].httpStatus === undefined) return { message };
    return { type, message, ...(next === undefined ? {} : { next }) };
  }
  const { detail, message, error, title } = fieldsOf(body);
  const said = [detail, message, fieldsOf(error)["message"], error, title].find(
    (text) => typeof text === "string",
  );
  return said === undefined ? {} : { message: said };
}

const anyFields = z.record(z.string(), z.unknown());

function fieldsOf(value: unknown): Record<string, unknown> {
  return anyFields.safeParse(value).data ?? {};
}

function typeOfStatus(status: number): ErrorType {
  const [type] = Object.entries(errorTypes).find(([, { httpStatus }]) => httpStatus === status) ?? [];
  if (type !== undefined && isErrorType(type)) return type;
  return status === 422 ? "invalid-request" : "breaks-contract";
}

/** A day; timers reach no further than 24 days. */
const longest = 86_400;

/**
 * The seconds that a reply asks to wait before another attempt, from its `Retry-After`: a number, or a date relative to the
 * reply's own `Date` if it has one. At most a day.
 *
 * @param now the caller's clock in milliseconds since 1970, used only for a date in a reply without `Date`.
 */
export function retryAfterSeconds(headers: ResponseHeaders, now: number): number | undefined {
  const text = headers.get("retry-after");
  if (text === null) return undefined;
  if (/^\d+$/.test(text)) return Math.min(Number(text), longest);
  const until = Date.parse(text);
  const served = Date.parse(headers.get("date") ?? "");
  const seconds = Math.ceil((until - (Number.isNaN(served) ? now : served)) / 1000);
  return Number.isNaN(seconds) ? undefined : Math.min(Math.max(0, seconds), longest);
}

/** A start whose reply was lost or can't be read, so there may be a run. */
export class LostStart extends PipelineError {
  /** Set if the reply's run id could be read: this run was started. */
  readonly runId: string | undefined;

  /** @param cause why the reply isn't known; its message is kept. */
  constructor(cause: PipelineError, runId?: string) {
    const next =
      runId === undefined
        ? "A run may have been started all the same: look at `pipeline runs list --active` before you try again."
        : `The run ${runId} was started all the same: \`${runCommand("show", runId)}\` tells of it, and \`${runCommand("cancel", runId)}\` ends it.`;
    super(cause.type, cause.message, { cause, next });
    this.runId = runId;
  }
}

const someRunSchema = z.object({ runId: z.string().check(z.minLength(1)) });

/**
 * The run of a successful reply to a start.
 * @throws LostStart if it can't be read, since there may be a run; `breaks-contract` for a web page.
 */
export function readStarted(service: Service, call: ServiceCall, reply: Reply): Run {
  try {
    return readReply(service, call, reply, runSchema);
  } catch (error) {
    if (!(error instanceof PipelineError)) throw error;
    // A server that answers everything with a web page has started nothing.
    if (reply.status !== 201 && reply.headers.get("content-type")?.includes("html")) throw error;
    throw new LostStart(error, runIdIn(service, reply));
  }
}

function runIdIn({ apiKey }: Service, { body }: Reply): string | undefined {
  try {
    const read = fromWire(someRunSchema, parseForeignJson(body, apiKey));
    return read.kind === "valid" ? read.value.runId : undefined;
  } catch {
    return undefined;
  }
}
