import * as z from "zod/mini";

const manifestSchema = z.object({
  contributes: z.object({
    commands: z.array(z.object({ command: z.string() })),
    views: z.optional(z.record(z.string(), z.array(z.object({ id: z.string() })))),
  }),
});

/** Which commands the extension has, by its manifest: its own, and the editor's that show its views. */
export function contributed(manifest: unknown): (command: string) => boolean {
  const { contributes } = manifestSchema.parse(manifest, { jitless: true });
  const views = Object.values(contributes.views ?? {}).flat();
  const ids = new Set([
    ...contributes.commands.map(({ command }) => command),
    ...views.map(({ id }) => `${id}.focus`),
  ]);
  return (command) => ids.has(command);
}
