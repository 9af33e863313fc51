import * as z from "zod/mini";
import { fromWire, toWire } from "../../contract/wire.ts";

/** Where a login's key lies, with what the login's own file holds of it. */
const keptSchema = z.discriminatedUnion("keptIn", [
  /** The system's keychain has it, under the login's origin. */
  z.object({ keptIn: z.literal("keychain") }),
  /** Here, encrypted by the system for this account. */
  z.object({ keptIn: z.literal("sealed-file"), sealed: z.string().check(z.minLength(1)) }),
  /** Here, as it is. */
  z.object({ keptIn: z.literal("file"), apiKey: z.string().check(z.regex(/^[\x21-\x7e]+$/)) }),
]);

export type Kept = z.infer<typeof keptSchema>;

const loginSchema = z.object({
  baseUrl: z.string(),
  /** The key's id and its org, so that a person can tell keys apart without seeing one. */
  keyId: z.string(),
  orgName: z.string(),
  kept: keptSchema,
});

/** A service that a person has logged in to. */
export type Login = z.infer<typeof loginSchema>;

/** What a login's file says. @returns undefined for what is no login. */
export function parseLogin(text: string): Login | undefined {
  return parsed(loginSchema, text);
}

export function loginText(login: Login): string {
  return `${JSON.stringify(toWire(login), undefined, 2)}\n`;
}

const currentSchema = z.object({ origin: z.string() });

/** The origin that a file says is in use. @returns undefined for a file that says none. */
export function parseCurrent(text: string): string | undefined {
  return parsed(currentSchema, text)?.origin;
}

export function currentText(origin: string): string {
  return `${JSON.stringify(toWire({ origin }))}\n`;
}

function parsed<T>(schema: z.ZodMiniType<T>, text: string): T | undefined {
  try {
    const read = fromWire(schema, JSON.parse(text));
    return read.kind === "valid" ? read.value : undefined;
  } catch {
    return undefined;
  }
}
