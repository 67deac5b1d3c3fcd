/** A logger that keeps what was logged, for tests that assert on it, and prints nothing. */
import { pino } from 'pino';
import type { Logger } from '../../src/shared/log/logger.ts';

export interface LogLine {
  readonly level: number;
  readonly msg: string;
  readonly [field: string]: unknown;
}

export function aLogger(): { logger: Logger; lines: LogLine[] } {
  const lines: LogLine[] = [];
  const logger = pino({ level: 'trace' }, { write: (line: string) => void lines.push(JSON.parse(line) as LogLine) });
  return { logger, lines };
}
