/** A logger that records lines for assertions and prints nothing. */
import { pino } from 'pino';
import type { Logger } from '../../src/shared/log/logger.ts';

export interface LogLine {
  readonly level: number;
  readonly msg: string;
  readonly [field: string]: unknown;
}

/** Creating a pino logger takes ten times as long as creating a child logger. */
const parent = pino({ level: 'trace' }, { write: () => {} });

/** Parses the recorded JSON lines on demand. */
export function aLogger(): { readonly logger: Logger; readonly lines: LogLine[] } {
  const lines: LogLine[] = [];
  let unparsed: string[] | null = [];
  const parse = (line: string) => void lines.push(JSON.parse(line) as LogLine);
  const write = (line: string) => {
    if (unparsed) unparsed.push(line);
    else parse(line);
  };
  return {
    logger: Object.assign(parent.child({}), { [pino.symbols.streamSym]: { write } }),
    get lines() {
      unparsed?.forEach(parse);
      unparsed = null;
      return lines;
    },
  };
}

/** A disabled logger, for tests that assert on no line. */
export const silentLogger: Logger = pino({ level: 'silent' });
