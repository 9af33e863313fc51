/**
 * The words of a command line as a POSIX shell takes them, of a line in which it finds nothing to do; undefined for a line
 * with something that it would obey.
 */
export function shellWords(line: string): string[] | undefined {
  const words: string[] = [];
  let word: string | undefined;
  for (let at = 0; at < line.length; at++) {
    const letter = line.charAt(at);
    if (letter === "'") {
      const end = line.indexOf("'", at + 1);
      if (end === -1) return undefined;
      word = (word ?? "") + line.slice(at + 1, end);
      at = end;
    } else if (letter === "\\") {
      at += 1;
      if (at >= line.length || line.charAt(at) === "\n") return undefined;
      word = (word ?? "") + line.charAt(at);
    } else if (letter === " ") {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else if (/[\s"`$&|;<>()*?[\]{}#~!]/.test(letter)) {
      return undefined;
    } else {
      word = (word ?? "") + letter;
    }
  }
  return word === undefined ? words : [...words, word];
}
