import { LivePage } from "./livePage.ts";

/** Submits the main part's forms without leaving the page, so that focus and scroll position stay. */
function submitInPlace(live: LivePage): void {
  live.page.querySelector("main")?.addEventListener("submit", (event) => {
    const form = event.target;
    // A form that leads to another page is left to the browser.
    if (!(form instanceof HTMLFormElement) || form.method === "get" || "leaves" in form.dataset) return;
    event.preventDefault();
    if (form.ariaBusy !== "true") void submit(live, form);
  });
}

async function submit(live: LivePage, form: HTMLFormElement): Promise<void> {
  form.ariaBusy = "true";
  try {
    const body = new URLSearchParams();
    for (const [name, value] of new FormData(form)) if (typeof value === "string") body.set(name, value);
    const reply = await fetch(form.action, { method: "POST", body });
    if (reply.ok && new URL(reply.url).pathname === live.page.location.pathname) {
      live.replaceBy(await reply.text());
      return;
    }
  } catch {
    // Ignored: the submission below makes the browser show its own error.
  } finally {
    form.ariaBusy = null;
  }
  // Signed out or refused: the browser shows the reply. Cancelling twice is harmless.
  form.submit();
}

/** How long the connection has to be lost before the page says so, in milliseconds. */
const quietFor = 2_000;

/** The pause before a refused stream is requested again, in milliseconds. */
const askAgainAfter = 5_000;

/**
 * Updates the page on each event. A hidden page closes its stream, since a browser has only a few connections to a
 * service for all its tabs.
 */
function followEvents(live: LivePage, address: string): void {
  const { page } = live;
  let stream: EventSource | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;

  const open = () => {
    const opened = new EventSource(address);
    stream = opened;
    opened.onopen = () => {
      clearTimeout(timer);
      timer = undefined;
      showConnection(page, "");
      // Events may have been missed before the stream opened.
      live.refresh();
    };
    for (const name of ["org", "run", "log"]) opened.addEventListener(name, () => live.refresh());
    opened.onerror = () => {
      if (opened.readyState === EventSource.CLOSED) {
        // Refused, as after the session's end: then the refresh leads to the sign-in page.
        live.refresh();
        stream = undefined;
        setTimeout(follow, askAgainAfter);
      }
      timer ??= setTimeout(() => showConnection(page, "Connection lost. Trying again…"), quietFor);
    };
  };

  const follow = () => {
    if (page.hidden) {
      stream?.close();
      stream = undefined;
    } else if (stream === undefined) open();
  };

  page.addEventListener("visibilitychange", follow);
  // While the browser sends a form, such as that for signing out, no refresh may lead elsewhere.
  page.addEventListener("submit", (event) => {
    if (event.defaultPrevented) return;
    stream?.close();
    live.leave();
  });
  follow();
}

function showConnection(page: Document, words: string): void {
  const line = page.getElementById("connection");
  if (line !== null && line.textContent !== words) line.textContent = words;
}

// The page works without this script, which keeps it current. Nothing is stored in the browser.
const live = new LivePage(document);
live.begin();
// The form of a sign-in link, where the service says that no other site opened the link.
document.querySelector<HTMLFormElement>("form[data-goes-on]")?.requestSubmit();
const { events } = document.body.dataset;
if (events !== undefined) {
  submitInPlace(live);
  followEvents(live, events);
}
