import { PipelineError } from "../../contract/errors.ts";

/**
 * Parses a service's address as a person types it. A path is kept (`https://host/path`), and the result ends with a slash, so
 * that endpoints resolve below it.
 *
 * @throws PipelineError `invalid-request` if it can't be a base URL or would send the key in clear text.
 */
export function parseBaseUrl(text: string): URL {
  if (!URL.canParse(text.trim())) {
    throw refused("The base URL is not a URL.", "Write it in full, like https://pipelines.example.com.");
  }
  const url = new URL(text.trim());
  if (url.protocol !== "https:" && url.protocol !== "http:") {
    // The scheme isn't repeated: it may be the key, as in `<key>:@<host>`.
    throw refused(
      "The base URL begins with neither https: nor http:.",
      "Write it in full, like https://pipelines.example.com.",
    );
  }
  if (url.username !== "" || url.password !== "") {
    throw refused(
      "The base URL holds a user name or a password.",
      "Take it out; the API key is kept elsewhere.",
    );
  }
  if (url.search !== "" || url.hash !== "") {
    throw refused("The base URL has a part after `?` or `#`.", "Leave that part out.");
  }
  if (url.protocol === "http:" && !isLoopback(url)) {
    throw refused(
      `The base URL is http, which would send the API key to ${url.host} in clear text.`,
      "Use https; http is only for this machine's own addresses.",
    );
  }
  if (!url.pathname.endsWith("/")) url.pathname += "/";
  return url;
}

/** Whether the address is a loopback one, so that nothing leaves the machine. */
export function isLoopback(url: URL): boolean {
  return url.hostname === "localhost" || url.hostname === "[::1]" || /^127(\.\d+){3}$/.test(url.hostname);
}

function refused(message: string, next: string): PipelineError {
  return new PipelineError("invalid-request", message, { next });
}
