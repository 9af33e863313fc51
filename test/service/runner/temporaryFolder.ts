import { TemporaryFolder } from "../../temporaryFolder.ts";

/** A folder of each test's own. For use as a mocha hook: `const folder = temporaryFolder();` in a suite. */
export function temporaryFolder(): { readonly path: string } {
  const folder = { path: "" };
  let held: TemporaryFolder | undefined;
  beforeEach(async () => {
    held = await TemporaryFolder.make();
    folder.path = held.path;
  });
  afterEach(() => held?.[Symbol.asyncDispose]());
  return folder;
}
