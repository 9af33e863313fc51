import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A new empty folder that is removed, with all in it, when it is disposed. */
export class TemporaryFolder implements AsyncDisposable {
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  static async make(prefix = "pipeline-runs-test"): Promise<TemporaryFolder> {
    return new TemporaryFolder(await realpath(await mkdtemp(join(tmpdir(), `${prefix}-`))));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.path, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  }
}

/** A folder of each test's own, for a suite: `const folder = temporaryFolder();`. */
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
