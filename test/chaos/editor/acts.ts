import fc from "fast-check";

/** One thing that happens to an editor, or that its user does. */
export const editorAct = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      act: fc.constant("run" as const),
      pipeline: fc.constantFrom("hello", "long", "long"),
    }),
  },
  { weight: 2, arbitrary: fc.record({ act: fc.constant("cancel mine" as const) }) },
  { weight: 2, arbitrary: fc.record({ act: fc.constant("put off" as const) }) },
  { weight: 4, arbitrary: fc.record({ act: fc.constant("kill host" as const) }) },
  { weight: 3, arbitrary: fc.record({ act: fc.constant("kill service" as const) }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constant("kill editor" as const) }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constant("reload" as const) }) },
  { weight: 3, arbitrary: fc.record({ act: fc.constant("pause" as const), milliseconds: fc.nat(1500) }) },
);

export type EditorAct = typeof editorAct extends fc.Arbitrary<infer T> ? T : never;
