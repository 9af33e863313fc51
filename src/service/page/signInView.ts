import { html } from "hono/html";
import type { Html } from "./html.ts";

/** Why someone is asked to sign in, where it is not for the first time. */
export type SignInProblem = "wrong key" | "no key" | "link over" | "session over";

const told: Readonly<Record<SignInProblem, string>> = {
  "wrong key": "This key is not one of this service's, or it was revoked.",
  "no key": "Enter your API key.",
  "link over": "This link was used already, or its minute is over. Make a new one with `pipeline page`.",
  "session over": "You were signed out. Sign in again.",
};

/** The form that takes an API key. The key that was sent never comes back in it. */
export function signInView(next: string, problem: SignInProblem | undefined): Html {
  const isOfKey = problem === "wrong key" || problem === "no key";
  return html`<div class="sign-in">
<h1>Sign in</h1>
${problem === undefined || isOfKey ? "" : html`<p class="notice" role="alert">${marked(told[problem])}</p>`}
<form method="post" action="/app/sign-in">
<input type="hidden" name="next" value="${next}">
<label for="key">API key</label>
<input id="key" name="key" type="password" autocomplete="off" spellcheck="false" autocapitalize="none" required autofocus
aria-describedby="${isOfKey ? "key-problem key-help" : "key-help"}"${isOfKey ? html` aria-invalid="true"` : ""}>
${isOfKey ? html`<p class="problem" id="key-problem" role="alert">${told[problem]}</p>` : ""}
<p class="quiet" id="key-help">It is exchanged for a session of this browser and is not kept in the page.</p>
<button class="main">Sign in</button>
</form>
<h2>On this machine</h2>
<p>You need no key: <code>pipeline page</code> in a terminal prints a link that signs you in.</p>
</div>`;
}

/** What a one-time link opens. Looking at it uses nothing up, so that a browser may load it ahead; the button does. */
export function linkView(link: {
  readonly code: string;
  readonly next: string;
  readonly orgName: string;
  readonly role: string;
  /** Whether the script may press the button: not for a link that stood in another site's page. */
  readonly goesOn: boolean;
}): Html {
  return html`<div class="sign-in">
<h1>Sign in</h1>
<form method="post" action="/app/sign-in"${link.goesOn ? html` data-goes-on` : ""}>
<input type="hidden" name="code" value="${link.code}">
<input type="hidden" name="next" value="${link.next}">
<p>To <b><bdi>${link.orgName}</bdi></b>, as ${link.role}.</p>
<button class="main" autofocus>Sign in</button>
</form>
</div>`;
}

function marked(text: string): Html {
  return html`${text.split("`").map((part, at) => (at % 2 === 1 ? html`<code>${part}</code>` : part))}`;
}
