import type { CookieJar } from "tough-cookie";

/** What the steps of an http resource share in a run, as the pages of a browser do: its cookies. */
export class HttpSession implements AsyncDisposable {
  readonly #keepsCookies: boolean;
  #jar: CookieJar | undefined;

  constructor(keepsCookies = true) {
    this.#keepsCookies = keepsCookies;
  }

  /** @param written the cookies that a step sends itself: one of the same name isn't sent beside it. */
  async cookiesFor(url: URL, written = ""): Promise<string> {
    const names = new Set(written.split(";").flatMap((cookie) => /^\s*([^=]*?)\s*=/.exec(cookie)?.[1] ?? []));
    const kept = (await this.#jar?.getCookies(url.href)) ?? [];
    return kept
      .filter(({ key }) => !names.has(key))
      .map((cookie) => cookie.cookieString())
      .join("; ");
  }

  cookies(url: URL): Record<string, string> {
    const kept = this.#jar?.getCookiesSync(url.href) ?? [];
    return Object.fromEntries(kept.map(({ key, value }) => [key, value]));
  }

  /** Keeps the cookies that a reply sets. One that isn't allowed to is left out, as a browser does. */
  async keep(cookies: readonly string[], url: URL): Promise<void> {
    if (!this.#keepsCookies) return;
    if (this.#jar === undefined) {
      // It is large, and most runs need none.
      const { CookieJar } = await import("tough-cookie");
      this.#jar ??= new CookieJar(undefined, { looseMode: true });
    }
    for (const cookie of cookies) await this.#jar.setCookie(cookie, url.href, { ignoreError: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#jar = undefined;
  }
}
