import { t } from "@vscode/l10n";
import type { InputBox, QuickInputButton, QuickPick, QuickPickItem, window as vscodeWindow } from "vscode";
import type { DeclaredInput, InputValue, InputValues } from "../../contract/pipelines.ts";
import type { StartRequest } from "../../contract/run.ts";
import { holdsSecret } from "../../machine/apiSecret.ts";
import { readInput } from "../../pipeline/inputs.ts";
import { plainText, withoutIcons } from "../window/plainWindow.ts";
import type { LastUsed } from "./lastUsed.ts";

export interface AskInputsDeps {
  readonly window: Pick<typeof vscodeWindow, "createQuickPick" | "createInputBox">;
  /** The editor's back button, which leads to the previous question. */
  readonly backButton: QuickInputButton;
  readonly lastUsed: Pick<LastUsed, "inputsOf" | "noteInputs">;
  /** Its abort closes the question. */
  readonly signal: AbortSignal;
}

/** Which inputs the person is asked for: all, or those that are missing or don't fit. */
export type AskedInputs = "all" | "missing";

/**
 * Completes the inputs of a start by asking the person for one after the other; each is prefilled with its last value.
 * @param declared undefined if the pipeline's file isn't known; the service then decides.
 * @returns undefined if the person cancels.
 */
export async function withInputs<Start extends Pick<StartRequest, "pipeline" | "project" | "inputs">>(
  start: Start,
  declared: readonly DeclaredInput[] | undefined,
  which: AskedInputs,
  deps: AskInputsDeps,
): Promise<Start | undefined> {
  const { pipeline, project, inputs: given = {} } = start;
  const asked = (declared ?? []).filter((input) => which === "all" || isLacking(input, given));
  if (asked.length === 0) return start;
  const { lastUsed } = deps;
  const last = lastUsed.inputsOf(project, pipeline);
  const answers = new Map<string, InputValue | undefined>();
  for (let at = 0; ; ) {
    const input = asked[at];
    if (input === undefined) break;
    const { name } = input;
    const known = ownOf(given, name) ?? ownOf(last, name) ?? input.default;
    const shown = answers.has(name) ? answers.get(name) : known;
    const answer = await ask({ input, shown, pipeline, step: at + 1, of: asked.length }, deps);
    if (answer.kind === "left") return undefined;
    if (answer.kind === "given") answers.set(name, answer.value);
    at += answer.kind === "given" ? 1 : -1;
  }
  await lastUsed.noteInputs(project, pipeline, withoutSecrets(withAnswers(last, answers)));
  return { ...start, inputs: withAnswers(given, answers) };
}

function isLacking(input: DeclaredInput, given: InputValues): boolean {
  const value = ownOf(given, input.name);
  return value === undefined ? input.required : readInput(input, value).kind === "invalid";
}

function ownOf(values: InputValues, name: string): InputValue | undefined {
  return Object.hasOwn(values, name) ? values[name] : undefined;
}

function withAnswers(values: InputValues, answers: ReadonlyMap<string, InputValue | undefined>): InputValues {
  const others = Object.entries(values).filter(([name]) => !answers.has(name));
  const given = [...answers].flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  );
  return Object.fromEntries([...others, ...given]);
}

const secretName = /passw|passphrase|secret|token|credential|authorization|api[-_]?key|private[-_]?key/i;

function withoutSecrets(values: InputValues): InputValues {
  return Object.fromEntries(
    Object.entries(values).filter(([name, value]) => !secretName.test(name) && !holdsSecret(String(value))),
  );
}

interface Question {
  readonly input: DeclaredInput;
  /** The prefilled value. */
  readonly shown: InputValue | undefined;
  readonly pipeline: string;
  readonly step: number;
  readonly of: number;
}

type Answer =
  /** `value` is undefined if the pipeline's file decides. */
  { readonly kind: "given"; readonly value: InputValue | undefined } | { readonly kind: "back" | "left" };

function ask(question: Question, deps: AskInputsDeps): Promise<Answer> {
  const { type, options = type === "boolean" ? [true, false] : undefined } = question.input;
  return options === undefined ? askByBox(question, deps) : askByPick(question, options, deps);
}

interface ValueItem extends QuickPickItem {
  readonly value: InputValue | undefined;
}

function askByPick(question: Question, options: readonly InputValue[], deps: AskInputsDeps): Promise<Answer> {
  const { input, shown } = question;
  const pick = deps.window.createQuickPick<ValueItem>();
  const items = options.map((value): ValueItem => {
    const label = withoutIcons(String(value));
    return value === input.default ? { label, description: t("default"), value } : { label, value };
  });
  if (isLeftToFile(input)) items.unshift({ label: t("As the pipeline file says"), value: undefined });
  pick.placeholder = input.description ?? t("Select a value");
  pick.items = items;
  const filled = items.filter(({ value }) => value === shown);
  // With no active item, the editor has no row for Enter.
  if (filled.length > 0) pick.activeItems = filled;
  return answerTo(pick, question, deps, () => {
    const [item] = pick.selectedItems;
    return item && { kind: "given", value: item.value };
  });
}

function askByBox(question: Question, deps: AskInputsDeps): Promise<Answer> {
  const { input, shown } = question;
  const box = deps.window.createInputBox();
  box.prompt = plainText(input.description ?? (input.type === "number" ? t("A number") : t("A text")));
  if (isLeftToFile(input)) box.placeholder = t("As the pipeline file says");
  box.value = shown === undefined ? "" : String(shown);
  box.onDidChangeValue((text) => {
    // Reports an empty box only once it is accepted.
    const typed = text === "" ? undefined : readTyped(text, input);
    box.validationMessage = typed?.kind === "invalid" ? typed.problem : undefined;
  });
  return answerTo(box, question, deps, () => {
    const typed = readTyped(box.value, input);
    if (typed.kind === "given") return typed;
    box.validationMessage = typed.problem;
    return undefined;
  });
}

function readTyped(
  text: string,
  input: DeclaredInput,
):
  | { readonly kind: "given"; readonly value: InputValue | undefined }
  | { readonly kind: "invalid"; readonly problem: string } {
  if (text === "" && isLeftToFile(input)) return { kind: "given", value: undefined };
  if (input.type === "number") {
    const read = readInput(input, text.trim());
    return read.kind === "valid" ? { kind: "given", value: read.value } : invalid(t("Enter a number."));
  }
  return text === "" && input.required ? invalid(t("Enter a text.")) : { kind: "given", value: text };
}

function invalid(problem: string): { readonly kind: "invalid"; readonly problem: string } {
  return { kind: "invalid", problem };
}

/** Whether the input has a default that only a run can evaluate. */
function isLeftToFile(input: DeclaredInput): boolean {
  return !input.required && input.default === undefined;
}

/** Shows a question until it is answered. @param accepted the answer; undefined if it isn't valid yet. */
function answerTo(
  shown: QuickPick<ValueItem> | InputBox,
  { input, pipeline, step, of }: Question,
  { backButton, signal }: AskInputsDeps,
  accepted: () => Answer | undefined,
): Promise<Answer> {
  shown.title = t("Run {0}: {1}", pipeline, input.name);
  // A value may have to be looked up elsewhere.
  shown.ignoreFocusOut = true;
  if (of > 1) {
    shown.step = step;
    shown.totalSteps = of;
  }
  if (step > 1) shown.buttons = [backButton];
  const left = () => shown.hide();
  return new Promise<Answer>((resolve) => {
    shown.onDidAccept(() => {
      const answer = accepted();
      if (answer !== undefined) resolve(answer);
    });
    shown.onDidTriggerButton(() => resolve({ kind: "back" }));
    shown.onDidHide(() => resolve({ kind: "left" }));
    signal.addEventListener("abort", left, { once: true });
    shown.show();
    if (signal.aborted) left();
  }).finally(() => {
    signal.removeEventListener("abort", left);
    shown.dispose();
  });
}
