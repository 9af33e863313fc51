import type { TreeItem } from "vscode";
import { ServiceClient } from "../../../src/client/service/client.ts";
import { parseBaseUrl } from "../../../src/client/service/request.ts";
import type { Run } from "../../../src/contract/run.ts";
import { RunList } from "../../../src/extension/session/runList.ts";
import type { OrgReading, SessionState } from "../../../src/extension/session/serviceConnection.ts";
import type { Row } from "../../../src/extension/views/runRow.ts";
import { ContextKeys } from "../../../src/extension/views/welcome.ts";
import { Emitter, ObservableValue } from "../../../src/extension/window/observable.ts";
import type { LoopbackService } from "../../client/loopbackService.ts";
import { FakeClock } from "../../clock/fakeClock.ts";
import { org } from "../status/facts.ts";

export const log = { info: () => {}, warn: () => {} };

/** A view of the editor, which a test opens and closes. */
export class FakeView {
  message = "";
  description = "";
  /** Tells that the person has unfolded or folded an element. */
  readonly unfolded = new Emitter<{ element: never }>();
  readonly folded = new Emitter<{ element: never }>();
  onDidExpandElement = (listener: (event: { element: never }) => unknown) =>
    this.unfolded.subscribe(listener);
  onDidCollapseElement = (listener: (event: { element: never }) => unknown) =>
    this.folded.subscribe(listener);
  readonly #visibility = new Emitter<{ visible: boolean }>();
  #visible = false;

  get visible(): boolean {
    return this.#visible;
  }

  onDidChangeVisibility = (listener: (event: { visible: boolean }) => unknown) =>
    this.#visibility.subscribe(listener);

  show(visible = true): void {
    this.#visible = visible;
    this.#visibility.emit({ visible });
  }
}

/** What the views need, around a real server on loopback: a currentClient session, the list of runs, and a clock that stands still. */
export function viewBench(service: LoopbackService) {
  const currentClient = new ServiceClient({ baseUrl: parseBaseUrl(service.origin), apiKey: "plk_key" });
  const state = new ObservableValue<SessionState>({ kind: "idle" });
  const runChanged = new Emitter<Run>();
  let watched = 0;
  const session = {
    state,
    reading: new ObservableValue<OrgReading | undefined>(undefined),
    runChanged,
    currentClient,
    watch: () => {
      watched += 1;
      state.set({ kind: "live", org, activeRuns: [] });
    },
  };
  const contexts = new Map<unknown, unknown>();
  const clock = new FakeClock();
  const ended = new AbortController();
  return {
    session,
    org,
    clock,
    ended,
    get watched() {
      return watched;
    },
    runs: new RunList({ session, log }),
    tell: (run: Run) => runChanged.emit(run),
    contexts: {
      shown: contexts,
      keys: new ContextKeys(async (_, key, value) => void contexts.set(key, value)),
    },
    /** Rows in place of the editor's own objects. */
    items: { treeItem: (row: Row) => row as never, markdown: (lines: unknown) => lines as never },
  };
}

/** The row that a view has given in place of the editor's own object. */
export function asRow(item: TreeItem): Row {
  return item as never;
}

/** Resolves as soon as the condition holds, which is looked at in each turn of the event loop. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}
