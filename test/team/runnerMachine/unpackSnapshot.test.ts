import assert from "node:assert/strict";
import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { execa } from "execa";
import { Header, type HeaderData } from "tar";
import { unpackSnapshot } from "../../../src/team/runnerMachine/unpackSnapshot.ts";
import { itOn } from "../../itOn.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";

const never = new AbortController().signal;

describe("a project's files at a runner", () => {
  it("are unpacked with their folders and whether they are programs", async () => {
    await using place = await Place.make();
    await place.unpack([
      { path: "./pipelines/hello.yaml", content: "steps: []\n" },
      { path: "bin/tool.sh", content: "#!/bin/sh\n", mode: 0o755 },
    ]);
    assert.equal(await readFile(join(place.into, "pipelines/hello.yaml"), "utf8"), "steps: []\n");
    assert.equal((await stat(join(place.into, "bin/tool.sh"))).mode & 0o111, 0o111);
  });

  const hostile: Readonly<Record<string, Entry>> = {
    "a path upwards": { path: "../escaped", content: "x" },
    "a path upwards further in": { path: "a/b/../../../escaped", content: "x" },
    "an absolute path": { path: "/escaped", content: "x" },
    "a path of another drive": { path: "C:\\escaped", content: "x" },
    "a symbolic link": { path: "link", type: "SymbolicLink", linkpath: ".." },
    "a hard link": { path: "link", type: "Link", linkpath: "../secret" },
    "a device": { path: "zero", type: "CharacterDevice", devmaj: 1, devmin: 5 },
    "a block device": { path: "disk", type: "BlockDevice", devmaj: 8, devmin: 0 },
    "a named pipe": { path: "pipe", type: "FIFO" },
    "a path of more folders than a project has": { path: `${"f/".repeat(70)}file` },
    "a file of more than a disk may take": { path: "huge", size: 2 * 1024 ** 3 },
  };
  for (const [what, entry] of Object.entries(hostile)) {
    it(`are refused with ${what}, and nothing gets out of the folder`, async () => {
      await using place = await Place.make();
      await assert.rejects(place.unpack([{ path: "good", content: "x" }, entry]), {
        type: "invalid-request",
      });
      assert.deepEqual(await readdir(place.outer), ["into", "secret"]);
      assert.equal(await readFile(join(place.outer, "secret"), "utf8"), "kept");
    });
  }

  it("are refused with a link that a later file would be written through", async () => {
    await using place = await Place.make();
    await assert.rejects(
      place.unpack([
        { path: "out", type: "SymbolicLink", linkpath: ".." },
        { path: "out/secret", content: "overwritten" },
      ]),
      { type: "invalid-request" },
    );
    assert.equal(await readFile(join(place.outer, "secret"), "utf8"), "kept");
  });

  it("are refused for the folders that few paths make, before those are on the disk", async () => {
    await using place = await Place.make();
    const nested = (top: string) => ({ path: `${top}/${"f/".repeat(20)}file`, content: "x" });
    const unpack = (files: number) =>
      unpackSnapshot(archiveOf(["a", "b"].map(nested)), place.into, never, { files, bytes: 1_000_000 });
    await assert.rejects(unpack(30), { type: "invalid-request", message: /more than 30 files and folders/ });
    assert.ok(!(await readdir(place.into)).includes("b"));
    await unpack(44);
  });

  const folder = (path: string): Entry => ({ path, type: "Directory" });
  const odd: Readonly<Record<string, readonly [Entry[], string[]]>> = {
    "one empty folder": [[folder("a/")], ["a"]],
    "folders alone": [
      [folder("a/"), folder("b/"), folder("a/c/")],
      ["a", "a/c", "b"],
    ],
    "the folder itself": [[folder("./")], []],
    "a file in the place of the folder itself": [[{ path: ".", content: "x" }], []],
    "a name first of a file, then of a folder": [[{ path: "a", content: "x" }, folder("a/")], ["a"]],
    "a name first of a folder, then of a file": [[folder("a/"), { path: "a", content: "x" }], ["a"]],
  };
  for (const [what, [entries, names]] of Object.entries(odd)) {
    it(`have an end with ${what} in them`, async () => {
      await using place = await Place.make();
      await place.unpack(entries);
      assert.deepEqual((await readdir(place.into, { recursive: true })).sort(), names);
    });
  }

  it("are refused once for many things that are wrong with them", async () => {
    await using place = await Place.make();
    const files = ["a", "a/b", "a/c", "", ""].map((path) => ({ path, content: "x" }));
    await assert.rejects(place.unpack(files), { type: "invalid-request" });
  });

  it("may be in 64 folders", async () => {
    await using place = await Place.make();
    await place.unpack([{ path: `${"f/".repeat(64)}file`, content: "x" }]);
    await assert.rejects(place.unpack([{ path: `${"g/".repeat(65)}file` }]), {
      message: /is in more than 64 folders/,
    });
  });

  it("count a folder that many files are in once", async () => {
    await using place = await Place.make();
    const files = Array.from({ length: 20 }, (_, at) => ({ path: `./a/b/c/${at}`, content: "x" }));
    const folders = ["./a/", "./a/b/", "./a/b/c/"].map((path) => ({ path, type: "Directory" as const }));
    await unpackSnapshot(archiveOf([...folders, ...files]), place.into, never, {
      files: 24,
      bytes: 1_000_000,
    });
    assert.equal((await readdir(join(place.into, "a/b/c"))).length, 20);
  });

  const bombs: Readonly<Record<string, () => Uint8Array>> = {
    "a file": () => archiveOf([{ path: "large", content: "x".repeat(2_000_000) }]),
    "what comes after the files": () => gzipSync(Buffer.alloc(2_000_000)),
    "an archive in the archive": () => gzipSync(gzipSync(Buffer.alloc(20_000_000))),
    "an archive of another kind in the archive": () => gzipSync(brotliCompressSync(Buffer.alloc(20_000_000))),
  };
  for (const [what, bomb] of Object.entries(bombs)) {
    it(`are refused where ${what} is a bomb, before it is on the disk or in memory`, async () => {
      await using place = await Place.make();
      const unpacking = unpackSnapshot(bomb(), place.into, never, { files: 10, bytes: 1_000_000 });
      await assert.rejects(unpacking, { type: "invalid-request" });
      for (const name of await readdir(place.into)) {
        assert.ok((await stat(join(place.into, name))).size <= 1_000_000);
      }
    });
  }

  itOn("linux", "aren't to blame where the disk takes no more folders", async () => {
    await using place = await Place.make();
    const mounted = await execa("mount", ["-t", "tmpfs", "-o", "nr_inodes=4", "none", place.into], {
      reject: false,
    });
    // Only root may do so.
    if (mounted.failed) return;
    try {
      const entries = ["a", "b", "c", "d", "e"].map((name) => ({ path: `${name}/b/c/file`, content: "x" }));
      await assert.rejects(place.unpack(entries), { code: "ENOSPC" });
    } finally {
      await execa("umount", [place.into]);
    }
  });

  it("are refused where they are no archive, or a part of one", async () => {
    await using place = await Place.make();
    const archive = archiveOf([{ path: "a", content: "x".repeat(100_000) }]);
    await assert.rejects(unpackSnapshot(archive.subarray(0, 60), place.into, never), {
      type: "invalid-request",
      next: "Start the run again from the project's folder.",
    });
  });
});

type Entry = Partial<Omit<HeaderData, "path">> & { readonly path: string; readonly content?: string };

/** An empty folder to unpack into, beside a file that must stay as it is. */
class Place implements AsyncDisposable {
  readonly outer: string;
  readonly into: string;
  readonly #folder: TemporaryFolder;

  private constructor(folder: TemporaryFolder) {
    this.#folder = folder;
    this.outer = folder.path;
    this.into = join(folder.path, "into");
  }

  static async make(): Promise<Place> {
    const place = new Place(await TemporaryFolder.make());
    await mkdir(place.into);
    await writeFile(join(place.outer, "secret"), "kept");
    return place;
  }

  unpack(entries: readonly Entry[]): Promise<void> {
    return unpackSnapshot(archiveOf(entries), this.into, never);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#folder[Symbol.asyncDispose]();
  }
}

/** A gzipped tar with exactly these headers, as no packing program would write them. */
function archiveOf(entries: readonly Entry[]): Uint8Array {
  const blocks = entries.flatMap(({ content = "", ...data }) => {
    const header = new Header({ type: "File", mode: 0o644, size: content.length, ...data });
    const block = Buffer.alloc(512);
    header.encode(block, 0);
    const padded = Buffer.alloc(Math.ceil(content.length / 512) * 512);
    padded.write(content);
    return [block, padded];
  });
  return gzipSync(Buffer.concat([...blocks, Buffer.alloc(1024)]));
}
