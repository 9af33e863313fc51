import type { html } from "hono/html";

/** Markup whose inserted texts were escaped: the only way that the page makes any. */
export type Html = ReturnType<typeof html>;
