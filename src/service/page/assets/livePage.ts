import { wholeSeconds } from "../../../contract/time.ts";

/** From one reading of the page to the next, in milliseconds, however much happens meanwhile. */
const restBetween = 300;

/** The page on the screen: read anew from the service when something has changed, and changed only where it differs. */
export class Shown {
  readonly page: Document;
  /** By how many milliseconds the service's clock is ahead of the browser's. */
  #ahead = 0;
  #reading = false;
  #again = false;

  constructor(page: Document) {
    this.page = page;
  }

  begin(): void {
    this.#setClock(this.page);
    showLocalTimes(this.page, this.#now());
    for (const end of stickToEnd(this.page)) end();
    setInterval(() => {
      if (!this.page.hidden) showCounts(this.page, this.#now());
    }, 1000);
  }

  /** Reads the page anew, soon; once for any number of calls while it does. */
  refresh(): void {
    this.#again = true;
    if (!this.#reading) void this.#readWhileAsked();
  }

  /** Shows what the service has answered with. */
  replaceBy(text: string): void {
    const next = new DOMParser().parseFromString(text, "text/html");
    const main = this.page.querySelector("main");
    const nextMain = next.querySelector("main");
    if (main === null || nextMain === null) return;
    this.#setClock(next);
    showLocalTimes(next, this.#now());
    const before = statusesOf(main);
    const ends = stickToEnd(this.page);
    const backToFocus = keepFocus(this.page);
    morph(main, nextMain);
    backToFocus();
    for (const end of ends) end();
    this.page.title = next.title;
    this.say(newsOf(before, statusesOf(main)));
  }

  /** Tells a screen reader, politely. */
  say(words: string): void {
    const told = this.page.getElementById("told");
    if (told !== null && words !== "") told.textContent = words;
  }

  async #readWhileAsked(): Promise<void> {
    this.#reading = true;
    while (this.#again) {
      this.#again = false;
      await this.#read();
      await new Promise((resolve) => setTimeout(resolve, restBetween));
    }
    this.#reading = false;
  }

  async #read(): Promise<void> {
    try {
      const reply = await fetch(this.page.location.href, { redirect: "manual", cache: "no-store" });
      if (reply.type === "opaqueredirect") this.page.location.reload();
      else if (reply.ok) this.replaceBy(await reply.text());
    } catch {
      // The service is away, which the event stream tells; it asks for a refresh when it is back.
    }
  }

  #now(): number {
    return Date.now() + this.#ahead;
  }

  #setClock(page: Document): void {
    this.#ahead = Number(page.body.dataset["now"]) - Date.now();
  }
}

/** A run's pipeline and the word for its status. */
interface RunStatus {
  readonly pipeline: string;
  readonly word: string;
}

/** So many changes at once are told one by one; of more, only how many. */
const mostTold = 3;

/** The runs of the page by their elements' ids. */
function statusesOf(main: Element): ReadonlyMap<string, RunStatus> {
  const rows = [...main.querySelectorAll<HTMLElement>("[data-run]")];
  return new Map(
    rows.map((row) => [
      row.id,
      { pipeline: row.dataset["run"] ?? "", word: row.querySelector(".status")?.textContent ?? "" },
    ]),
  );
}

/** What is worth saying of the change: runs that are new or stand differently. Empty when there are none. */
function newsOf(before: ReadonlyMap<string, RunStatus>, after: ReadonlyMap<string, RunStatus>): string {
  const changed = [...after].filter(([id, { word }]) => before.get(id)?.word !== word);
  if (changed.length > mostTold) return `${changed.length} runs have changed.`;
  return changed.map(([, { pipeline, word }]) => `${pipeline}: ${word}.`).join(" ");
}

/** Nearer to its end than this, in pixels, a log counts as read to the end. */
const nearEnough = 8;

/** For each log that stands at its end (or was never scrolled), the way to bring it there again after a change. */
function stickToEnd(page: Document): readonly (() => void)[] {
  return [...page.querySelectorAll<HTMLElement>("[data-sticks]")].flatMap((log) => {
    const fresh = log.dataset["sticks"] === "";
    const atEnd = log.scrollHeight - log.scrollTop - log.clientHeight <= nearEnough;
    if (!fresh && !atEnd) return [];
    return [
      () => {
        log.dataset["sticks"] = "yes";
        log.scrollTop = log.scrollHeight;
      },
    ];
  });
}

/**
 * Remembers where the focus is. @returns what brings it back, after a change that took its element away, to the nearest
 * place that is still there, so that nobody who works by keyboard starts at the top again.
 */
function keepFocus(page: Document): () => void {
  const held = page.activeElement;
  const trail: string[] = [];
  for (let around = held; around instanceof HTMLElement; around = around.parentElement) {
    const { instead } = around.dataset;
    trail.push(...[around.id, instead ?? ""].filter((id) => id !== ""));
  }
  return () => {
    if (held === null || held === page.body || held.isConnected) return;
    const [place] = trail.flatMap((id) => page.getElementById(id) ?? []);
    const target = place?.matches("main") ? place : place?.querySelector<HTMLElement>("a, button, summary");
    (target ?? page.querySelector("main"))?.focus({ preventScroll: true });
  };
}

const timeOfDay = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });
const dayAndTime = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

/** Shows every instant in the reader's zone, without the date when it is today; in UTC when it is pointed at. */
function showLocalTimes(page: Document, now: number): void {
  const today = new Date(now).toDateString();
  for (const element of page.querySelectorAll("time")) {
    const instant = new Date(element.dateTime);
    if (Number.isNaN(instant.getTime())) continue;
    if (element.title === "") element.title = element.textContent ?? "";
    const isToday = instant.toDateString() === today;
    element.textContent = (isToday ? timeOfDay : dayAndTime).format(instant);
  }
}

/** Counts on what the service has rendered as seconds since or until an instant. @param now on the service's clock. */
function showCounts(page: Document, now: number): void {
  for (const element of page.querySelectorAll<HTMLElement>("[data-since], [data-until]")) {
    const { since, until } = element.dataset;
    const text = wholeSeconds(since === undefined ? Number(until) - now : now - Number(since));
    if (element.textContent !== text) element.textContent = text;
  }
}

/** What the reader may have changed on the page, which a newer state of it doesn't take back. */
const ownOfReader: ReadonlySet<string> = new Set(["open", "data-sticks"]);

/**
 * Makes an element equal to another one of a newer page, touching only what differs: whatever stays keeps its focus,
 * its selection and its scroll position. Children with an id are matched by it, others by their kind and order.
 */
function morph(shown: Element, next: Element): void {
  morphAttributes(shown, next);
  const staying = new Set([...next.children].map(({ id }) => id));
  const byId = new Map<string, Element>();
  for (const child of [...shown.children]) {
    if (child.id === "") continue;
    if (staying.has(child.id)) byId.set(child.id, child);
    else child.remove();
  }
  let at = shown.firstChild;
  for (const child of next.childNodes) {
    const named = byId.get(idOf(child));
    if (named !== undefined) at = withoutNameless(at, named);
    const match = named ?? (at !== null && idOf(at) === "" ? at : undefined);
    if (match === undefined || match.nodeName !== child.nodeName) {
      shown.insertBefore(shown.ownerDocument.importNode(child, true), at);
      continue;
    }
    if (match === at) at = at.nextSibling;
    else shown.insertBefore(match, at);
    if (match instanceof Element && child instanceof Element) morph(match, child);
    else if (match.nodeValue !== child.nodeValue) match.nodeValue = child.nodeValue;
  }
  while (at !== null) at = removed(at);
}

/** Takes away what stands before a node that stays: moving that node instead would cost it its focus. */
function withoutNameless(from: ChildNode | null, until: Element): ChildNode | null {
  let at = from;
  while (at !== null && at !== until && idOf(at) === "") at = removed(at);
  return at;
}

/** @returns the one that came after it. */
function removed(node: ChildNode): ChildNode | null {
  const { nextSibling } = node;
  node.remove();
  return nextSibling;
}

function idOf(node: Node): string {
  return node instanceof Element ? node.id : "";
}

function morphAttributes(shown: Element, next: Element): void {
  for (const { name, value } of next.attributes) {
    if (!ownOfReader.has(name) && shown.getAttribute(name) !== value) shown.setAttribute(name, value);
  }
  for (const { name } of [...shown.attributes]) {
    if (!ownOfReader.has(name) && !next.hasAttribute(name)) shown.removeAttribute(name);
  }
}
