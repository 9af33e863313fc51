import { openAsBlob } from "node:fs";
import { basename } from "node:path";
import { Readable } from "node:stream";
import { FormData } from "undici";
import { asText, type Json, writeJson } from "../../pipeline/expression/value.ts";
import { joinAddress } from "../../pipeline/file/address.ts";
import type { WrittenDigits } from "../../pipeline/file/values.ts";
import {
  type HttpStep,
  problemOfHeader,
  problemOfMethod,
  userWithColon,
} from "../../pipeline/types/httpStep.ts";
import { projectFile } from "../step/projectFile.ts";
import { StepFault } from "../step/stepContext.ts";

export interface HttpRequest {
  readonly method: string;
  readonly url: URL;
  /** By their names in lower case. */
  readonly headers: Headers;
  readonly body: RequestBody | undefined;
  /** How many redirects are followed; with 0, a redirect is itself the reply. */
  readonly redirects: number;
}

type Headers = Readonly<Record<string, string | readonly string[]>>;

interface RequestBody {
  /** Undefined for multipart, whose type names a boundary that only the sender knows. */
  readonly type: string | undefined;
  /** The whole body, if it is text. */
  readonly text?: string;
  /** In bytes; undefined where only the sender knows it. */
  readonly length: number | undefined;
  /** Opens its content from the beginning; a redirect may need it again. */
  readonly open: () => string | Readable | FormData;
}

/**
 * The request of a step, which is checked again since its expressions are filled in only now.
 * @param root the project's folder.
 * @throws StepFault when it can't be sent.
 */
export async function requestOf(step: HttpStep, root: string): Promise<HttpRequest> {
  const url = urlOf(step);
  const problem = problemOfMethod(step.method);
  if (problem !== undefined) throw new StepFault(`\`${step.method}\`: ${problem}`);
  const body = await bodyOf(step.body, root);
  const headers = headersOf(step, url, body);
  const { "content-length": length } = headers;
  if (length !== undefined && String(length).trim() !== String(body?.length ?? 0)) {
    throw new StepFault(
      "the header `content-length` isn't the length of the body; leave it out, and the right one is sent",
    );
  }
  return { method: step.method.toUpperCase(), url, headers, body, redirects: step.redirects };
}

function urlOf({ address: written, query }: HttpStep): URL {
  const address = joinAddress(written);
  const url = URL.parse(address);
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new StepFault(`\`${address}\` is no address that begins with http:// or https://`);
  if (url.username !== "" || url.password !== "")
    throw new StepFault("an address holds no user and password; send them by `auth`");
  const more = pairsOf(query).map((pair) => pair.map((text) => encodeURIComponent(text)).join("="));
  if (more.length > 0) url.search = [url.search.slice(1), ...more].filter((part) => part !== "").join("&");
  return url;
}

/** Each name with each of its values as text, except null. */
function pairsOf(fields: Readonly<Record<string, unknown>>): [name: string, value: string][] {
  return Object.entries(fields).flatMap(([name, value]) =>
    [value]
      .flat()
      .filter((item) => item !== null)
      .map((item): [string, string] => [name.toWellFormed(), asText(item as Json).toWellFormed()]),
  );
}

function headersOf(
  { address, headers, auth, ofResource }: HttpStep,
  url: URL,
  body: RequestBody | undefined,
) {
  const isOwn = isOwnOrigin(address.base, url);
  const all: Headers = {
    ...(body?.type === undefined ? {} : { "content-type": body.type }),
    ...(isOwn ? { ...ofResource.headers, ...authorization(ofResource.auth) } : {}),
    ...headers,
    ...authorization(auth),
  };
  for (const [name, value] of Object.entries(all)) {
    const problem = [value].flat().map(problemOfHeader).find(Boolean);
    if (problem !== undefined) throw new StepFault(`the header \`${name}\` ${problem}`);
  }
  const { "content-type": _, ...others } = all;
  return body !== undefined && body.type === undefined ? others : all;
}

/** Whether a resource's own headers and credentials may be sent to an address. */
export function isOwnOrigin(base: string | undefined, { origin }: Pick<URL, "origin">): boolean {
  return base === undefined || URL.parse(base)?.origin === origin;
}

function authorization(auth: HttpStep["auth"]): Headers {
  if (auth === undefined) return {};
  if (auth.user.includes(":")) throw new StepFault(userWithColon);
  const encoded = Buffer.from(`${auth.user}:${auth.password}`).toString("base64");
  return { authorization: `Basic ${encoded}` };
}

async function bodyOf(body: HttpStep["body"], root: string): Promise<RequestBody | undefined> {
  switch (body.kind) {
    case "none":
      return undefined;
    case "text":
      return textBody(body.text, "text/plain;charset=UTF-8");
    case "json":
      return textBody(writeJson(withDigits(body.value, body.digits)), "application/json");
    case "form":
      return textBody(
        new URLSearchParams(pairsOf(body.fields)).toString(),
        "application/x-www-form-urlencoded",
      );
    case "multipart": {
      const form = new FormData();
      for (const { name, content } of body.parts) {
        if (content.kind === "text") form.append(name, content.text);
        else {
          const { path, type = unknownType, filename = basename(path) } = content;
          form.append(name, await openAsBlob(await projectFile(root, path), { type }), filename);
        }
      }
      return { type: undefined, length: undefined, open: () => form };
    }
    case "file": {
      const blob = await openAsBlob(await projectFile(root, body.path));
      return { type: unknownType, length: blob.size, open: () => Readable.from(blob.stream()) };
    }
    default:
      return body satisfies never;
  }
}

/** A value with its numbers as the file writes them, except where an expression has changed the value. */
function withDigits(value: unknown, digits: WrittenDigits | undefined): unknown {
  if (digits === undefined) return value;
  if (typeof digits === "string") return value === Number(digits) ? JSON.rawJSON(digits) : value;
  if (typeof value !== "object" || value === null) return value;
  const items = Object.entries(value).map(
    ([name, item], index) => [name, withDigits(item, digits[index])] as const,
  );
  return Array.isArray(value) ? items.map(([, item]) => item) : Object.fromEntries(items);
}

export const unknownType = "application/octet-stream";

function textBody(text: string, type: string): RequestBody {
  return { type, text, length: Buffer.byteLength(text), open: () => text };
}
