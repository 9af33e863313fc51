import { Shown } from "./livePage.ts";

/** Presses the one button of a sign-in link, where the service says that the person has opened the link themselves. */
function goOn(page: Document): void {
  page.querySelector<HTMLFormElement>("form[data-goes-on]")?.requestSubmit();
}

/** Lets the buttons of the page's main part work without leaving it, so that the focus and the place stay. */
function submitInPlace(shown: Shown): void {
  shown.page.querySelector("main")?.addEventListener("submit", (event) => {
    const form = event.target;
    if (!(form instanceof HTMLFormElement)) return;
    event.preventDefault();
    if (form.ariaBusy !== "true") void submit(shown, form);
  });
}

async function submit(shown: Shown, form: HTMLFormElement): Promise<void> {
  form.ariaBusy = "true";
  try {
    const body = new URLSearchParams();
    for (const [name, value] of new FormData(form)) if (typeof value === "string") body.set(name, value);
    const reply = await fetch(form.action, { method: "POST", body });
    if (reply.ok && new URL(reply.url).pathname === shown.page.location.pathname) {
      shown.replaceBy(await reply.text());
      return;
    }
  } catch {
    // As below: what the browser says of a service that is away is as good as anything.
  } finally {
    form.ariaBusy = null;
  }
  // Signed out, or refused: the browser shows the answer itself. Asking twice to cancel changes nothing.
  form.submit();
}

/** A connection that is back so soon, in milliseconds, is not told to have been away. */
const quietFor = 2_000;

/** How long to pause, in milliseconds, before a stream that was refused is asked for once more. */
const askAgainAfter = 5_000;

/**
 * Reads the page anew whenever the service tells of a change. A page that nobody sees lets go of its stream, since a
 * browser has only a few connections to a service for all its tabs.
 */
function followEvents(shown: Shown, address: string): void {
  const { page } = shown;
  let stream: EventSource | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;

  const open = () => {
    const opened = new EventSource(address);
    stream = opened;
    opened.onopen = () => {
      clearTimeout(timer);
      timer = undefined;
      showConnection(page, "");
      // What happened between the page and its stream, or while the stream was away.
      shown.refresh();
    };
    for (const name of ["org", "run", "log"]) opened.addEventListener(name, () => shown.refresh());
    opened.onerror = () => {
      if (opened.readyState === EventSource.CLOSED) {
        // Refused, as when the session is over: reading the page leads to where one signs in.
        shown.refresh();
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
  follow();
}

function showConnection(page: Document, words: string): void {
  const line = page.getElementById("connection");
  if (line !== null && line.textContent !== words) line.textContent = words;
}

// The page works without this; with it, it is live. Nothing is kept in the browser.
const shown = new Shown(document);
shown.begin();
goOn(document);
const { events } = document.body.dataset;
if (events !== undefined) {
  submitInPlace(shown);
  followEvents(shown, events);
}
