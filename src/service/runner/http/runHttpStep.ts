import { formatDuration } from "../../../pipeline/duration.ts";
import type { HttpStep } from "../../../pipeline/http/httpStep.ts";
import { failed, type StepOutcome, type StepSurroundings, succeeded } from "../stepOutcome.ts";
import { judgeReply } from "./judgeReply.ts";
import { keepBody } from "./keepBody.ts";
import { type HttpRequest, sendRequest } from "./sendRequest.ts";

/** Sends the step's request and looks at the reply. */
export async function runHttpStep(step: HttpStep, around: StepSurroundings): Promise<StepOutcome> {
  const request = requestOf(step);
  if (request.kind === "invalid") return failed(request.problem);
  const timeout = AbortSignal.timeout(step.timeoutMilliseconds);
  const began = performance.now();
  const { log } = around;
  let asked = describeRequest(request.request);
  try {
    const sent = await sendRequest(
      request.request,
      ({ status, next }) => {
        log.note(`${asked} → ${status}, a redirect`);
        asked = describeRequest(next);
      },
      AbortSignal.any([timeout, around.signal]),
    );
    if (sent.kind === "none") {
      log.note(`${asked} → no reply`);
      return failed(sent.problem);
    }
    const { reply } = sent;
    const took = performance.now() - began;
    log.note(
      `${asked} → ${reply.status} in ${formatDuration(took)}, ${reply.bytes.length}${reply.isCut ? " or more" : ""} bytes`,
    );
    const lines = judgeReply(step.expect, reply, took, around.mask);
    await keepBody(reply, lines.length > 0, around);
    return lines.length === 0 ? succeeded : failed(lines.join("\n"));
  } catch (error) {
    if (around.signal.aborted) return failed("the run was ended before the reply came");
    if (!timeout.aborted) throw error;
    log.note(`${asked} → no reply`);
    const { host } = request.request.url;
    return failed(
      `${host} didn't reply within ${formatDuration(step.timeoutMilliseconds)}, the step's \`timeout\``,
    );
  }
}

/** Without the query, which may hold what no log should. */
function describeRequest({ method, url }: HttpRequest): string {
  return `${method} ${url.origin}${url.pathname}${url.search === "" ? "" : "?…"}`;
}

type ReadRequest =
  | { readonly kind: "valid"; readonly request: HttpRequest }
  | { readonly kind: "invalid"; readonly problem: string };

/** The values of the environment are in the step only now, so it is only now that its address can turn out wrong. */
function requestOf(step: HttpStep): ReadRequest {
  const url = URL.parse(step.url);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    return { kind: "invalid", problem: `\`${step.url}\` is no address that begins with http:// or https://` };
  }
  if (url.username !== "" || url.password !== "") {
    const problem = "an address holds no user and password; send them in an `authorization` header";
    return { kind: "invalid", problem };
  }
  const headers = new Headers({ "user-agent": "pipeline-runs" });
  if (step.body.kind === "json") headers.set("content-type", "application/json");
  for (const [name, value] of Object.entries(step.headers)) {
    try {
      headers.set(name, value);
    } catch {
      return { kind: "invalid", problem: `the header \`${name}\` has a value that HTTP can't carry` };
    }
  }
  return {
    kind: "valid",
    request: {
      method: step.method.toUpperCase(),
      url,
      headers,
      body: bodyOf(step.body),
      followRedirects: step.expect.status.from < 300 || step.expect.status.from > 399,
    },
  };
}

function bodyOf(body: HttpStep["body"]): string | undefined {
  switch (body.kind) {
    case "none":
      return undefined;
    case "text":
      return body.text;
    case "json":
      return JSON.stringify(body.value);
    default:
      return body satisfies never;
  }
}
