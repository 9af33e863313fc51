import { mkdir } from "node:fs/promises";
import { basename, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as pause } from "node:timers/promises";
import { findProcesses } from "../../../scripts/process/findProcesses.ts";
import { vsixFile } from "../../../scripts/projectRoot.ts";
import { readConnection } from "../../../src/client/embedded/connectionFile.ts";
import { ServiceClient } from "../../../src/client/service/client.ts";
import { utcDay } from "../../../src/contract/time.ts";
import { runMarker } from "../../../src/service/runner/processes/processTable.ts";
import { EditorWindow } from "../../editor/screen/editorWindow.ts";
import { testWorkspace } from "../../editor/screen/workspace.ts";
import { ServedEditor } from "../../editor/served/servedEditor.ts";
import { endProcessesOf } from "../../endProcessesOf.ts";
import type { Round } from "../round.ts";
import type { EditorAct } from "./acts.ts";
import { leaksIn } from "./leaks.ts";

const quota = "pipeline-runs.pipeline-runs.quota";
const titles = { run: "Pipeline Runs: Run Pipeline…", mine: "Pipeline Runs: Cancel My Runs" } as const;
/** The window has to say the truth again within so long, in milliseconds; a round may take longer than all that. */
const patience = 90_000;

interface Row {
  readonly id: string;
  readonly day: string;
  readonly isEnded: boolean;
}

/** Attacks an editor by kill -9 of what it is made of, as its user goes on using it. */
export class EditorChaos implements AsyncDisposable {
  readonly #round: Round;
  readonly #editor: ServedEditor;
  readonly #window: EditorWindow;
  readonly #data: string;
  readonly #held: AsyncDisposableStack;
  readonly #tokens = new Set<string>();
  #starts = 0;
  #isPutOff = false;
  /** Until something of it was killed or loaded anew: what is killed next may not be there again yet. */
  #isWhole = true;

  private constructor(round: Round, editor: ServedEditor, data: string, held: AsyncDisposableStack) {
    this.#round = round;
    this.#editor = editor;
    this.#window = new EditorWindow(editor);
    this.#data = data;
    this.#held = held;
  }

  static async begin(round: Round): Promise<EditorChaos> {
    await using held = new AsyncDisposableStack();
    const data = join(round.folder, "data");
    await mkdir(data, { mode: 0o700 });
    const workspace = held.use(await testWorkspace());
    held.defer(() => endProcessesOf(data));
    const editor = held.use(
      await ServedEditor.start(
        {
          smoke: false,
          vsix: vsixFile,
          folder: workspace.path,
          env: { ...round.environment, PIPELINE_DATA_DIR: data },
        },
        round.signal,
      ),
    );
    // A machine that does other things as well takes its time to load all of VS Code.
    editor.page.setDefaultNavigationTimeout(patience);
    const chaos = new EditorChaos(round, editor, data, held.move());
    try {
      await chaos.#window.open();
      await chaos.#tells(/^\s*0 of 50 runs used today$/);
    } catch (error) {
      await chaos[Symbol.asyncDispose]();
      throw error;
    }
    return chaos;
  }

  async make(act: EditorAct): Promise<void> {
    const { quickInput } = this.#window;
    switch (act.act) {
      case "run":
        await this.#asUser(async () => {
          await quickInput.runCommand(titles.run);
          await quickInput.waitForRow(act.pipeline);
          this.#starts += 1;
          this.#round.count("starts");
          await quickInput.pick(act.pipeline);
        });
        break;
      case "cancel mine":
        await this.#asUser(() => quickInput.runCommand(titles.mine));
        break;
      case "put off":
        await this.#asUser(async () => {
          await quickInput.runCommand("Pipeline Runs: Retry at 00:00 UTC…");
          await quickInput.pick("hello");
          // From here on it is promised.
          await this.#window.notifications.toast(/^hello will start at 00:00 UTC/);
          this.#isPutOff = true;
        });
        break;
      case "kill host":
        await this.#kill((words) => words.includes("--type=extensionHost"));
        break;
      case "kill service": {
        await this.#noteToken();
        const connection = await readConnection(this.#data);
        // One that was killed just before may not be back yet.
        if (connection !== undefined) await this.#kill((_, pid) => pid === connection.pid, "if it lives");
        break;
      }
      case "kill editor":
        await this.#kill((words) => words.some((word) => /server-main\.js$|bootstrap-fork/.test(word)));
        await this.#editor.restartServer(this.#round.signal);
        await this.#window.open();
        break;
      case "reload":
        this.#isWhole = false;
        await this.#window.reload();
        break;
      case "pause":
        await pause(act.milliseconds);
        break;
      default:
        act satisfies never;
    }
    await this.#noteToken();
    const rows = this.#rows();
    this.#round.check(rows.length <= this.#starts, "a start has made two runs", {
      rows,
      starts: this.#starts,
    });
    const active = rows.filter(({ isEnded }) => !isEnded);
    this.#round.check(active.length <= 1, "more runs are active than may be", active);
  }

  /** The window tells the truth again, everything ends, and nothing is left. */
  async finish(): Promise<void> {
    const round = this.#round;
    await this.#comesBack();
    const client = await this.#client();
    const { folder: root } = this.#window;
    // No window may have made it known yet.
    await client.putProject(basename(root), root, round.signal);
    const probe = { waitSeconds: 120, idempotencyKey: `probe-${performance.now()}` };
    // A window may itself be waiting, and then goes first.
    const probing = client.start({ pipeline: "hello", project: basename(root) }, probe, round.signal);
    this.#starts += 1;
    await this.#endRuns(client, probing);
    round.checkSame((await probing).kind, "started", "a slot has leaked");
    await this.#tellsTheTruth();
    const rows = this.#rows();
    round.check(rows.length <= this.#starts, "a start has made two runs", { rows, starts: this.#starts });
    round.count("runs", rows.length);
    const ofRuns = await findProcesses({ PIPELINE_DATA_DIR: this.#data });
    round.checkSame(
      ofRuns.filter(({ environment }) => environment.has(runMarker)).map(({ words }) => words.join(" ")),
      [],
      "a process has outlived its run",
    );
    const secrets = [...this.#tokens];
    const isItsOwn = (file: string) => file === join(this.#data, "service.json");
    for (const folder of [this.#data, this.#editor.dataFolder, this.#window.folder]) {
      round.checkSame(await leaksIn(folder, secrets, isItsOwn), [], "a key lies in a file");
    }
  }

  /** Cancels what is active, until `last` is settled and nothing is active any more. */
  async #endRuns(client: ServiceClient, last: Promise<unknown>): Promise<void> {
    let isLast = false;
    const settled = () => {
      isLast = true;
    };
    last.then(settled, settled);
    for (;;) {
      this.#round.signal.throwIfAborted();
      const active = this.#rows().filter(({ isEnded }) => !isEnded);
      if (isLast && active.length === 0) return;
      for (const { id } of active) await client.cancel(id, this.#round.signal);
      await pause(100);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#round.faults.length > 0)
      await this.#window.keepTrace(`faults editor ${this.#round.folder}`).catch(() => {});
    await this.#held.disposeAsync();
  }

  /** What a user does may go amiss when a part of the editor was just killed: then the window is looked at, and he tries no more. */
  async #asUser(act: () => Promise<void>): Promise<void> {
    try {
      await act();
    } catch (error) {
      this.#round.trace("not done", String(error).slice(0, 300));
      await this.#comesBack();
    }
  }

  async #kill(
    isIt: (words: readonly string[], pid: number) => boolean,
    when: "if it lives" | "once it lives" = "once it lives",
  ): Promise<void> {
    const find = async () =>
      (await findProcesses({ ...this.#round.environment, PIPELINE_DATA_DIR: this.#data })).filter(
        ({ words, pid }) => isIt(words, pid),
      );
    const deadline = performance.now() + patience / 9;
    let killed = await find();
    while (when === "once it lives" && killed.length === 0 && performance.now() < deadline) {
      await pause(100, undefined, { signal: this.#round.signal });
      killed = await find();
    }
    for (const { pid } of killed) {
      try {
        process.kill(pid, "SIGKILL");
        this.#round.count("kills");
      } catch {
        // It has ended meanwhile.
      }
    }
    this.#round.trace(
      "killed",
      killed.map(({ words }) => words.slice(0, 4).join(" ")),
    );
    if (this.#isWhole) this.#round.check(killed.length > 0, "there was nothing to kill");
    this.#isWhole = false;
  }

  /**
   * VS Code begins its extension host anew by itself, three times; then it asks, and its user has the window loaded again.
   */
  async #comesBack(): Promise<void> {
    await this.#window.quickInput.dismiss().catch(() => {});
    try {
      await this.#tellsTheTruth(patience / 3);
    } catch (error) {
      this.#round.trace("the window is loaded anew", String(error).slice(0, 300));
      await this.#window.reload();
      await this.#tellsTheTruth();
    }
  }

  /** The status bar reads as the rows are, whether a start waits or is put off, or not. */
  async #tellsTheTruth(milliseconds = patience): Promise<void> {
    const deadline = performance.now() + milliseconds;
    for (;;) {
      this.#round.signal.throwIfAborted();
      const today = this.#rows().filter(({ day }) => day === utcDay(Date.now())).length;
      const later = this.#isPutOff ? "(?: · .*)?hello at 00:00 UTC" : "";
      const wanted = new RegExp(
        `^\\s*${today} of 50 runs used today(?: · .*)?${later === "" ? "" : `.*${later}`}$`,
      );
      try {
        await this.#tells(wanted, 5_000);
        return;
      } catch (error) {
        if (performance.now() > deadline) throw error;
      }
    }
  }

  async #tells(pattern: RegExp, milliseconds = patience): Promise<void> {
    await this.#window.statusBar.waitForText(quota, pattern, milliseconds);
    this.#round.check(true, "");
  }

  #rows(): Row[] {
    const sqlite = new DatabaseSync(join(this.#data, "runs.db"), { readOnly: true });
    try {
      sqlite.exec("pragma busy_timeout = 5000");
      return sqlite
        .prepare("select id, day, stopped_at from runs order by id")
        .all()
        .map((row) => ({
          id: String(row["id"]),
          day: String(row["day"]),
          isEnded: row["stopped_at"] !== null,
        }));
    } finally {
      sqlite.close();
    }
  }

  /** The token of this start of the service, which is nobody's to know. */
  async #noteToken(): Promise<void> {
    const connection = await readConnection(this.#data);
    if (connection !== undefined) this.#tokens.add(connection.token);
  }

  async #client(): Promise<ServiceClient> {
    await this.#noteToken();
    const connection = await readConnection(this.#data);
    if (connection === undefined) throw new Error("no service is to be found");
    return new ServiceClient({ baseUrl: new URL(`${connection.url}/`), apiKey: connection.token });
  }
}
