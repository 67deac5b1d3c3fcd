/**
 * Priorities for systemd's journal: the journal reads a priority from the beginning of each line on a service's stdout and stderr, and removes it (sd-daemon(3),
 * `SyslogLevelPrefix=`). Other readers would show it, so only a descriptor that is the journal's own stream gets priorities.
 */
import { fstatSync } from 'node:fs';

/** Pino's levels from the highest (fatal, error, warn, info), each with the priority of syslog(3) (critical, error, warning, informational). */
const priorities = [
  [60, 2],
  [50, 3],
  [40, 4],
  [30, 6],
] as const;
const debugPriority = 7;
const standardStreams = [1, 2] as const;

/** Returns which of stdout and stderr are the journal's stream. JOURNAL_STREAM alone is no proof: a shell may have redirected them. */
export function journalStreams(
  env: Readonly<Record<string, string | undefined>>,
  identify: (fd: number) => string = identifyFile,
): readonly number[] {
  const { JOURNAL_STREAM: journal = '' } = env;
  return journal === '' ? [] : standardStreams.filter((fd) => identify(fd) === journal);
}

/** Device and inode as in JOURNAL_STREAM. */
function identifyFile(fd: number): string {
  try {
    const { dev, ino } = fstatSync(fd, { bigint: true });
    return `${dev}:${ino}`;
  } catch {
    return '';
  }
}

/** Returns the text, which ends in a line break, with a priority before each of its lines. @param level of pino */
export function addPriority(text: string, level: number): string {
  const priority = priorities.find(([minimum]) => level >= minimum)?.[1] ?? debugPriority;
  const lines = text.slice(0, -1).split('\n');
  return lines.map((line) => `<${priority}>${line}\n`).join('');
}
