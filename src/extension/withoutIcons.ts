/** A text from elsewhere in a place where the editor would make an icon of `$(name)`. */
export function withoutIcons(text: string): string {
  return text.replaceAll("$(", "$ (");
}
