import assert from "node:assert/strict";
import { cgroupMounts, ownCgroup } from "../../../src/runner/processes/runCgroups.ts";

const unified = "31 23 0:28 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate";
const hybrid = [
  "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755",
  "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory",
  "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw",
].join("\n");

describe("this process's own cgroup", () => {
  it("is where a desktop session's systemd has put it", () => {
    const own = "/user.slice/user-1000.slice/user@1000.service/app.slice/app-code-7.scope";
    assert.equal(ownCgroup(unified, `0::${own}\n`), `/sys/fs/cgroup${own}`);
  });

  it("is in the v2 hierarchy where the ones of v1 stand beside it", () => {
    assert.equal(ownCgroup(hybrid, "4:memory:/elsewhere\n0::/\n"), "/sys/fs/cgroup/unified");
    assert.deepEqual(cgroupMounts(hybrid), [{ folder: "/sys/fs/cgroup/unified", root: "/" }]);
  });

  it("is told from the part of the hierarchy that is mounted", () => {
    const part = "31 23 0:28 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw";
    assert.equal(ownCgroup(part, "0::/docker/abc/in\n"), "/sys/fs/cgroup/in");
    assert.equal(ownCgroup(part, "0::/docker/other\n"), undefined);
    assert.equal(ownCgroup(unified, "0::/../../other\n"), undefined);
  });

  it("is none where there is only v1, or nothing mounted", () => {
    assert.equal(ownCgroup(unified, "4:memory:/\n"), undefined);
    assert.equal(ownCgroup("", "0::/\n"), undefined);
  });

  it("is found below a folder whose name has a space", () => {
    assert.equal(ownCgroup("31 23 0:28 / /my\\040cgroups rw - cgroup2 x rw", "0::/a\n"), "/my cgroups/a");
  });
});
