import { newsOf, statusesOf } from "./announce.ts";
import { showCounts } from "./counts.ts";
import { keepFocus } from "./keepFocus.ts";
import { showLocalTimes } from "./localTimes.ts";
import { morph } from "./morph.ts";
import { stickToEnd } from "./stickToEnd.ts";

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
