import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { connectEmbedded } from "../../../src/client/embedded/connectEmbedded.ts";
import { findEmbedded } from "../../../src/client/embedded/findEmbedded.ts";
import { stopEmbedded } from "../../../src/client/embedded/startEmbedded.ts";
import {
  connectionFile,
  isStopped,
  ServiceStopped,
  setStopped,
} from "../../../src/machine/connectionFile.ts";
import { startedService } from "../../service/startedService.ts";
import { LoopbackService, sendError, sendJson } from "../loopbackService.ts";
import { standInFor } from "./standIn.ts";

const never = new AbortController().signal;

describe("an embedded service that a person has stopped", () => {
  it("is started by nobody who only needs it, and by who asks", async () => {
    await using standIn = await standInFor();
    await mkdir(standIn.folder, { recursive: true });
    await setStopped(standIn.folder, true);
    await assert.rejects(connectEmbedded(standIn.deps(), never), ServiceStopped);
    await assert.rejects(connectEmbedded(standIn.deps({ start: "needed" }), never), {
      type: "out-of-reach",
      next: /pipeline run/,
    });
    assert.deepEqual(standIn.pids, []);
    const { connection } = await connectEmbedded(standIn.deps({ start: "asked" }), never);
    assert.equal(connection.pid, standIn.pids[0]);
    assert.equal(isStopped(standIn.folder), false);
  });

  it("is told so to who asked just before for a start that has not begun yet", async () => {
    await using standIn = await standInFor(
      'import { writeFileSync } from "node:fs"; writeFileSync("service.stopped", "");',
    );
    await assert.rejects(connectEmbedded(standIn.deps({ start: "asked" }), never), ServiceStopped);
  });

  it("is used by everyone while it answers, whatever the file says", async () => {
    await using standIn = await standInFor();
    const first = await connectEmbedded(standIn.deps(), never);
    await setStopped(standIn.folder, true);
    const second = await connectEmbedded(standIn.deps(), never);
    assert.equal(second.connection.instance, first.connection.instance);
    assert.equal(standIn.pids.length, 1);
  });

  it("leaves when it is asked to, and is marked before that", async () => {
    await using service = await startedService();
    const found = await findEmbedded({ folder: service.data }, never);
    const ended = await stopEmbedded({ folder: service.data }, never);
    assert.equal(ended?.was.connection.instance, found?.connection.instance);
    assert.deepEqual(ended?.state.runs, []);
    await service.stop();
    assert(isStopped(service.data));
  });

  it("is named by its process where it is too old to be asked", async () => {
    await using older = await LoopbackService.listen(({ path }, response) => {
      if (path === "/healthz") sendJson(response, 200, { ok: true, instance: "older" });
      else sendError(response, 404, "not-found", "There is no such thing here.");
    });
    await using standIn = await standInFor();
    await mkdir(standIn.folder, { recursive: true });
    const connection = { url: older.origin, pid: 4711, token: "t", instance: "older" };
    await writeFile(connectionFile(standIn.folder), JSON.stringify(connection));
    await assert.rejects(stopEmbedded(standIn.deps(), never), {
      type: "not-supported",
      message: /process 4711.*older version/,
      next: /End that process/,
    });
    // So that no window brings it back once it is ended.
    assert(isStopped(standIn.folder));
  });

  it("stays away also where none ran, or has ever run", async () => {
    await using standIn = await standInFor();
    assert.equal(existsSync(standIn.folder), false);
    assert.equal(await stopEmbedded(standIn.deps(), never), undefined);
    await assert.rejects(connectEmbedded(standIn.deps(), never), ServiceStopped);
  });
});
