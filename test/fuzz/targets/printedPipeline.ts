import { isAlias, isMap, isScalar, isSeq, type Node, parseDocument } from "yaml";

/**
 * The YAML text of a pipeline file in another spelling: one line of flow maps and quoted texts, aliases written out. A
 * number or truth value stays as it was written, since the parser hands that on.
 */
export function printedPipeline(text: string): string {
  const document = parseDocument(text.replace(/^\ufeff/, ""), {
    uniqueKeys: false,
    stringKeys: true,
    logLevel: "silent",
  });
  const anchors = new Map<string, Node>();
  const print = (node: unknown): string => {
    if (node === null || node === undefined) return "null";
    if (isAlias(node)) return print(anchors.get(node.source));
    if (isScalar(node)) {
      if (node.anchor !== undefined) anchors.set(node.anchor, node);
      if (typeof node.value === "string") return JSON.stringify(node.value);
      return node.source === undefined || node.source === "" ? "null" : node.source;
    }
    if (isSeq(node)) {
      const printed = `[${node.items.map(print).join(", ")}]`;
      if (node.anchor !== undefined) anchors.set(node.anchor, node);
      return printed;
    }
    if (isMap(node)) {
      const entries = node.items.map(({ key, value }) => `? ${keyText(key)} : ${print(value)}`);
      if (node.anchor !== undefined) anchors.set(node.anchor, node);
      return `{${entries.join(", ")}}`;
    }
    return "null";
  };
  return print(document.contents);
}

function keyText(key: unknown): string {
  return JSON.stringify(isScalar(key) ? String(key.value ?? "") : "");
}
