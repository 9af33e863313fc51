import assert from "node:assert/strict";
import type { Task, TaskDefinition } from "vscode";
import { TaskStarts } from "../../../src/extension/tasks/taskStarts.ts";

const definitionOf = (pipeline: string): TaskDefinition => ({ type: "pipeline", pipeline });
const taskOf = (definition: TaskDefinition): Task => ({ definition }) as Task;

describe("the starts of tasks", () => {
  it("are each of the task that the editor names, in whichever order", async () => {
    const starts = new TaskStarts();
    const begun = ["a", "b", "a"].map((name) => starts.begin(definitionOf(name)));
    const [first, second, third] = ["b", "a", "a"].map((name) => taskOf(definitionOf(name)));
    assert(first !== undefined && second !== undefined && third !== undefined);
    for (const task of [first, second, third]) starts.note(task);
    const found = await Promise.all(begun.map((task) => task()));
    assert(found[0] === second && found[1] === first && found[2] === third);
  });

  it("are of the task that is named next where variables of its definition were replaced", async () => {
    const starts = new TaskStarts();
    const begun = starts.begin({ ...definitionOf("a"), inputs: { folder: "/shop" } });
    const task = taskOf({ ...definitionOf("a"), inputs: { folder: "$" } });
    starts.note(task);
    assert.equal(await begun(), task);
  });

  it("go on where the editor names no task", async () => {
    const starts = new TaskStarts();
    starts.note(taskOf(definitionOf("another extension's")));
    assert.equal(await starts.begin(definitionOf("a"))(), undefined);
  });
});
