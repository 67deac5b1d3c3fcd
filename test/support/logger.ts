/** A logger that keeps what was logged, for tests that assert on it, and prints nothing. */
import { pino } from 'pino';
import type { Logger } from '../../src/shared/log/logger.ts';

export interface LogLine {
  readonly level: number;
  readonly msg: string;
  readonly [field: string]: unknown;
}

/** A logger of its own takes pino ten times as long to make as a child, of which there are hundreds. */
const parent = pino({ level: 'trace' }, { write: () => {} });

/** Lines are read from their JSON when somebody asks for them. */
export function aLogger(): { readonly logger: Logger; readonly lines: LogLine[] } {
  const lines: LogLine[] = [];
  let unread: string[] | null = [];
  const keep = (line: string) => void lines.push(JSON.parse(line) as LogLine);
  const write = (line: string) => {
    if (unread) unread.push(line);
    else keep(line);
  };
  return {
    logger: Object.assign(parent.child({}), { [pino.symbols.streamSym]: { write } }),
    get lines() {
      unread?.forEach(keep);
      unread = null;
      return lines;
    },
  };
}

/** For tests that read no line: it makes none, and costs nothing. */
export const silentLogger: Logger = pino({ level: 'silent' });
