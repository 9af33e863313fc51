import { isAbsolute } from "../file/address.ts";
import type { Address, PlannedStep, StatusRange, TextExpectation, WrittenDigits } from "../file/values.ts";

/** By their names in lower case; a list is sent as several headers. */
type Headers = Readonly<Record<string, string | readonly string[]>>;
export type Auth = { readonly user: string; readonly password: string } | undefined;
/** Texts, and values of any type that expressions stand for. */
type Fields = Readonly<Record<string, unknown>>;

/** A step that sends a request and checks its reply, resolved against its resource and ready to run. */
export interface HttpStep extends PlannedStep {
  readonly type: "http";
  /** In capitals, unless an expression stands for it. */
  readonly method: string;
  readonly address: Address;
  /** What is added to the address's query. */
  readonly query: Fields;
  readonly headers: Headers;
  readonly auth?: Auth;
  /** The resource's, sent only to the origin of its `base-url`; to every address if it has none. */
  readonly ofResource: { readonly headers: Headers; readonly auth?: Auth };
  readonly body:
    | { readonly kind: "none" }
    | { readonly kind: "text"; readonly text: string }
    /** `digits` has the numbers that the file writes otherwise than JavaScript does. */
    | { readonly kind: "json"; readonly value: unknown; readonly digits?: WrittenDigits | undefined }
    | { readonly kind: "form"; readonly fields: Fields }
    | { readonly kind: "multipart"; readonly parts: readonly Part[] }
    | { readonly kind: "file"; readonly path: string };
  readonly cookies: boolean;
  /** The most redirects that are followed. */
  readonly redirects: number;
  /** How the servers are reached. */
  readonly connection: {
    /** Each a path of the project, or the text itself. */
    readonly tls: {
      readonly ca?: string | undefined;
      readonly cert?: string | undefined;
      readonly key?: string | undefined;
      readonly verify: boolean;
    };
    readonly proxy?: string | undefined;
    readonly connectTo: Readonly<Record<string, string>>;
  };
  /** A path of the project, and whether the request is checked too. */
  readonly openApi?: { readonly path: string; readonly checksRequest: boolean } | undefined;
  /** Whether the reply may be shown and kept. */
  readonly keep: boolean;
  readonly timeoutMilliseconds: number;
  readonly expect: {
    readonly status: StatusRange;
    readonly headers: Readonly<Record<string, readonly TextExpectation[]>>;
    /** In an object, to tell an expected `null` from no expectation. */
    readonly json?: { readonly value?: unknown } | undefined;
    /** A path of the project. */
    readonly jsonSchema?: string | undefined;
    readonly text?: readonly TextExpectation[] | undefined;
    readonly sha256?: string | undefined;
    readonly withinMilliseconds?: number | undefined;
  };
}

interface Part {
  readonly name: string;
  readonly content:
    | { readonly kind: "text"; readonly text: string }
    | {
        readonly kind: "file";
        readonly path: string;
        readonly type?: string | undefined;
        readonly filename?: string | undefined;
      };
}

/** What is wrong with a method, as a sentence. Like the checks below, made on the file, and again on filled-in values. */
export function problemOfMethod(method: string): string | undefined {
  if (!/^[!#$%&'*+.^_`|~0-9A-Z-]+$/i.test(method)) return "this is no HTTP method, such as `PURGE`";
  return /^connect$/i.test(method)
    ? "CONNECT asks a proxy for a tunnel: see the resource's `proxy`"
    : undefined;
}

/** What is wrong with a header's value, as the end of a sentence; its spaces at both ends aren't sent. */
export function problemOfHeader(value: string): string | undefined {
  return /[\r\n]/.test(value.trim())
    ? "has a line break in its value, which HTTP can't carry"
    : /[^\t\P{Cc}]/u.test(value.trim())
      ? "has a value that HTTP can't carry: it holds a control character"
      : undefined;
}

export const userWithColon = "the user of `auth` can't contain a colon, which ends it";

/** What is wrong with a proxy's address, as a sentence. */
export function problemOfProxy(written: string): string | undefined {
  const isPlain = isAbsolute(written) && /^\/?$/.test(URL.parse(written)?.pathname ?? "no address");
  return isPlain ? undefined : "expected the address of a proxy, such as `http://127.0.0.1:3128`";
}

/** Whether a value of `tls` is the certificate or key itself, instead of its file. */
export function isPem(value: string): boolean {
  return value.trimStart().startsWith("-----BEGIN ");
}

export const notSha256 = "expected a SHA-256: 64 hexadecimal digits";

export function isSha256(text: string): boolean {
  return /^[0-9a-f]{64}$/i.test(text);
}
