import assert from "node:assert/strict";
import { mkdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { TemporaryFolder } from "../../temporaryFolder.ts";
import { ended, programPipeline, started, startedService } from "../startedService.ts";

const never = new AbortController().signal;

describe("the projects of a service on this machine", () => {
  it("give the second folder of one name a name of its own, and keep it", async () => {
    await using service = await startedService();
    await using other = await TemporaryFolder.make();
    const { client } = await service.member();
    const first = await client.putProject("app", service.project.root, never);
    const second = await client.putProject("app", other.path, never);
    assert.deepEqual([first.name, second.name], ["app", "app-2"]);
    assert.equal((await client.putProject("app", other.path, never)).name, "app-2");
    assert.equal((await client.putProject("app", service.project.root, never)).name, "app");
    const link = join(other.path, "link");
    await symlink(other.path, link, "junction");
    assert.equal((await client.putProject("app", link, never)).name, "app-2");
  });

  it("give the name of a folder that is gone to the next one", async () => {
    await using service = await startedService();
    await using folder = await TemporaryFolder.make();
    const client = service.client((await service.key()).secret);
    const [gone, there] = [join(folder.path, "gone"), join(folder.path, "there")];
    await mkdir(gone);
    await mkdir(there);
    await client.putProject("app", gone, never);
    await rm(gone, { recursive: true });
    assert.deepEqual(await client.putProject("app", there, never), { name: "app", root: there });
  });

  it("are one for a folder and the links to it, under the name and folder that came first", async () => {
    await using service = await startedService();
    await using links = await TemporaryFolder.make();
    const folder = { name: "shop", root: service.project.root };
    const link = { name: "current", root: join(links.path, "current") };
    const above = { name: "shop", root: join(links.path, "above", basename(folder.root)) };
    await symlink(folder.root, link.root, "junction");
    await symlink(dirname(folder.root), dirname(above.root), "junction");
    for (const [first, ...others] of [
      [folder, link, above, folder],
      [link, folder, above, link],
      [above, link, folder, above],
    ] as const) {
      const { secret } = await service.key("member", `by ${first.root}`);
      const client = service.client(secret);
      for (const each of [first, ...others])
        assert.deepEqual(await client.putProject(each.name, each.root, never), first);
      const listed = await service.fetch("/api/projects", { headers: { "x-api-key": secret } });
      assert.deepEqual(await listed.json(), { projects: [first] });
    }
  });

  it("are one for a folder and a link that come at the same time", async () => {
    await using service = await startedService();
    await using links = await TemporaryFolder.make();
    const client = service.client((await service.key()).secret);
    const link = join(links.path, "current");
    await symlink(service.project.root, link, "junction");
    const put = await Promise.all([
      client.putProject("shop", service.project.root, never),
      client.putProject("current", link, never),
    ]);
    assert.deepEqual(put[0], put[1]);
  });

  it("keep the name that they are given besides", async () => {
    await using service = await startedService();
    const client = service.client((await service.key()).secret);
    const { root } = service.project;
    for (const name of ["shop", "nightly", "shop"])
      assert.deepEqual(await client.putProject(name, root, never), { name, root });
  });

  it("run by a link what it leads to at the start", async () => {
    await using service = await startedService();
    await using releases = await TemporaryFolder.make();
    const client = service.client((await service.key()).secret);
    const link = join(releases.path, "current");
    for (const release of ["r1", "r2"]) {
      const root = join(releases.path, release);
      await mkdir(join(root, "pipelines"), { recursive: true });
      const script = `require('node:fs').writeFileSync('ran', '${release}')`;
      await writeFile(join(root, "pipelines/deploy.yaml"), programPipeline(script));
      await rm(link, { force: true });
      await symlink(root, link, "junction");
      assert.deepEqual(await client.putProject("current", link, never), { name: "current", root: link });
      const run = await ended(client, await started(client, "deploy"));
      assert.equal(run.status, "succeeded", run.reason);
      assert.equal(await readFile(join(root, "ran"), "utf8"), release);
    }
    // Registered by its link before, which leads elsewhere now.
    const first = { name: "r1", root: join(releases.path, "r1") };
    assert.deepEqual(await client.putProject(first.name, first.root, never), first);
  });
});
