import { type Json, notJson, parseJson, showValue } from "../../pipeline/expression/value.ts";
import { joinAddress } from "../../pipeline/file/address.ts";
import { describeExpectation, describeStatus } from "../../pipeline/file/expectation.ts";
import { type HttpStep, isSha256, notSha256 } from "../../pipeline/types/httpStep.ts";
import { duration } from "../../text/time.ts";
import { type Mask, maskedJson } from "../mask/mask.ts";
import { shorten } from "../output/readableText.ts";
import { OutputSearch, PatternFault, searchFor } from "../output/textSearch.ts";
import { describeMismatches } from "../step/jsonMismatches.ts";
import {
  failed,
  type StepContext,
  type StepOutcome,
  type StepResult,
  succeeded,
  tooLarge,
} from "../step/stepContext.ts";
import { Connection, HttpSession, routeOf } from "./connection.ts";
import { unknownEncoding } from "./decode.ts";
import type { SchemaCheck } from "./jsonSchema.ts";
import { type HttpRequest, isOwnOrigin, requestOf, unknownType } from "./request.ts";
import { type HttpReply, largestReply, type SendDeps, sendRequest } from "./sendRequest.ts";

/** Sends the step's request and checks its reply. @throws StepFault when the request can't be sent. */
export async function runHttpStep(step: HttpStep, stepContext: StepContext): Promise<StepOutcome> {
  const { log, mask, results, shared, signal, root } = stepContext;
  const request = await requestOf(step, root);
  const which = JSON.stringify([step.use, step.address.base, step.connection]);
  const connection = await shared.get(
    Connection,
    which,
    async () => new Connection(await routeOf(step, root)),
  );
  const schema = await schemaOf(step, root);
  const api = await apiOf(step, request, stepContext);
  const base = step.address.base ?? "";
  let last = request;
  const session = step.cookies
    ? await shared.get(HttpSession, step.use, async () => new HttpSession())
    : new HttpSession(false);
  const timeout = AbortSignal.timeout(step.timeoutMilliseconds);
  const inTime = `within ${duration(step.timeoutMilliseconds)}, the step's \`timeout\``;
  const began = performance.now();
  let asked = shown(request, mask, joinAddress(step.address));
  if (api !== undefined && step.openApi?.checksRequest) {
    const lines = api.ofRequest({ ...request, base }, mask);
    if (lines.length > 0) return failed(lines.join("\n"));
  }
  if (!step.keep) mask.hideAll();
  const { withinMilliseconds: within } = step.expect;
  const mayBeEnough = streamCheck(step.expect, mask);
  const check = (reply: HttpReply) => [
    ...checkStatus(step.expect, reply, asked.address, mask, last),
    ...checkHeaders(step.expect, reply, mask),
    ...checkBody(step.expect, reply, schema, asked.address, mask),
    ...checkHash(step.expect, reply, mask),
    ...checkTime(step.expect, performance.now() - began),
  ];
  let reply: HttpReply;
  try {
    reply = await sendRequest(
      request,
      {
        connection,
        session,
        timeout,
        show: (address) => addressOf(address, mask),
        onRedirect: ({ status, next }) => {
          log.note(`${asked.line} → ${status}, a redirect`);
          asked = shown(next, mask);
          last = next;
        },
        isEnough: (piece, soFar) =>
          mayBeEnough(piece, soFar) &&
          [...check(soFar()), ...results.problems(() => httpResult(soFar(), session))].length === 0,
        late: within === undefined ? undefined : AbortSignal.timeout(within),
        hashes: step.expect.sha256 !== undefined,
      },
      signal,
    );
  } catch (error) {
    if (signal.aborted) return failed("the run was ended before the reply came");
    if (error instanceof PatternFault) throw error;
    log.note(`${asked.line} → no reply`);
    if (!timeout.aborted) throw error;
    return failed(`${request.url.host} didn't reply ${inTime}`);
  }
  results.take(() => httpResult(reply, session));
  const came = `${reply.size}${reply.isCut && reply.sha256 === undefined ? " or more" : ""} bytes`;
  log.note(`${asked.line} → ${reply.status} in ${duration(performance.now() - began)}, ${came}`);
  const broken = reply.broken === undefined ? [] : [describeBreak(reply, reply.broken, inTime)];
  // For an event stream that broke off, what it lacks is the reason.
  const isLooked =
    reply.broken === undefined || /^text\/event-stream\b/.test(reply.headers.get("content-type") ?? "");
  const ofApi = reply.isCut ? [] : (api?.ofReply(reply, { ...last, base }, mask) ?? []);
  const lines = [...(isLooked ? [...check(reply), ...ofApi, ...results.problems()] : []), ...broken];
  if (step.keep) saveBody(reply, lines.length > 0, stepContext);
  return lines.length === 0 ? succeeded : failed([...lines, ...unread(reply, mask)].join("\n"));
}

/** Says why the text of a reply may be garbled. */
function unread({ text, headers }: HttpReply, mask: Mask): readonly string[] {
  const encoding = unknownEncoding(headers.get("content-type"));
  return encoding === undefined || !text.includes("\ufffd")
    ? []
    : [`the reply is in ${showValue(encoding, mask)}, an encoding that isn't known here, and no UTF-8`];
}

/** What an http step gives to expressions. `cookies` are those that the resource now has for the address of the reply. */
function httpResult(reply: HttpReply, session: Pick<HttpSession, "cookies">): StepResult {
  const { url, status, headers, text, isCut, broken } = reply;
  const values = { status, headers: Object.fromEntries(headers), cookies: session.cookies(url) };
  if (isCut) return { values, missing: { text: tooLarge, json: tooLarge }, size: 0 };
  const parsed = broken === undefined ? parseJson(text) : undefined;
  const json: Readonly<Record<string, Json>> = parsed === undefined ? {} : { json: parsed.value };
  return { values: { ...values, text, ...json }, size: text.length };
}

/** The schema that the step expects. @throws StepFault when it can't be used. */
export async function schemaOf(
  { expect: { jsonSchema } }: HttpStep,
  root: string,
): Promise<SchemaCheck | undefined> {
  if (jsonSchema === undefined) return undefined;
  // It is large, and few steps need it.
  const { schemaCheck } = await import("./jsonSchema.ts");
  return schemaCheck(root, jsonSchema);
}

/** The OpenAPI document of a request to the resource's own address, read once in a run. @throws StepFault when it can't be used. */
export async function apiOf(
  { openApi, address: { base } }: HttpStep,
  { url }: HttpRequest,
  context: Pick<StepContext, "root" | "shared">,
) {
  if (openApi === undefined || base === undefined || !isOwnOrigin(base, url)) return undefined;
  const { ApiCheck } = await import("./openApi.ts");
  const { path } = openApi;
  return context.shared.get(ApiCheck, path, () => ApiCheck.of(context.root, path));
}

/** What had come of a reply that broke off, and why it did. */
function describeBreak({ url, status, size }: HttpReply, why: string, inTime: string): string {
  const began = `${url.host} replied with ${status}, and ${size} bytes came`;
  return why === "in time" ? `${began}, but the reply didn't end ${inTime}` : `${began}; then ${why}`;
}

/**
 * An address without its user and its query, which may contain secrets. Masked before it is split: a value of the environment may
 * be spread over several parts of an address, each escaped differently.
 */
function addressOf(whole: string, mask: Mask): string {
  const [address = ""] = mask.hide(whole).split(/[?#]/, 1);
  return address.replace(/(?<=\/\/)[^/]*@/, "");
}

function shown({ method, url }: HttpRequest, mask: Mask, whole = `${url.origin}${url.pathname}`) {
  const address = addressOf(whole, mask);
  return { address, line: `${method} ${address}${url.search === "" ? "" : "?…"}` };
}

const longestExcerpt = 500;
/** How much of a reply an excerpt is made from: more than it shows, since white space is collapsed. */
const longestStart = 64 * 1024;

/** Makes a quick check of whether what has come of a stream may be as expected. */
function streamCheck(expect: HttpStep["expect"], mask: Mask): SendDeps["isEnough"] {
  const searches = (expect.text ?? []).map((expected) => new OutputSearch(expected, true));
  let isHeadRight: boolean | undefined;
  return (piece, soFar) => {
    isHeadRight ??=
      [...checkStatus(expect, soFar(), "", mask), ...checkHeaders(expect, soFar(), mask)].length === 0;
    for (const search of searches) search.write(piece);
    return isHeadRight && searches.every((search) => search.soFar());
  };
}

/** @param address as it may be shown. @returns how the reply isn't as expected, one line each, like the other checks. */
function checkStatus(
  expect: HttpStep["expect"],
  reply: HttpReply,
  address: string,
  mask: Mask,
  request?: HttpRequest,
): string[] {
  if (hasStatus(expect, reply)) return [];
  const excerpt = excerptOf(reply, mask);
  const schemeOf = (header = "") => /^[\w-]{1,40}(?=[\s,]|$)/.exec(header)?.[0];
  const scheme = schemeOf(reply.headers.get("www-authenticate"));
  const sent = schemeOf([request?.headers["authorization"] ?? []].flat()[0]);
  const isRefused = scheme?.toLowerCase() === sent?.toLowerCase();
  const asks =
    scheme === undefined || isRefused ? "" : `, which asks for ${scheme} in the header \`authorization\``;
  return [
    `expected status ${describeStatus(expect.status)}, got ${reply.status} from ${address}${asks}`,
    ...(excerpt === "" ? [] : [`the reply says: ${excerpt}`]),
  ];
}

function hasStatus({ status }: HttpStep["expect"], reply: HttpReply): boolean {
  return reply.status >= status.from && reply.status <= status.to;
}

function checkHeaders(expect: HttpStep["expect"], reply: HttpReply, mask: Mask): string[] {
  return Object.entries(expect.headers).flatMap(([name, all]) => {
    const got = reply.headers.get(name);
    const values = got === undefined ? [] : [got, ...(reply.headerValues.get(name) ?? [])];
    return all
      .filter((expected) => !values.some(searchFor(expected)))
      .map(
        (expected) =>
          `header ${name}: expected ${describeExpectation(expected)}, got ${got === undefined ? "no such header" : showValue(got, mask)}`,
      );
  });
}

function checkBody(
  expect: HttpStep["expect"],
  reply: HttpReply,
  schema: SchemaCheck | undefined,
  address: string,
  mask: Mask,
): string[] {
  const { json, jsonSchema, text } = expect;
  if (json === undefined && jsonSchema === undefined && text === undefined) return [];
  if (reply.isCut)
    return [`the reply is larger than ${largestReply / 1024 / 1024} MB, the most that is looked at`];
  const lines: string[] = [];
  const excerpt = excerptOf(reply, mask);
  const missing = (text ?? []).filter((expected) => !searchFor(expected)(reply.text));
  if (missing.length > 0) {
    const all = missing.map(describeExpectation).join(" and ");
    lines.push(
      `expected ${all} in the reply, which ${excerpt === "" ? "shows no text" : `says: ${excerpt}`}`,
    );
  }
  if (json !== undefined || jsonSchema !== undefined) {
    const parsed = parseJson(reply.text);
    if (parsed === undefined) {
      // An unexpected status has already shown the excerpt.
      const says = excerpt === "" || !hasStatus(expect, reply) ? "" : `: ${excerpt}`;
      lines.push(`expected JSON, but the reply of ${address} ${notJson(reply.text)}${says}`);
    } else {
      if (json !== undefined) lines.push(...describeMismatches(json.value, parsed.value, mask));
      lines.push(...(schema?.(reply.text, mask) ?? []));
    }
  }
  return lines;
}

function checkHash(
  { sha256: expected }: HttpStep["expect"],
  { sha256, size }: HttpReply,
  mask: Mask,
): string[] {
  if (expected === undefined || expected.toLowerCase() === sha256) return [];
  if (!isSha256(expected)) return [`\`sha256\` is ${showValue(expected, mask)}; ${notSha256}`];
  return [`expected the SHA-256 ${expected}, got ${mask.hide(sha256 ?? "none")} of ${size} bytes`];
}

function checkTime(expect: HttpStep["expect"], took: number): string[] {
  const { withinMilliseconds: most } = expect;
  return most === undefined || took <= most
    ? []
    : [`expected the reply within ${duration(most)}, it took ${duration(took)}`];
}

function excerptOf(reply: HttpReply, mask: Mask): string {
  // Masked before the cut, which could leave half of a secret.
  const start = mask.hideIn(reply.text, longestStart);
  return shorten(start, longestExcerpt);
}

/** How much of a reply's body is saved, in bytes: of an expected one, and of any other. */
const most = { asExpected: 64 * 1024, otherwise: 1024 * 1024 } as const;

/** In characters. Masking reads this much further, so that no part of a secret is left at the cut. */
const longestSecret = 128 * 1024;

const extensions: Readonly<Record<string, string>> = {
  "application/json": "json",
  "application/xml": "xml",
  "image/gif": "gif",
  "image/jpeg": "jpg",
  "image/png": "png",
  "text/css": "css",
  "text/csv": "csv",
  "text/html": "html",
  "text/plain": "txt",
  "text/xml": "xml",
};

/** Saves the reply's body with the run: always when the step fails, otherwise when it is small. */
function saveBody(
  { bytes, text, headers }: HttpReply,
  hasFailed: boolean,
  { mask, log, saveArtifact }: Pick<StepContext, "mask" | "log" | "saveArtifact">,
): void {
  if (bytes.length === 0 || (!hasFailed && bytes.length > most.asExpected)) return;
  const written = mediaTypeOf(headers);
  const mediaType = mask.hide(written) === written ? written : unknownType;
  const name = `body.${extensions[mediaType] ?? (mediaType.endsWith("+json") ? "json" : "bin")}`;
  // The original bytes are saved unless they contain a secret, since the body may not be text.
  const masked = mask.hideIn(text, most.otherwise + longestSecret);
  const isJson = extensions[mediaType] === "json" || mediaType.endsWith("+json");
  const json = isJson ? maskedJson(text, mask) : undefined;
  const content = text.startsWith(masked)
    ? bytes
    : Buffer.from(json === undefined ? masked : mask.hide(json));
  if (content.length > most.otherwise) {
    log.note(`of the reply's body the first ${most.otherwise} bytes are saved`);
  }
  saveArtifact({ name, mediaType, content: content.subarray(0, most.otherwise) });
}

function mediaTypeOf(headers: HttpReply["headers"]): string {
  const written = headers.get("content-type")?.split(";", 1)[0]?.trim().toLowerCase() ?? "";
  return /^[\w.+-]{1,60}\/[\w.+-]{1,60}$/.test(written) ? written : unknownType;
}
