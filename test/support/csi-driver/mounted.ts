/** Returns the mount points of a mount table, as /proc/self/mountinfo has it. */
export function parseMountInfo(text: string): string[] {
  return text.split('\n').flatMap((line) => {
    const point = line.split(' ')[4];
    return point === undefined
      ? []
      : [point.replaceAll(/\\(\d{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)))];
  });
}
