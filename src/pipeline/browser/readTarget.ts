import type { StepReading } from "../readStep.ts";
import { readExpected, writtenText } from "../readTexts.ts";
import type { TextExpectation } from "../textExpectation.ts";
import type { Path } from "../yamlSource.ts";
import type { Target } from "./target.ts";
import type { TargetFile } from "./targetFile.ts";

const ways = ["role", "label", "placeholder", "test-id", "css"] as const;

/** Whether any element is named. */
export function namesTarget(file: TargetFile): boolean {
  return file.text !== undefined || file.name !== undefined || ways.some((way) => file[way] !== undefined);
}

/** @returns undefined when the element isn't said in exactly one way. */
export function readTarget(file: TargetFile, path: Path, reading: StepReading): Target | undefined {
  const { problems, source } = reading;
  const [way, ...others] = ways.filter((name) => file[name] !== undefined);
  for (const other of others) {
    problems.addToName(
      [...path, other],
      `an element is said in one way, and this one already has \`${way}\``,
    );
  }
  if (others.length > 0) return undefined;
  if (file.name !== undefined && way !== "role") {
    problems.addToName([...path, "name"], "`name` stands beside a `role`");
    return undefined;
  }
  const expected = (name: "name" | "label" | "placeholder" | "text"): TextExpectation | undefined => {
    const value = file[name];
    return value === undefined ? undefined : readExpected(value, [...path, name], reading);
  };
  const text = expected("text");
  if (way === undefined) {
    if (file.text === undefined) {
      problems.add(
        path,
        "this names no element; it needs one of role, label, placeholder, test-id, css, text",
      );
    }
    return text && { kind: "text", text };
  }
  if (text !== undefined && (way === "label" || way === "placeholder")) {
    problems.addToName([...path, "text"], `\`text\` can't stand beside \`${way}\``);
    return undefined;
  }
  switch (way) {
    case "role":
      return file.role && { kind: "role", role: file.role, name: expected("name"), text };
    case "label": {
      const label = expected("label");
      return label && { kind: "label", label };
    }
    case "placeholder": {
      const placeholder = expected("placeholder");
      return placeholder && { kind: "placeholder", placeholder };
    }
    case "test-id": {
      const testId = writtenText(file["test-id"] ?? "", [...path, "test-id"], source);
      return { kind: "test-id", testId, text };
    }
    case "css":
      return { kind: "css", selector: file.css ?? "", text };
    default:
      return way satisfies never;
  }
}
