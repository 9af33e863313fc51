import type { Shown } from "./shown.ts";

/** A connection that is back so soon, in milliseconds, is not told to have been away. */
const quietFor = 2_000;

/** How long to pause, in milliseconds, before a stream that was refused is asked for once more. */
const askAgainAfter = 5_000;

/**
 * Reads the page anew whenever the service tells of a change. A page that nobody sees lets go of its stream, since a
 * browser has only a few connections to a service for all its tabs.
 */
export function followEvents(shown: Shown, address: string): void {
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
