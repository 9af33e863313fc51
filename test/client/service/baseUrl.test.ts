import assert from "node:assert/strict";
import { isLoopback, parseBaseUrl } from "../../../src/client/service/request.ts";
import { PipelineError } from "../../../src/contract/errors.ts";

function complaintAbout(text: string): PipelineError {
  try {
    parseBaseUrl(text);
  } catch (error) {
    if (error instanceof PipelineError) return error;
  }
  return assert.fail(`${text} is taken`);
}

describe("a base URL", () => {
  it("keeps its path, and ends with a slash", () => {
    const cases = [
      ["https://pipelines.example.com", "https://pipelines.example.com/"],
      ["https://pipelines.example.com/a/b", "https://pipelines.example.com/a/b/"],
      ["https://pipelines.example.com/a/b/", "https://pipelines.example.com/a/b/"],
      [" https://pipelines.example.com:8443/x ", "https://pipelines.example.com:8443/x/"],
    ];
    for (const [text = "", href] of cases) assert.equal(parseBaseUrl(text).href, href);
  });

  it("may be http only for this machine's own addresses", () => {
    for (const host of ["127.0.0.1:8080", "127.1.2.3", "localhost:1", "[::1]:9"]) {
      assert.ok(isLoopback(parseBaseUrl(`http://${host}`)));
    }
    for (const host of [
      "pipelines.example.com",
      "10.0.0.1",
      "127.0.0.1.example.com",
      "localhost.example.com",
      "[::2]",
    ]) {
      const complaint = complaintAbout(`http://${host}`);
      assert.equal(complaint.type, "invalid-request");
      assert.match(complaint.message, /clear text/);
    }
  });

  it("that can't be one is refused with one sentence and the next step", () => {
    const cases: [string, RegExp][] = [
      ["", /not a URL/],
      ["pipelines", /not a URL/],
      ["https://", /not a URL/],
      ["pipelines.example.com:443/x", /begins with neither https: nor http:/],
      ["ftp://pipelines.example.com", /begins with neither https: nor http:/],
      ["secret:@pipelines.example.com", /begins with neither https: nor http:/],
      ["https://me:secret@pipelines.example.com", /a user name or a password/],
      ["https://pipelines.example.com/?key=secret", /after `\?`/],
      ["https://pipelines.example.com/#secret", /`#`/],
    ];
    for (const [text, message] of cases) {
      const complaint = complaintAbout(text);
      assert.match(complaint.message, message);
      assert.match(complaint.message, /^[A-Z].*\.$/);
      assert.ok(complaint.next.length > 0);
      assert.ok(!complaint.message.includes("secret"));
    }
  });
});
