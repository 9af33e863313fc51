import assert from "node:assert/strict";
import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { utcDay } from "../../src/contract/limits.ts";
import { replaceFile } from "../../src/machine/privateFile.ts";
import { openDatabase } from "../../src/service/store/openDatabase.ts";
import { isAlive } from "../isAlive.ts";
import { fillDay } from "../service/fillDay.ts";
import { type Service, startedService, writtenPid } from "../service/startedService.ts";
import { ownService } from "./screen/ownService.ts";
import { quota } from "./screen/statusBar.ts";

/** A pipeline that is asked for two inputs. */
function deploy(step: string): string {
  return `inputs:
  region: { options: [eu, us], description: Whose prices are used }
  lamps: { type: number }
resources: { sh: { type: cli } }
steps: [{ name: ${step}, use: sh, run: "true" }]
`;
}

describe("the main job, in VS Code", () => {
  let other: Service;
  const at = ownService(async (workspace, held) => {
    other = held.use(await startedService());
    await writeFile(
      join(workspace, "pipelines/stage.yaml"),
      'resources: { sh: { type: cli } }\nsteps: [{ use: sh, run: \'[ "$STAGE" = "the window" ]\' }]\n',
    );
    await writeFile(join(workspace, "pipelines/deploy.yaml"), deploy("was asked for"));
    return { extension: "checkout", env: { STAGE: "the window" } };
  });

  const status = (text: string) => at.window.statusBar.waitForText(quota, new RegExp(`^${text}$`));
  const usedNow = () => at.window.statusBar.used();
  const used = (count: number) => at.window.statusBar.waitForUsed(count);
  const command = (title: string) => at.window.quickInput.runCommand(`Pipeline Runs: ${title}`);
  const start = async (pipeline: string) => {
    await command("Run Pipeline…");
    await at.window.quickInput.pick(pipeline);
  };
  const toast = (message: RegExp) => at.window.notifications.toast(message);

  it("[contract, The extension: status bar] shows the day's quota as soon as a window with pipelines opens", async () => {
    await used(0);
  });

  it("runs a pipeline from the palette, tells its end, and moves the number", async () => {
    const before = await usedNow();
    await start("hello");
    await at.window.statusBar.waitForMessage(/hello succeeded in [\d.]+ m?s/);
    await used(before + 1);
    assert.deepEqual(await at.window.notifications.toasts(), [], "a success asks for no attention");
    await start("fails");
    const failure = await toast(/^fails failed: only: exited with 3, expected 0: it is broken$/);
    assert.deepEqual(await failure.buttons(), ["Open Log", "Run Again", "Don't Show Again"]);
    await used(before + 2);
  });

  it("gives a run the window's environment, which its service hasn't", async () => {
    await start("stage");
    await at.window.statusBar.waitForMessage(/stage succeeded/);
  });

  it("waits for the slot with the seconds left and who holds it, until Stop Waiting, which uses no run", async () => {
    const before = await usedNow();
    await start("long");
    await used(before + 1);
    await start("hello");
    const wait = await toast(/^hello is waiting for long \(your run\) to finish; gives up in 1\d\d s$/);
    await status(`${before + 1} of 50 runs used today · waiting; gives up in 1\\d\\d s`);
    await command("Stop Waiting");
    await wait.waitUntilGone();
    await used(before + 1);
    await command("Cancel My Runs");
    await toast(/^long: cancelled\.$/);
  });

  it("asks for a run's inputs, and runs what was asked for, although the file is edited while it waits", async () => {
    const before = await usedNow();
    await start("long");
    await used(before + 1);
    const { quickInput } = at.window;
    await start("deploy");
    await quickInput.waitForTitle("Run deploy: region (1/2)");
    await quickInput.dismiss();
    await start("deploy");
    await quickInput.pick("us");
    await quickInput.waitForTitle("Run deploy: lamps (2/2)");
    await quickInput.type("many");
    await quickInput.waitForMessage("Enter a number.");
    await quickInput.type("3");
    await quickInput.accept();
    await toast(/^deploy is waiting for long /);
    await status(`${before + 1} of 50 runs used today · waiting; gives up in 1[01]\\d s`);
    await writeFile(join(at.workspace, "pipelines/deploy.yaml"), deploy("is another"));
    await command("Cancel My Runs");
    await at.window.statusBar.waitForMessage(/deploy with region=us, lamps=3 succeeded/);
    await used(before + 2);
    const { inputs, steps } = JSON.parse((await at.tool.run(["runs", "show", "--json"])).stdout);
    assert.deepEqual([inputs, steps.length, steps[0].name], [{ region: "us", lamps: 3 }, 1, "was asked for"]);
  });

  it("[contract, The extension: commands] cancels a run, and starts who waits in the moment its slot is released", async () => {
    const before = await usedNow();
    await start("long");
    const holder = await writtenPid(join(at.workspace, "pid"));
    await start("hello");
    await toast(/^hello is waiting for long /);
    await command("Cancel Run…");
    // The only active run, and one's own: nothing is asked. What the status bar says stands for some seconds only.
    await Promise.all([toast(/^long: cancelled\.$/), at.window.statusBar.waitForMessage(/hello succeeded/)]);
    assert(!isAlive(holder));
    await used(before + 2);
  });

  it("ends every run of one's own with Cancel My Runs, and says so when there is none", async () => {
    const before = await usedNow();
    await at.window.quickInput.runCommand("Notifications: Clear All Notifications");
    await start("long");
    await used(before + 1);
    await command("Cancel My Runs");
    await toast(/^long: cancelled\.$/);
    await command("Cancel My Runs");
    await toast(/^You have no active runs\.$/);
    // What npm start says to type still leads to it first, although other commands were used since.
    const [first] = await at.window.quickInput.commandsFor("Run Pipeline");
    assert.equal(first, "Pipeline Runs: Run Pipeline…");
  });

  it("[contract, The extension: refusal] shows a used-up day as a refusal with its hint and Retry, which asks again and uses no run", async () => {
    await fillDay(at.tool.data, 50 - (await usedNow()));
    // The editor shows no fourth toast within 800 ms, and the test before showed some.
    await at.window.reload();
    await used(50);
    await start("hello");
    const refusal =
      /^hello was not started: today's 50 runs are used up\. The count starts again at 00:00 UTC( \(.+ your time\))?, in .+\. Hint: pipeline run hello, from then on\.$/;
    const refused = await toast(refusal);
    assert.deepEqual(await refused.buttons(), ["Retry", "Retry at 00:00 UTC", "What Counts as a Run?"]);
    await used(50);
    await refused.answer("Retry");
    await toast(refusal);
    const told = (await at.window.notifications.toasts()).filter((text) => text.startsWith("hello was not"));
    assert.equal(told.length, 1);
    await used(50);
  });

  it("gives a start that was put off until 00:00 UTC the environment of the window that makes it, and stores none", async () => {
    await start("stage");
    await (await toast(/^stage was not started: /)).press("Retry at 00:00 UTC");
    await status("50 of 50 runs used today · stage at 00:00 UTC");
    const folder = at.window.dataFolder;
    const names = await readdir(folder, { recursive: true });
    const file = join(folder, names.find((name) => /put-off.*\.json$/.test(name)) ?? "");
    const stored = await readFile(file, "utf8");
    assert.doesNotMatch(stored, /the window/);
    // Midnight comes: the runs are another day's, and the start is due.
    await using db = await openDatabase(at.tool.data);
    await db
      .updateTable("runs")
      .set({ day: utcDay(Date.now() - 86_400_000) })
      .execute();
    // The window's clock is the machine's, also where the other processes of the tests live at another time.
    const { mtimeMs: now } = await stat(file);
    // At once: the window that is there would take half a file for a start that was cancelled, and then the whole for a new one.
    await replaceFile(file, JSON.stringify({ ...JSON.parse(stored), resetAt: now, dueAt: now }));
    await at.window.reload();
    await at.window.statusBar.waitForMessage(/stage succeeded/);
    await used(1);
  });

  it("takes a key for the service that a setting names, keeps only one that it accepts, and has it after a reload", async () => {
    const { secret } = await other.key();
    await at.window.writeSettings({ "pipelineRuns.baseUrl": other.url });
    await status("(Pipeline Runs: )?no API key");
    await at.window.setApiKey("plr_wrong");
    const wrong = await toast(/^The API key was not saved: .+ doesn't accept it\.$/);
    await wrong.press("Try Again");
    await at.window.enterApiKey(secret);
    await toast(/^The API key is set: acme, at http:/);
    await used(0);
    await at.window.reload();
    await used(0);
  });
});
