import { html } from "hono/html";
import type { Role } from "../../contract/keys.ts";
import type { Org } from "../../contract/org.ts";
import type { Assets } from "./assets.ts";

/** Who is signed in, as shown at the top of every page. */
interface Reader {
  readonly org: Org;
  readonly role: Role;
}

export interface PageParts {
  readonly title: string;
  readonly main: Html;
  /** Undefined before signing in. */
  readonly reader: Reader | undefined;
  /** The event stream that tells the page to reload; undefined for a page that doesn't change. */
  readonly events?: string | undefined;
  /** The service's time in milliseconds since 1970, which the script counts from. */
  readonly now: number;
}

export async function layout(parts: PageParts, assets: Assets): Promise<string> {
  const icon = assets.address("icon.svg");
  const { title, main, reader, events, now } = parts;
  const text = await html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · Pipeline Runs</title>
<link rel="icon" href="${icon}" type="image/svg+xml">
<link rel="stylesheet" href="${assets.address("page.css")}">
<script type="module" src="${assets.address("page.js")}"></script>
</head>
<body data-now="${now}"${events === undefined ? "" : html` data-events="${events}"`}>
<a class="skip" href="#main">Skip to the content</a>
${top(reader, icon, title)}
<main id="main" tabindex="-1">${main}</main>
<p id="connection" role="status"></p>
<p id="announcement" class="unseen" role="status"></p>
</body>
</html>
`;
  return String(text);
}

function top(reader: Reader | undefined, icon: string, title: string): Html {
  const brand = html`<img src="${icon}" alt="" width="24" height="24">Pipeline Runs`;
  if (reader === undefined) return html`<header class="top"><p class="brand">${brand}</p></header>`;
  const { org, role } = reader;
  return html`<header class="top">
<nav aria-label="Main"><a class="brand" href="/app/runs">${brand}</a>${["Runs", "Pipelines"].map(
    (name) =>
      html`<a href="/app/${name.toLowerCase()}"${name === title ? html` aria-current="page"` : ""}>${name}</a>`,
  )}</nav>
<div class="reader">
<p><span class="unseen">Signed in to </span><bdi>${org.orgName}</bdi> <span class="quiet">as ${role}</span></p>
<form method="post" action="/app/sign-out"><button class="plain">Sign out</button></form>
</div>
</header>`;
}

/** Markup whose inserted texts are escaped. */
export type Html = ReturnType<typeof html>;

/** A text whose words between backticks are code. */
export function marked(text: string): Html {
  return html`${text.split("`").map((part, at) => (at % 2 === 1 ? html`<code>${part}</code>` : part))}`;
}
