/** Goes to the page without a browser: sends what a browser would, or what it never would. */
export class Visitor {
  readonly #url: () => string;
  cookie: string | undefined;

  constructor(service: { readonly url: string }) {
    // A service that is started again may have another port.
    this.#url = () => service.url;
  }

  /** The reply as it is; redirects are not followed. */
  get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
    return fetch(`${this.#url()}${path}`, {
      headers: { ...this.#ownCookie(), ...headers },
      redirect: "manual",
    });
  }

  /** Posts a form as the page's own would be, unless the headers say otherwise. */
  post(
    path: string,
    form: Readonly<Record<string, string>>,
    headers: Readonly<Record<string, string>> = { origin: this.#url(), "sec-fetch-site": "same-origin" },
  ): Promise<Response> {
    return fetch(`${this.#url()}${path}`, {
      method: "POST",
      headers: { ...this.#ownCookie(), ...headers },
      body: new URLSearchParams(form),
      redirect: "manual",
    });
  }

  /** Signs in and keeps the cookie. */
  async signIn(key: string): Promise<Response> {
    const reply = await this.post("/app/sign-in", { key });
    this.cookie = reply.headers.getSetCookie()[0]?.split(";", 1)[0];
    return reply;
  }

  async text(path: string): Promise<string> {
    const reply = await this.get(path);
    if (reply.status !== 200) throw new Error(`${path} answered ${reply.status}`);
    return reply.text();
  }

  /** The names that a page of runs lists, and the addresses of its neighbours. */
  async runsPage(path = "") {
    const text = await this.text(path);
    const link = (rel: string) =>
      new RegExp(`<a rel="${rel}" href="([^"]*)"`).exec(text)?.[1]?.replaceAll("&amp;", "&");
    return {
      pipelines: [...text.matchAll(/<th scope="row"><a [^>]*><bdi>([^<]*)/g)].map(([, name]) => name),
      newer: link("prev"),
      older: link("next"),
    };
  }

  #ownCookie(): Record<string, string> {
    return this.cookie === undefined ? {} : { cookie: this.cookie };
  }
}
