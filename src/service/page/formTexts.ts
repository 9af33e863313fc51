import type { Context } from "hono";
import { bodyText } from "../http/requestBody.ts";

/** The texts of a posted form; a name that came twice counts once, the last time. */
export async function formTexts(context: Context): Promise<Readonly<Record<string, string | undefined>>> {
  const form = new URLSearchParams(await bodyText(context));
  return Object.fromEntries(form);
}
