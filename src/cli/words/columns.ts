type Row = readonly [term: string, meaning: string];

/** Terms with their meanings beside them, and below them where a term leaves too little room. @param width of a line. */
export function columns(rows: readonly Row[], width: number): string {
  const widest = Math.max(0, ...rows.map(([term]) => term.length));
  const beside = widest + gap + leastMeaning <= width - indent;
  return rows
    .map(([term, meaning]) => {
      const lines = wrapped(meaning, width - indent - (beside ? widest + gap : gap));
      const rest = `\n${" ".repeat(indent + (beside ? widest + gap : gap))}`;
      const head = `${" ".repeat(indent)}${beside ? term.padEnd(widest + gap) : `${term}${rest}`}`;
      return `${head}${lines.join(rest)}`;
    })
    .join("\n");
}

const indent = 2;
const gap = 2;
const leastMeaning = 24;

function wrapped(text: string, width: number): string[] {
  const lines = [""];
  for (const word of text.split(" ")) {
    const line = lines.at(-1) ?? "";
    if (line === "") lines[lines.length - 1] = word;
    else if (line.length + 1 + word.length <= width) lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(word);
  }
  return lines;
}
