import { join } from "node:path";
import * as vscode from "vscode";
import { connectEmbedded } from "../../client/embedded/connectEmbedded.ts";
import type { ConnectDeps } from "../../client/embedded/serviceProcess.ts";
import { systemClock } from "../../machine/clock.ts";
import { dataFolder } from "../../machine/dataFolder.ts";
import type { ServiceChoice } from "../keys/serviceChoice.ts";
import { ObservableValue } from "../window/observable.ts";
import type { Own } from "../window/own.ts";
import { refuseVirtual } from "./clientOf.ts";
import { Session } from "./session.ts";

/** This machine's own service, which is a process of its own. */
export function ownServiceOf(extensionPath: string): ConnectDeps {
  return {
    folder: dataFolder(process.env),
    execPath: process.execPath,
    servicePath: join(extensionPath, "dist", "service.js"),
    env: process.env,
  };
}

/** This window's session: with its focus, and with this machine's own service. */
export function composeSession(
  ownService: () => ConnectDeps,
  choice: ServiceChoice,
  log: vscode.LogOutputChannel,
  own: Own,
): Session {
  const isFocused = new ObservableValue(vscode.window.state.focused);
  own(
    vscode.window.onDidChangeWindowState(({ focused }) => {
      if (focused !== isFocused.value) isFocused.set(focused);
    }),
  );
  return new Session({
    target: () => choice.target(),
    keys: choice,
    isFocused,
    embedded: async (until, start) => {
      refuseVirtual(vscode.workspace.workspaceFolders);
      return (await connectEmbedded({ ...ownService(), start }, until)).client;
    },
    clock: systemClock,
    log,
  });
}
