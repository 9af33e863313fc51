import type { ServerResponse } from "node:http";
import {
  type Answer,
  type Asked,
  LoopbackService,
  orgOnWire,
  sendJson,
} from "../../client/loopbackService.ts";

/** The key that these services accept. Its secret part is what no output may hold. */
export const givenKey = "plk_5ecre7-0f-the-conformance-suite";

export interface GivenOptions {
  /** What `GET /api/org` says besides. */
  readonly org?: Readonly<Record<string, unknown>>;
  /** The runs that can be cancelled; any other is not found. */
  readonly runs?: readonly string[];
  /** The path that the base URL has. */
  readonly prefix?: string;
  /** Answers what else is asked, in place of the 404 of a service that has only the given endpoints. */
  readonly besides?: (
    asked: Asked,
    response: ServerResponse,
    gone: AbortSignal,
  ) => boolean | Promise<boolean>;
}

/** A real HTTP service that has the two endpoints of the service's description, and nothing else. */
export function givenService(options: GivenOptions = {}): Promise<LoopbackService> {
  const { org = {}, runs = ["run_1"], prefix = "", besides = () => false } = options;
  const answer: Answer = async (asked, response, gone) => {
    if (asked.headers["x-api-key"] !== givenKey) {
      sendJson(response, 401, { error: "unauthorized" });
      return;
    }
    if (await besides(asked, response, gone)) return;
    const pathname = new URL(asked.path, "http://service").pathname.slice(prefix.length);
    const cancelled = /^\/api\/runs\/([^/]+)\/cancel$/.exec(pathname)?.[1];
    if (asked.method === "GET" && pathname === "/api/org") {
      sendJson(response, 200, { ...orgOnWire, ...org });
    } else if (asked.method === "POST" && cancelled !== undefined) {
      const runId = decodeURIComponent(cancelled);
      if (runs.includes(runId)) sendJson(response, 200, { "run-id": runId, status: "cancelling" });
      else sendJson(response, 404, { error: "no such run" });
    } else {
      response.writeHead(404, { "content-type": "text/html" }).end("<!doctype html><title>Not Found</title>");
    }
  };
  return LoopbackService.listen(answer);
}

/** A service with the given endpoints whose starts are all answered in one way. */
export function startsAnswered(
  answer: (asked: Asked, response: ServerResponse, gone: AbortSignal) => void | Promise<void>,
  options: GivenOptions = {},
): Promise<LoopbackService> {
  return givenService({
    ...options,
    besides: async (asked, response, gone) => {
      if (asked.method !== "POST" || asked.path !== "/api/runs") {
        return (await options.besides?.(asked, response, gone)) ?? false;
      }
      await answer(asked, response, gone);
      return true;
    },
  });
}

/** The environment that names such a service, with its key. */
export function at(service: LoopbackService): Record<string, string> {
  return { PIPELINE_BASE_URL: service.origin, PIPELINE_API_KEY: givenKey };
}

/** One way in which a service may say that it makes no run. */
export interface RefusalShape {
  readonly name: string;
  readonly status?: number;
  readonly contentType?: string;
  readonly body: string;
}

/** Sends a shape, with the headers besides; a `date` of "" sends none. */
export function sendShape(
  response: ServerResponse,
  { status = 429, contentType = "application/json", body }: RefusalShape,
  { date, ...headers }: Readonly<Record<string, string>> = {},
): void {
  if (date === "") {
    response.removeHeader("date");
    response.sendDate = false;
  }
  response.writeHead(status, {
    ...(contentType === "" ? {} : { "content-type": contentType }),
    ...(date ? { date } : {}),
    ...headers,
  });
  response.end(body);
}
