import assert from "node:assert/strict";
import { remoteFetch } from "../../../src/client/service/remoteFetch.ts";
import { retryAfterSeconds } from "../../../src/client/service/replyErrors.ts";
import { parseBaseUrl, segment } from "../../../src/client/service/request.ts";
import { PipelineError } from "../../../src/contract/errors.ts";
import { artifactOf, artifactUri, logUri, runIdOf } from "../../../src/extension/log/runUri.ts";
import { joinAddress, problemOfUrl } from "../../../src/pipeline/file/address.ts";
import { nextPath } from "../../../src/service/page/pageRequest.ts";
import { holdsNear } from "../../near.ts";

describe("addresses from outside", () => {
  it("an address from outside is one that is safe to ask, or refused in words that repeat no password", () =>
    holdsNear(
      {
        like: [
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
        broke: ["http://a ", "hunter22:hunter22@"],
        longest: 1024,
      },
      checkAddress,
    ));
});

function checkAddress(text: string): void {
  const base = refusedOr(() => parseBaseUrl(text), text);
  if (base !== undefined) {
    assert(
      base.pathname.endsWith("/") && base.username === "" && base.search === "" && base.hash === "",
      "a base URL is an address and a path",
    );
    assert(
      base.protocol === "https:" || /^(localhost|\[::1\]|127\.)/.test(base.hostname),
      "a key never travels in clear text",
    );
    assert(parseBaseUrl(base.href).href === base.href, "a base URL stays as it is");
  }
  const target = new URL("https://pipelines.example.com/");
  refusedOr(() => remoteFetch(target, { HTTPS_PROXY: text, NO_PROXY: text }), text);
  const path = nextPath(text);
  assert(
    /^\/app\/runs(?:[/?]|$)/.test(path) && new URL(path, "http://h").host === "h",
    "nobody is led off the page",
  );
  const part = refusedOr(() => segment("id of a run", text), "");
  if (part !== undefined) {
    const { pathname } = new URL(`api/runs/${part}/cancel`, "http://h/x/");
    assert(/^\/x\/api\/runs\/[^/]+\/cancel$/.test(pathname), "an id is one part of a path");
  }
  checkUris(text);
  const seconds = retryAfterSeconds({ get: (name) => (name === "retry-after" ? text : null) }, 0);
  assert(
    seconds === undefined || (Number.isInteger(seconds) && seconds >= 0 && seconds <= 86_400),
    "a pause is a whole number of seconds, a day at the most",
  );
  if (problemOfUrl(text, "put it elsewhere") === undefined) {
    assert(
      URL.canParse(joinAddress({ base: text, target: "/x" })),
      "a path behind a good address is an address",
    );
  }
}

function checkUris(text: string): void {
  if (text.isWellFormed()) {
    const uri = logUri(text, text);
    const told = runIdOf(uri);
    assert(told === text || text === "", "the address of a log names its run");
    const kept = artifactUri(text, { file: text, name: text, mediaType: "image/png" });
    const file = artifactOf(kept);
    assert(
      text === "" || (file?.runId === text && file.file === text),
      "the address of a kept file names its run and file",
    );
  }
  runIdOf({ scheme: "pipeline-run-log", path: text });
  artifactOf({ scheme: "pipeline-run-file", path: text });
}

/** The value, or undefined when it was refused in words of ours. */
function refusedOr<T>(read: () => T, text: string): T | undefined {
  try {
    return read();
  } catch (error) {
    assert(error instanceof PipelineError, "an address is refused with an error of ours");
    const said = `${error.message} ${error.next}`;
    assert(!text.includes("hunter22@") || !said.includes("hunter22"), "a password is not repeated");
    return undefined;
  }
}
