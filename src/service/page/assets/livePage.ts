import { elapsed } from "../../../text/time.ts";
import { placeOnAxis } from "../../../text/timeline.ts";

/** The shortest pause between two refreshes, in milliseconds. */
const refreshPause = 300;

/** The page on the screen, refreshed from the service; only what differs is replaced. */
export class LivePage {
  readonly page: Document;
  /** The service's clock minus the browser's, in milliseconds. */
  #ahead = 0;
  #reading = false;
  #isLeft = false;
  #again = false;

  constructor(page: Document) {
    this.page = page;
  }

  begin(): void {
    this.#setClock(this.page);
    showLocalTimes(this.page, this.#now());
    for (const end of stickToEnd(this.page)) end();
    // `toggle` doesn't bubble, so it is caught in the capture phase.
    this.page.addEventListener("toggle", ({ target }) => showLogsEnd(target), true);
    setInterval(() => {
      if (this.page.hidden) return;
      showCounts(this.page, this.#now());
      moveBars(this.page, this.#now());
    }, 1000);
  }

  /** Fetches the page again; calls during a fetch lead to one more. */
  refresh(): void {
    this.#again = true;
    if (!this.#reading) void this.#readWhileAsked();
  }

  /** Stops refreshing: the browser is leaving the page. */
  leave(): void {
    this.#isLeft = true;
  }

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
    this.announce(describeChanges(before, statusesOf(main)));
  }

  /** Announces a text to screen readers. */
  announce(words: string): void {
    const region = this.page.getElementById("announcement");
    if (region !== null && words !== "") region.textContent = words;
  }

  async #readWhileAsked(): Promise<void> {
    this.#reading = true;
    while (this.#again) {
      this.#again = false;
      await this.#read();
      await new Promise((resolve) => setTimeout(resolve, refreshPause));
    }
    this.#reading = false;
  }

  async #read(): Promise<void> {
    try {
      const reply = await fetch(this.page.location.href, { redirect: "manual", cache: "no-store" });
      if (this.#isLeft) return;
      if (reply.type === "opaqueredirect") this.page.location.reload();
      else if (reply.ok) this.replaceBy(await reply.text());
    } catch {
      // Ignored: the event stream shows the lost connection and refreshes when it is back.
    }
  }

  #now(): number {
    return Date.now() + this.#ahead;
  }

  #setClock(page: Document): void {
    this.#ahead = Number(page.body.dataset["now"]) - Date.now();
  }
}

interface RunStatus {
  readonly pipeline: string;
  readonly word: string;
}

/** Up to this many changes are announced one by one, more only as a count. */
const mostAnnounced = 3;

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

/** The new and changed runs as a text. Empty when there are none. */
function describeChanges(
  before: ReadonlyMap<string, RunStatus>,
  after: ReadonlyMap<string, RunStatus>,
): string {
  const changed = [...after].filter(([id, { word }]) => before.get(id)?.word !== word);
  if (changed.length > mostAnnounced) return `${changed.length} runs have changed.`;
  return changed.map(([, { pipeline, word }]) => `${pipeline}: ${word}.`).join(" ");
}

/** A log that is at most this far from its end, in pixels, counts as scrolled to the end. */
const nearEnough = 8;

/** A log begins at its end whenever it is opened. */
function showLogsEnd(details: EventTarget | null): void {
  if (!(details instanceof HTMLDetailsElement)) return;
  const log = details.querySelector<HTMLElement>("[data-sticks]");
  if (log === null) return;
  // A log that is already scrolled as it opens was opened by the browser's search, which found something there.
  log.dataset["sticks"] = details.open && log.scrollTop > 0 ? "yes" : "";
  if (!details.open) log.scrollTop = 0;
  for (const end of stickToEnd(details)) end();
}

/**
 * @returns functions that scroll each open log that is new or at its end to the end again after a change. Closed logs are
 * left out: measuring one makes the browser lay it out, and there may be hundreds.
 */
function stickToEnd(page: ParentNode): readonly (() => void)[] {
  return [...page.querySelectorAll<HTMLElement>("[open] > [data-sticks]")].flatMap((log) => {
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
 * Remembers the focus. @returns a function that restores it after a change: if its element is gone, to the nearest
 * element that is left, so that keyboard users don't start at the top again.
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
const minuteOfDay = new Intl.DateTimeFormat(undefined, { timeStyle: "short" });
const dayAndTime = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

/** Shows instants in the reader's time zone, without today's date, and UTC in the tooltip; sets the filter's time zone. */
function showLocalTimes(page: Document, now: number): void {
  const filterZone = page.querySelector<HTMLInputElement>("input[name=zone]");
  if (filterZone?.value === "") {
    filterZone.setAttribute("value", timeOfDay.resolvedOptions().timeZone);
    for (const shown of page.querySelectorAll("[data-zone]")) shown.textContent = filterZone.value;
  }
  const today = new Date(now).toDateString();
  for (const element of page.querySelectorAll("time")) {
    const instant = new Date(element.dateTime);
    if (Number.isNaN(instant.getTime())) continue;
    if (element.title === "") element.title = element.textContent ?? "";
    const isToday = instant.toDateString() === today;
    const ofToday = element.dataset["about"] === undefined ? timeOfDay : minuteOfDay;
    element.textContent = (isToday ? ofToday : dayAndTime).format(instant);
  }
}

/** Updates the seconds since or until an instant. @param now on the service's clock. */
function showCounts(page: Document, now: number): void {
  for (const element of page.querySelectorAll<HTMLElement>("[data-since], [data-until]")) {
    const { since, until } = element.dataset;
    const text = elapsed(since === undefined ? Number(until) - now : now - Number(since));
    if (element.textContent !== text) element.textContent = text;
  }
}

/** Moves the bars of an active run's timeline, whose axis ends at the current time. @param now on the service's clock. */
function moveBars(page: Document, now: number): void {
  for (const bar of page.querySelectorAll<SVGElement>("[data-axis] [data-from]")) {
    const axis = bar.closest<HTMLElement>("[data-axis]")?.dataset["axis"];
    const { from, to } = bar.dataset;
    const span = { from: Number(from), to: to === undefined ? undefined : Number(to) };
    const { start, length } = placeOnAxis(span, { from: Number(axis) }, now);
    bar.setAttribute("x", `${start}%`);
    bar.setAttribute("width", `${length}%`);
  }
}

/** Attributes that the reader may have changed; an update leaves them. */
const readerAttributes: ReadonlySet<string> = new Set(["open", "data-sticks"]);

/**
 * Makes an element equal to its newer version and touches only what differs, so that the rest keeps its focus, selection
 * and scroll position. Children are matched by id, those without one by node name and order.
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

/** Removes the nodes without an id before a node that stays: moving that node instead would lose its focus. */
function withoutNameless(from: ChildNode | null, until: Element): ChildNode | null {
  let at = from;
  while (at !== null && at !== until && idOf(at) === "") at = removed(at);
  return at;
}

/** @returns the next sibling. */
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
    if (!readerAttributes.has(name) && shown.getAttribute(name) !== value) shown.setAttribute(name, value);
  }
  for (const { name } of [...shown.attributes]) {
    if (!readerAttributes.has(name) && !next.hasAttribute(name)) shown.removeAttribute(name);
  }
}
