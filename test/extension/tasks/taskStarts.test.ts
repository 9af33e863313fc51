import assert from "node:assert/strict";
import type { TaskDefinition, TaskExecution } from "vscode";
import { TaskStarts } from "../../../src/extension/tasks/taskDefinition.ts";

const definitionOf = (pipeline: string): TaskDefinition => ({ type: "pipeline", pipeline });
const startOf = (definition: TaskDefinition) => ({ task: { definition } }) as TaskExecution;

describe("the starts of tasks", () => {
  it("are each of the task that the editor names, in whichever order", async () => {
    const starts = new TaskStarts();
    const begun = ["a", "b", "a"].map((name) => starts.begin(definitionOf(name)));
    const [first, second, third] = ["b", "a", "a"].map((name) => startOf(definitionOf(name)));
    assert(first !== undefined && second !== undefined && third !== undefined);
    for (const execution of [first, second, third]) starts.note(execution);
    const found = await Promise.all(begun.map((task) => task()));
    assert(found[0] === second.task && found[1] === first.task && found[2] === third.task);
  });

  it("are of the task that is named next where variables of its definition were replaced", async () => {
    const starts = new TaskStarts();
    const begun = starts.begin({ ...definitionOf("a"), inputs: { folder: "/shop" } });
    const execution = startOf({ ...definitionOf("a"), inputs: { folder: "$" } });
    starts.note(execution);
    assert.equal(await begun(), execution.task);
  });

  it("are of an unknown task while the execution that the editor names is active", async () => {
    const starts = new TaskStarts();
    const [first, second, third] = ["a", "a", "a"].map((name) => starts.begin(definitionOf(name)));
    const execution = startOf(definitionOf("a"));
    starts.note(execution);
    starts.note(execution);
    starts.end(execution);
    starts.note(execution);
    assert.deepEqual(await Promise.all([first?.(), second?.(), third?.()]), [
      execution.task,
      "unknown",
      execution.task,
    ]);
  });

  it("go on where the editor names no task", async () => {
    const starts = new TaskStarts();
    starts.note(startOf(definitionOf("another extension's")));
    assert.equal(await starts.begin(definitionOf("a"))(), undefined);
  });
});
