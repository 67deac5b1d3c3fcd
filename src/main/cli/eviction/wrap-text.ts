/** Breaks a text at spaces into lines for a terminal. A longer word stays whole. Pure. */
const maxWidth = 100;

export function wrapText(text: string): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.trim().split(' ')) {
    if (line !== '' && line.length + 1 + word.length > maxWidth) {
      lines.push(line);
      line = '';
    }
    line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line];
}
