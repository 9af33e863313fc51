import { t } from "@vscode/l10n";
import * as z from "zod/mini";
import { PipelineError } from "../../contract/errors.ts";

const fileSchema = z.object({ root: z.string(), path: z.string() });

/** “Open Pipeline File”: opens the file of a row of the Pipelines view. @throws PipelineError `usage` for no such row. */
export async function openPipeline(
  { openFile }: { readonly openFile: (root: string, path: string) => Thenable<unknown> },
  argument?: unknown,
): Promise<void> {
  const file = fileSchema.safeParse(argument);
  if (!file.success) {
    throw new PipelineError("usage", t("The command was given no pipeline file."), {
      next: t("Choose one in the view Pipelines."),
    });
  }
  await openFile(file.data.root, file.data.path);
}
