import assert from "node:assert/strict";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { findProject, findProjects, registerProject } from "../../src/client/project.ts";
import { ServiceClient } from "../../src/client/service/client.ts";
import { FakeClock } from "../clock/fakeClock.ts";
import { TemporaryFolder } from "../temporaryFolder.ts";
import { LoopbackService, sendError, sendJson, testKey } from "./loopbackService.ts";

const never = new AbortController().signal;

describe("a project", () => {
  it("is found from its root, from a folder deep in it, and from its pipelines", async () => {
    await using folder = await TemporaryFolder.make();
    const root = join(folder.path, "lamps");
    await mkdir(join(root, "src", "deep"), { recursive: true });
    await mkdir(join(root, "pipelines"));
    await writeFile(join(root, "pipelines", "nightly.yaml"), "steps: []\n");
    for (const from of [
      root,
      join(root, "src", "deep"),
      join(root, "pipelines"),
      join(root, "not", "there"),
    ]) {
      assert.deepEqual(await findProject(from), { name: "lamps", root });
    }
  });

  it("is the nearest one upward", async () => {
    await using folder = await TemporaryFolder.make();
    const inner = join(folder.path, "inner");
    for (const root of [folder.path, inner]) {
      await mkdir(join(root, "pipelines"), { recursive: true });
      await writeFile(join(root, "pipelines", "a.yaml"), "");
    }
    assert.equal((await findProject(inner))?.root, inner);
    assert.equal((await findProject(folder.path))?.name, basename(folder.path));
  });

  it("is not a folder whose pipelines hold no pipeline file", async () => {
    await using folder = await TemporaryFolder.make();
    await mkdir(join(folder.path, "pipelines", "folder.yaml"), { recursive: true });
    await writeFile(join(folder.path, "pipelines", "notes.txt"), "");
    assert.equal(await findProject(folder.path), undefined);
  });
});

describe("the projects of several folders", () => {
  it("are each there once, also a project that is opened by a link too, under the first name", async () => {
    await using folder = await TemporaryFolder.make();
    const [lamps, link, other] = ["lamps", "link", "other"].map((name) => join(folder.path, name));
    assert(lamps !== undefined && link !== undefined && other !== undefined);
    for (const root of [lamps, other]) {
      await mkdir(join(root, "pipelines"), { recursive: true });
      await writeFile(join(root, "pipelines/a.yaml"), "");
    }
    await symlink(lamps, link, "junction");
    assert.deepEqual(await findProjects([link, lamps, join(lamps, "pipelines"), other, folder.path]), [
      { name: "link", root: link, folder: link },
      { name: "other", root: other, folder: other },
    ]);
  });
});

describe("telling the service of a project", () => {
  it("tells the folder as it was opened, and keeps it, under the service's name and with its path", async () => {
    const there = { name: "lamps", root: "/srv/lamps" };
    await using service = await LoopbackService.listen((_, response) => sendJson(response, 200, there));
    const opened = { name: "link", root: "/home/me/link" };
    const known = await registerProject(service.client(new FakeClock()), opened, never);
    assert.deepEqual(known, { name: "lamps", root: opened.root, servedRoot: there.root });
    assert.deepEqual(JSON.parse(service.asked[0]?.body ?? ""), { root: opened.root });
  });

  const project = { name: "two words", root: "/home/me/two words" };

  it("sends its root to a service on this machine", async () => {
    await using service = await LoopbackService.listen((_, response) => sendJson(response, 200, project));
    await registerProject(service.client(new FakeClock()), project, never);
    const [asked] = service.asked;
    assert.equal(`${asked?.method} ${asked?.path}`, "PUT /api/projects/two%20words");
    assert.deepEqual(JSON.parse(asked?.body ?? ""), { root: project.root });
  });

  it("is let be where the service has no projects", async () => {
    for (const status of [404, 405]) {
      await using service = await LoopbackService.listen(
        (_, response) => void response.writeHead(status).end(),
      );
      await registerProject(service.client(new FakeClock()), project, never);
      assert.equal(service.asked.length, 1);
    }
  });

  it("is let be where the service has another word for that", async () => {
    await using service = await LoopbackService.listen((_, response) =>
      sendError(response, 404, "not-found"),
    );
    assert.deepEqual(await registerProject(service.client(new FakeClock()), project, never), project);
  });

  it("passes on what the service has against it", async () => {
    await using service = await LoopbackService.listen((_, response) => sendError(response, 409, "conflict"));
    const told = registerProject(service.client(new FakeClock()), project, never);
    await assert.rejects(told, { type: "conflict" });
  });

  it("passes on what the service can't do just now", async () => {
    await using service = await LoopbackService.listen((_, response) =>
      sendError(response, 500, "internal", "The disk is full."),
    );
    const told = registerProject(service.client(new FakeClock()), project, never);
    await assert.rejects(told, { type: "internal", message: "The disk is full." });
  });

  it("is let be where that is refused, as to a viewer's key", async () => {
    await using service = await LoopbackService.listen((_, response) =>
      sendError(response, 403, "forbidden"),
    );
    assert.deepEqual(await registerProject(service.client(new FakeClock()), project, never), project);
    assert.equal(service.asked.length, 1);
  });

  it("tells a service elsewhere nothing about this machine", async () => {
    const fetch = (): never => assert.fail("asked");
    const baseUrl = new URL("https://pipelines.example.com/");
    await registerProject(new ServiceClient({ baseUrl, apiKey: testKey, fetch }), project, never);
  });
});
