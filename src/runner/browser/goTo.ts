import type { Frame, Page, Response } from "playwright-core";
import { describeStatus } from "../../pipeline/file/expectation.ts";
import type { StatusRange } from "../../pipeline/file/values.ts";
import type { BrowserStep } from "../../pipeline/types/browserStep.ts";
import { duration } from "../../text/time.ts";
import { StepFault } from "../step/stepContext.ts";
import { DeadlineExceeded, isTimeout, type StepDeadline } from "./deadline.ts";
import type { BrowserUse } from "./openBrowser.ts";
import { excerptOf } from "./pageContent.ts";

const anyButErrors: StatusRange = { from: 100, to: 399 };

/**
 * Opens an address and waits for `DOMContentLoaded` and then, for at most half of the time left, for `load`.
 * @throws StepFault when it can't be opened, or answers with another status.
 */
export async function goTo(
  page: Page,
  address: string,
  { browser: { auth }, expect: { status: expected } }: Pick<BrowserStep, "browser" | "expect">,
  use: BrowserUse,
): Promise<void> {
  const { log } = use.stepContext;
  const url = URL.parse(address);
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new StepFault(`\`${address}\` is no address that begins with http:// or https://`);
  const began = performance.now();
  const { response, hasPage } = await open(page, url, use.deadline);
  if (response === undefined) {
    log.note(`open ${url.href} → the same page`);
    if (expected === undefined) return;
    throw new StepFault(
      "the address differs only behind its `#`, so the page wasn't asked for again: there is no status",
    );
  }
  const where = response.url() === url.href ? "" : ` at ${response.url()}`;
  log.note(`open ${url.href} → ${response.status()}${where} in ${duration(performance.now() - began)}`);
  const problem = checkStatus(response, expected, auth);
  if (problem === undefined) return loaded(page, use);
  const excerpt = hasPage ? await excerptOf(page, use) : "";
  throw new StepFault(excerpt === "" ? problem : `${problem}\nthe page says: ${excerpt}`);
}

/** @returns no response when the address is another place on the same page. */
async function open(page: Page, url: URL, deadline: StepDeadline) {
  let answer: Response | undefined;
  const listen = (response: Response) => {
    if (response.request().isNavigationRequest() && response.frame() === page.mainFrame()) answer = response;
  };
  const ownPage = Promise.withResolvers<void>();
  const see = (frame: Frame) => {
    if (frame === page.mainFrame() && frame.url().startsWith("chrome-error:")) ownPage.resolve();
  };
  page.on("response", listen).on("framenavigated", see);
  try {
    const response = await deadline.within(
      page.goto(url.href, { waitUntil: "domcontentloaded", timeout: deadline.left }),
      1000,
    );
    return { response: response ?? undefined, hasPage: true };
  } catch (error) {
    if (error instanceof DeadlineExceeded || isTimeout(error)) {
      const how =
        answer === undefined
          ? "didn't reply"
          : `replied with ${answer.status()}, but its page wasn't complete`;
      throw new StepFault(`${url.host} ${how} ${deadline.describe()}`);
    }
    const message = error instanceof Error ? error.message : String(error);
    if (/net::ERR_(?!ABORTED)/.test(message)) {
      await deadline
        .atMost(ownPageMilliseconds)
        .within(ownPage.promise)
        .catch(() => {});
    }
    // For an error reply without a body, or one that asks for a user and a password, the browser shows its own page.
    const isOwnPage = /ERR_(?:HTTP_RESPONSE_CODE_FAILURE|INVALID_AUTH_CREDENTIALS)/.test(message);
    if (answer !== undefined && isOwnPage) return { response: answer, hasPage: false };
    throw new StepFault(describeNavigationProblem(url, message));
  } finally {
    page.off("response", listen).off("framenavigated", see);
  }
}

/** How long to wait for the browser's own error page, which could otherwise replace the next page, in milliseconds. */
const ownPageMilliseconds = 500;

function checkStatus(
  response: Response,
  expected: StatusRange | undefined,
  auth: BrowserStep["browser"]["auth"],
): string | undefined {
  const status = response.status();
  const { from, to } = expected ?? anyButErrors;
  if (status >= from && status <= to) return undefined;
  const wanted = expected === undefined ? "below 400" : describeStatus(expected);
  const url = URL.parse(response.url());
  const asks = status === 401 && /\bbasic\b/i.test(response.headers()["www-authenticate"] ?? "");
  const by = asks ? `, which ${describeAsking(url, auth)}` : "";
  return `expected status ${wanted}, got ${status} from ${url?.origin}${url?.pathname}${by}`;
}

function describeAsking(url: URL | null, auth: BrowserStep["browser"]["auth"]): string {
  if (auth === undefined) return "asks for the user and password of the resource's `auth`";
  const origin = auth.base === undefined ? undefined : URL.parse(auth.base)?.origin;
  return origin === undefined || origin === url?.origin
    ? "refuses the user and password of the resource's `auth`"
    : `asks for a user and password; the resource's \`auth\` is for ${origin} alone`;
}

async function loaded(page: Page, { deadline, stepContext }: BrowserUse): Promise<void> {
  const half = deadline.atMost(deadline.left / 2);
  try {
    await half.within(page.waitForLoadState("load", { timeout: half.left }));
  } catch {
    stepContext.log.note(`the page is still loading after ${duration(half.milliseconds)}; the step goes on`);
  }
}

/** Why a page didn't open, in a sentence. */
export function describeNavigationProblem(url: URL, message: string): string {
  const { host, hostname } = url;
  if (/Download is starting/i.test(message)) {
    return `${url.origin}${url.pathname} is a download, not a page; an http step can fetch it`;
  }
  const code = /net::(ERR_[A-Z0-9_]+)/.exec(message)?.[1];
  switch (code) {
    case "ERR_CONNECTION_REFUSED":
      return `nothing listens at ${host} (connection refused)`;
    case "ERR_NAME_NOT_RESOLVED":
    case "ERR_NAME_RESOLUTION_FAILED":
      return `the host ${hostname} isn't known (${code})`;
    case "ERR_CONNECTION_RESET":
    case "ERR_CONNECTION_CLOSED":
    case "ERR_EMPTY_RESPONSE":
      return `${host} closed the connection before its page was complete`;
    case "ERR_CONNECTION_TIMED_OUT":
    case "ERR_TIMED_OUT":
    case "ERR_ADDRESS_UNREACHABLE":
    case "ERR_INTERNET_DISCONNECTED":
    case "ERR_NETWORK_CHANGED":
    case "ERR_PROXY_CONNECTION_FAILED":
      return `${host} can't be reached (${code})`;
    case "ERR_CERT_DATE_INVALID":
      return `the certificate of ${host} has expired, or isn't valid yet`;
    case "ERR_CERT_COMMON_NAME_INVALID":
      return `the certificate of ${host} was made for another host`;
    case "ERR_CERT_AUTHORITY_INVALID":
      return `the certificate of ${host} isn't from an authority that the browser trusts`;
    case "ERR_SSL_PROTOCOL_ERROR":
    case "ERR_SSL_VERSION_OR_CIPHER_MISMATCH":
      return `${host} doesn't speak https`;
    case "ERR_INVALID_HTTP_RESPONSE":
      return `what answers at ${host} isn't HTTP`;
    case "ERR_TOO_MANY_REDIRECTS":
      return `${host} redirects again and again`;
    case "ERR_UNSAFE_PORT":
      return `a browser opens no page on port ${url.port}, which belongs to another protocol`;
    case "ERR_ABORTED":
      return `${host} gave no page to show (an empty reply, or a download), or the page went elsewhere at once`;
    default:
      return `${host} can't be opened: ${code ?? message.split("\n", 1)[0]?.replace(/^\w+\.\w+: /, "")}`;
  }
}
