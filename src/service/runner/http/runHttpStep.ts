import { Headers } from "undici";
import { formatDuration } from "../../../pipeline/schema/duration.ts";
import type { HttpStep } from "../../../pipeline/types/http.ts";
import type { Mask } from "../mask.ts";
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
  let asked = shownFirst(request.request, step, around.mask);
  try {
    const sent = await sendRequest(
      request.request,
      ({ status, next }) => {
        log.note(`${describe(asked)} → ${status}, a redirect`);
        asked = shownNext(next);
      },
      AbortSignal.any([timeout, around.signal]),
    );
    if (sent.kind === "none") {
      log.note(`${describe(asked)} → no reply`);
      return failed(sent.problem);
    }
    const { reply } = sent;
    const took = performance.now() - began;
    log.note(
      `${describe(asked)} → ${reply.status} in ${formatDuration(took)}, ${reply.bytes.length}${reply.isCut ? " or more" : ""} bytes`,
    );
    const lines = judgeReply(step.expect, { ...reply, address: asked.address }, took, around.mask);
    await keepBody(reply, lines.length > 0, around);
    return lines.length === 0 ? succeeded : failed(lines.join("\n"));
  } catch (error) {
    if (around.signal.aborted) return failed("the run was ended before the reply came");
    if (!timeout.aborted) throw error;
    log.note(`${describe(asked)} → no reply`);
    const { host } = request.request.url;
    return failed(
      `${host} didn't reply within ${formatDuration(step.timeoutMilliseconds)}, the step's \`timeout\``,
    );
  }
}

/** A request as people are told of it: without the query, which may hold what no log should. */
interface ShownRequest {
  readonly method: string;
  readonly address: string;
  readonly hasQuery: boolean;
}

/**
 * As the step has it, masked before it is cut: what the environment puts into an address may end up in several of its
 * parts, each escaped in its own way.
 */
function shownFirst({ method }: HttpRequest, { url }: HttpStep, mask: Mask): ShownRequest {
  const [whole = ""] = mask.hide(url).split("#", 1);
  const [address = "", ...query] = whole.split("?");
  return { method, address, hasQuery: query.length > 0 };
}

/** As the server that redirects to it has it. */
function shownNext({ method, url }: HttpRequest): ShownRequest {
  return { method, address: `${url.origin}${url.pathname}`, hasQuery: url.search !== "" };
}

function describe({ method, address, hasQuery }: ShownRequest): string {
  return `${method} ${address}${hasQuery ? "?…" : ""}`;
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
