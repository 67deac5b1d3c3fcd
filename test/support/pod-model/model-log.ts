/** The log of modelled kubelets: none, or standard error with `MODEL_LOG=1`, to look into one history. */
import { writeSync } from 'node:fs';
import { pino } from 'pino';
import type { Logger } from '../../../src/shared/log/logger.ts';
import { silentLogger } from '../logger.ts';

export const modelLogger: Logger =
  process.env['MODEL_LOG'] === '1'
    ? pino({ level: 'debug', base: null }, { write: (line: string) => void writeSync(2, line) })
    : silentLogger;
