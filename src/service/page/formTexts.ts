import type { Context } from "hono";

/** The texts of a posted form; a name that came twice counts once, the last time. */
export async function formTexts(context: Context): Promise<Readonly<Record<string, string | undefined>>> {
  const form = new URLSearchParams(await context.req.text());
  return Object.fromEntries(form);
}
