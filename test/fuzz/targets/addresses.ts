import { parseBaseUrl } from "../../../src/client/http/baseUrl.ts";
import { isExempt } from "../../../src/client/http/proxy/noProxy.ts";
import { proxyFor } from "../../../src/client/http/proxy/proxyFor.ts";
import { retryAfterSeconds } from "../../../src/client/http/retryAfter.ts";
import { segment } from "../../../src/client/http/segment.ts";
import { PipelineError } from "../../../src/contract/errors.ts";
import { keptFileOf, keptUri, logUri, runIdOf } from "../../../src/extension/log/runUri.ts";
import { joinAddress, problemOfUrl } from "../../../src/pipeline/address.ts";
import { nextPath } from "../../../src/service/page/nextPath.ts";
import { must } from "../engine/broken.ts";
import type { Target } from "../engine/target.ts";

export const addressesTarget: Target = {
  name: "addresses",
  property: "an address from outside is one that is safe to ask, or refused in words that repeat no password",
  covers: [
    "src/client/http/baseUrl.ts",
    "src/client/http/proxy",
    "src/client/http/segment.ts",
    "src/client/http/retryAfter.ts",
    "src/extension/log/runUri.ts",
    "src/pipeline/address.ts",
    "src/service/page/nextPath.ts",
  ],
  seeds: [
    "https://pipelines.example.com/x",
    "http://127.0.0.1:8080",
    "http://user:hunter22@proxy.example:3128",
    "socks5://user:hunter22@h",
    "10.0.0.0/8, .example.com *.a:8080 [::1]:80 *",
    "/app/runs?after=x",
    "//evil.example/app/runs",
    "run_01/../x",
    "Tue, 03 Mar 2026 10:00:00 GMT",
    "86401",
  ],
  words: [
    "http://",
    "https://",
    "hunter22",
    "@",
    "/app/runs",
    "\\",
    "//",
    "%2e%2e",
    "..",
    "127.0.0.1",
    "localhost",
    "[::1]",
    ":65536",
    "/8",
  ],
  longest: 1024,
  mostSteps: ({ length }) => 20_000 + length * 400,
  open: () => ({ check }),
};

function check(text: string): void {
  const base = refusedOr(() => parseBaseUrl(text), text);
  if (base !== undefined) {
    must(
      base.pathname.endsWith("/") && base.username === "" && base.search === "" && base.hash === "",
      "a base URL is an address and a path",
      () => base.href,
    );
    must(
      base.protocol === "https:" || /^(localhost|\[::1\]|127\.)/.test(base.hostname),
      "a key never travels in clear text",
      () => base.href,
    );
    must(parseBaseUrl(base.href).href === base.href, "a base URL stays as it is", () => base.href);
  }
  const target = new URL("https://pipelines.example.com/");
  isExempt(target, text);
  must(
    !isExempt(target, text) || proxyFor(target, { HTTPS_PROXY: "p:1", NO_PROXY: text }) === undefined,
    "what needs no proxy has none",
    () => text,
  );
  const proxy = refusedOr(() => proxyFor(target, { HTTPS_PROXY: text }), text);
  if (proxy !== undefined) {
    must(
      proxy.port > 0 && proxy.port < 65_536 && proxy.hostname !== "",
      "a proxy has a host and a port",
      () => proxy,
    );
    must(!proxy.host.includes("@"), "a proxy's name holds no password", () => proxy.host);
  }
  const path = nextPath(text);
  must(
    /^\/app\/runs(?:[/?]|$)/.test(path) && new URL(path, "http://h").host === "h",
    "nobody is led off the page",
    () => path,
  );
  const part = refusedOr(() => segment("id of a run", text), "");
  if (part !== undefined) {
    const { pathname } = new URL(`api/runs/${part}/cancel`, "http://h/x/");
    must(/^\/x\/api\/runs\/[^/]+\/cancel$/.test(pathname), "an id is one part of a path", () => pathname);
  }
  checkUris(text);
  const seconds = retryAfterSeconds({ get: (name) => (name === "retry-after" ? text : null) }, 0);
  must(
    seconds === undefined || (Number.isInteger(seconds) && seconds >= 0 && seconds <= 86_400),
    "a pause is a whole number of seconds, a day at the most",
    () => seconds,
  );
  if (problemOfUrl(text, "put it elsewhere") === undefined) {
    must(URL.canParse(joinAddress("/x", text)), "a path behind a good address is an address", () =>
      joinAddress("/x", text),
    );
  }
}

function checkUris(text: string): void {
  if (text.isWellFormed()) {
    const uri = logUri(text, text);
    const told = runIdOf(uri);
    must(told === text || text === "", "the address of a log names its run", () => ({ uri, told }));
    const kept = keptUri(text, { file: text, name: text, mediaType: "image/png" });
    const file = keptFileOf(kept);
    must(
      text === "" || (file?.runId === text && file.file === text),
      "the address of a kept file names its run and file",
      () => ({ kept, file }),
    );
  }
  runIdOf({ scheme: "pipeline-run-log", path: text });
  keptFileOf({ scheme: "pipeline-run-file", path: text });
}

/** The value, or undefined when it was refused in words of ours. */
function refusedOr<T>(read: () => T, text: string): T | undefined {
  try {
    return read();
  } catch (error) {
    must(error instanceof PipelineError, "an address is refused with an error of ours", () => error);
    const said = `${error.message} ${error.next}`;
    must(!text.includes("hunter22@") || !said.includes("hunter22"), "a password is not repeated", () => said);
    return undefined;
  }
}
