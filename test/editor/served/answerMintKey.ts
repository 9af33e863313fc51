import { randomBytes } from "node:crypto";
import type { BrowserContext } from "playwright-core";

/** Answers VS Code's request for the key of its secrets, as `npm start`'s front door does: one key a context. */
export async function answerMintKey(context: BrowserContext): Promise<void> {
  const key = randomBytes(32);
  await context.route("**/mint-key", (route) =>
    route.fulfill({ status: 200, contentType: "application/octet-stream", body: key }),
  );
}
