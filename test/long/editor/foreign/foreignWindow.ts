import assert from "node:assert/strict";
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { certificate } from "../../../certificate.ts";
import { toolbox } from "../../../cli/toolbox.ts";
import { LoopbackService, orgOnWire, sendJson } from "../../../client/loopbackService.ts";
import { ConnectProxy } from "../../../connectProxy.ts";
import type { EditorWindow } from "../../../editor/screen/editorWindow.ts";
import { screen } from "../../../editor/screen/screen.ts";
import { programPipeline } from "../../../service/startedService.ts";
import { TemporaryFolder } from "../../../temporaryFolder.ts";

/** A name that would be a link which runs a command, if it were not shown as it is. */
const hostileName = "[Fix it](command:workbench.action.closeWindow) <img src=x> $(bug)";

interface Surroundings {
  /** Holds the workspace, and what its script leaves if it is run. */
  readonly parent: string;
  readonly workspace: string;
  /** The folder of this machine's own service. */
  readonly data: string;
  /** How often the address that the workspace's settings name was asked for anything. */
  readonly caught: () => number;
  /** The one way to `https://service.test`, which only the machine's own certificates make trustworthy. */
  readonly proxy: ConnectProxy;
  readonly cloud: LoopbackService;
}

/** It is there once the first test begins. */
export interface ForeignWindow {
  readonly window: EditorWindow;
  readonly around: Surroundings;
}

/** A window on a workspace that means harm and isn't trusted at first, on a machine with a proxy and certificates of its own. */
export function foreignWindow(): ForeignWindow {
  let made: Surroundings | undefined;
  const window = screen(async (held) => {
    const { path: parent } = held.use(await TemporaryFolder.make());
    const workspace = join(parent, "[Run](command:workbench.action.closeWindow) $(bug)");
    let caught = 0;
    const trap = createServer((_, response) => {
      caught += 1;
      response.end();
    });
    held.defer(() => void trap.close());
    await new Promise<void>((resolve) => trap.listen(0, "127.0.0.1", resolve));
    await fill(workspace, `http://127.0.0.1:${(trap.address() as AddressInfo).port}`, join(parent, "trace"));
    const { data } = held.use(await toolbox());
    const authority = certificate({ host: "authority.test", isAuthority: true });
    const cloud = held.use(
      await LoopbackService.listen(
        (asked, response) => {
          if (asked.path === "/api/org") sendJson(response, 200, orgOnWire);
          else response.writeHead(404).end();
        },
        certificate({ host: "service.test", issuer: authority }),
      ),
    );
    const proxy = held.use(await ConnectProxy.listen(cloud.port));
    const authorities = join(parent, "authority.pem");
    await writeFile(authorities, authority.cert);
    made = { parent, workspace, data, caught: () => caught, proxy, cloud };
    return {
      folder: workspace,
      env: { PIPELINE_DATA_DIR: data, SSL_CERT_FILE: authorities },
      settings: {
        // The system's certificates as OpenSSL finds them, so that this machine's own need not be changed.
        "http.systemCertificatesNode": true,
        "http.proxy": `http://${proxy.host}`,
        "security.workspace.trust.startupPrompt": "never",
      },
      trustsAll: false,
    };
  });
  return {
    get window() {
      return window();
    },
    get around() {
      return made ?? assert.fail("it is made before the first test");
    },
  };
}

async function fill(workspace: string, url: string, trace: string): Promise<void> {
  await mkdir(join(workspace, "pipelines"), { recursive: true });
  await mkdir(join(workspace, ".vscode"));
  const evil = join(workspace, "evil");
  await writeFile(evil, `#!/bin/sh\ntouch "${trace}"\n`);
  await chmod(evil, 0o755);
  const settings = {
    "pipelineRuns.baseUrl": url,
    "pipelineRuns.cliPath": evil,
    "pipelineRuns.announce": "none",
  };
  await writeFile(join(workspace, ".vscode/settings.json"), JSON.stringify(settings));
  const fails = programPipeline(`console.log(${JSON.stringify(hostileName)}); process.exit(3)`);
  await writeFile(join(workspace, "pipelines/harm.yaml"), fails);
}
