/** What the reader may have changed on the page, which a newer state of it doesn't take back. */
const ownOfReader: ReadonlySet<string> = new Set(["open", "data-sticks"]);

/**
 * Makes an element equal to another one of a newer page, touching only what differs: whatever stays keeps its focus,
 * its selection and its scroll position. Children with an id are matched by it, others by their kind and order.
 */
export function morph(shown: Element, next: Element): void {
  morphAttributes(shown, next);
  const staying = new Set([...next.children].map(({ id }) => id));
  const byId = new Map<string, Element>();
  for (const child of [...shown.children]) {
    if (child.id === "") continue;
    if (staying.has(child.id)) byId.set(child.id, child);
    else child.remove();
  }
  let at = shown.firstChild;
  for (const child of next.childNodes) {
    const named = byId.get(idOf(child));
    if (named !== undefined) at = withoutNameless(at, named);
    const match = named ?? (at !== null && idOf(at) === "" ? at : undefined);
    if (match === undefined || match.nodeName !== child.nodeName) {
      shown.insertBefore(shown.ownerDocument.importNode(child, true), at);
      continue;
    }
    if (match === at) at = at.nextSibling;
    else shown.insertBefore(match, at);
    if (match instanceof Element && child instanceof Element) morph(match, child);
    else if (match.nodeValue !== child.nodeValue) match.nodeValue = child.nodeValue;
  }
  while (at !== null) at = removed(at);
}

/** Takes away what stands before a node that stays: moving that node instead would cost it its focus. */
function withoutNameless(from: ChildNode | null, until: Element): ChildNode | null {
  let at = from;
  while (at !== null && at !== until && idOf(at) === "") at = removed(at);
  return at;
}

/** @returns the one that came after it. */
function removed(node: ChildNode): ChildNode | null {
  const { nextSibling } = node;
  node.remove();
  return nextSibling;
}

function idOf(node: Node): string {
  return node instanceof Element ? node.id : "";
}

function morphAttributes(shown: Element, next: Element): void {
  for (const { name, value } of next.attributes) {
    if (!ownOfReader.has(name) && shown.getAttribute(name) !== value) shown.setAttribute(name, value);
  }
  for (const { name } of [...shown.attributes]) {
    if (!ownOfReader.has(name) && !next.hasAttribute(name)) shown.removeAttribute(name);
  }
}
