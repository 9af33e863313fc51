import { isMap } from "../checkShape.ts";
import type { StepReading } from "../readStep.ts";
import type { Action, SeenElements } from "./action.ts";
import { readAction, readSeenElements } from "./readAction.ts";

/** The lists of a browser step. */
export interface StepLists {
  readonly actions: readonly Action[];
  readonly elements: readonly SeenElements[];
}

/** Reads the lists of a step as far as they are right, also of a step that is wrong elsewhere. */
export function readLists(step: unknown, reading: StepReading): StepLists {
  const { path } = reading;
  const expect = part(step, "expect");
  return {
    actions: listOf(part(step, "actions")).flatMap(
      (entry, index) => readAction(entry, [...path, "actions", index], reading) ?? [],
    ),
    elements: listOf(part(expect, "elements")).flatMap(
      (entry, index) =>
        readSeenElements(entry, "an element", [...path, "expect", "elements", index], reading) ?? [],
    ),
  };
}

function part(value: unknown, name: string): unknown {
  return isMap(value) ? value[name] : undefined;
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
