import { type InputValues, inputsForRerun } from "../contract/pipelines.ts";
import type { Changes, Commit, RanPipeline, Run } from "../contract/run.ts";
import { english, type Translate } from "./refusalText.ts";

/** A commit for people: `abc1234 on main, with changes that aren't committed`. */
export function commitText({ id, branch, changed }: Commit, t: Translate = english): string {
  const commit = branch === undefined ? short(id) : t("{0} on {1}", short(id), branch);
  return changed ? t("{0}, with changes that aren't committed", commit) : commit;
}

/** The notes on a run's changes that are shown beside the diffs. */
export function changeNotes(
  run: Pick<Run, "commit" | "inputs" | "evaluatedInputs">,
  { lastPassed, diffs }: Changes,
  t: Translate = english,
): string[] {
  if (lastPassed === undefined) return [t("No earlier run of this pipeline is known to have succeeded.")];
  const { commit } = run;
  const commits = commit && lastPassed.commit && commitNote(lastPassed.commit, commit, t);
  const files =
    diffs === undefined
      ? t("The pipeline file of one of the two runs isn't kept.")
      : Object.keys(diffs).length === 0
        ? t("The pipeline file is the same.")
        : undefined;
  return [...inputNotes(lastPassed.inputs, inputsForRerun(run), t), commits, files].filter(
    (note) => note !== undefined,
  );
}

/** @param before undefined if the earlier run's inputs aren't known. */
function inputNotes(before: InputValues | undefined, after: InputValues, t: Translate): string[] {
  if (before === undefined) return [];
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].flatMap((name) => {
    const [was, is] = [before, after].map((all) => (Object.hasOwn(all, name) ? all[name] : undefined));
    if (was === is) return [];
    if (is === undefined) return t("The input {0} was {1}, and is gone.", name, shown(was));
    if (was === undefined) return t("The input {0} is new, and is {1}.", name, shown(is));
    return t("The input {0} was {1}, and is {2}.", name, shown(was), shown(is));
  });
}

const longestShown = 80;

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? "";
  return text.length > longestShown ? `${text.slice(0, longestShown)}…` : text;
}

/** A run's files as one text: the pipeline file, then each included file below its path. */
export function ranText({ path, texts: { [path]: own = "", ...parts } }: RanPipeline): string {
  return [own, ...Object.entries(parts).map(([part, text]) => `\n# ${part}\n${text}`)].join("");
}

function commitNote(before: Commit, after: Commit, t: Translate): string {
  if (before.id === after.id) {
    return before.changed || after.changed
      ? t("The commit is the same, {0}, with changes that aren't committed.", short(after.id))
      : t("The commit is the same, {0}.", short(after.id));
  }
  const range = `${short(before.id)}..${short(after.id)}`;
  const commits = t("Commits {0}: `git log {0}` lists them, `git diff {0}` shows what they changed.", range);
  return before.changed || after.changed
    ? `${commits} ${t("There were changes that aren't committed.")}`
    : commits;
}

function short(id: string): string {
  return id.slice(0, 7);
}
