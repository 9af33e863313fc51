import { type Json, parseJson } from "../../pipeline/expression/value.ts";
import { type StepResult, tooLarge } from "../step/stepResult.ts";
import type { HttpSession } from "./httpSession.ts";
import type { HttpReply } from "./sendRequest.ts";

/** What an http step gives to expressions. `cookies` are those that the resource now has for the address of the reply. */
export function httpResult(reply: HttpReply, session: Pick<HttpSession, "cookies">): StepResult {
  const { url, status, headers, text, isCut, broken } = reply;
  const values = { status, headers: Object.fromEntries(headers), cookies: session.cookies(url) };
  if (isCut) return { values, missing: { text: tooLarge, json: tooLarge }, size: 0 };
  const parsed = broken === undefined ? parseJson(text) : undefined;
  const json: Readonly<Record<string, Json>> = parsed === undefined ? {} : { json: parsed.value };
  return { values: { ...values, text, ...json }, size: text.length };
}
