/**
 * Creates a thread's logger. Pino provides levels, child loggers and safe serialization; the renderer behind it writes Kubernetes' formats. Lines are written
 * synchronously, without a logging thread.
 */
import { pino } from 'pino';
import { messageOf } from '../errors/kubelet-error.ts';
import { addPriority } from './journal-priority.ts';
import { VerbosityFollower } from './live-verbosity.ts';
import type { Logger, LoggingOptions } from './logger.ts';
import { isError, renderJSON, renderText, type LogRecord } from './render-log-record.ts';
import { levelFor } from './verbosity.ts';
import { LineWriter } from './write-line.ts';

const stdout = 1;
const stderr = 2;

/** Strings are truncated before pino copies them. A log line shows less (render-log-record.ts), and states how much of the rest is missing. */
const maxFieldLength = 64 * 1024;

/** Creates the logger of this thread. `--vmodule` applies to child loggers with their own `component`. */
export function createLogger(options: LoggingOptions, bindings: { readonly component?: string } = {}, writer = new LineWriter()): Logger {
  const component = bindings.component ?? 'kubelet';
  const write = (line: string): void => {
    const record = JSON.parse(line) as LogRecord;
    const fd = options.splitStream === true && !isError(record) ? stdout : stderr;
    const text = options.format === 'json' ? renderJSON(record) : renderText(record, process.pid);
    writer.writeLine(fd, options.journalStreams?.includes(fd) === true ? addPriority(text, record.$level) : text);
  };
  const componentOf = (logger: Logger) => String(logger.bindings()['component'] ?? component);
  const follower =
    options.live &&
    new VerbosityFollower(options.live, (member, verbosity) => {
      member.level = levelFor({ ...options, verbosity }, componentOf(member));
    });
  const logger = pino(
    {
      base: { component },
      level: levelFor(options, component),
      messageKey: '$msg',
      timestamp: () => `,"$time":${Date.now()}`,
      formatters: { level: (_label, level) => ({ $level: level }), log: toPlainFields },
      serializers: { err: errorText },
      ...((options.vmodule.length > 0 || follower) && {
        onChild: (child: Logger) => {
          child.level = levelFor(options, componentOf(child));
          follower?.add(child);
        },
      }),
    },
    { write },
  );
  follower?.add(logger);
  return logger;
}

/** Converts errors under any key to their message. */
function toPlainFields(fields: Record<string, unknown>): Record<string, unknown> {
  const plainFields: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(fields)) {
    if (value instanceof Error) plainFields[key] = errorText(value);
    else if (typeof value === 'string') plainFields[key] = value.slice(0, maxFieldLength);
    else plainFields[key] = value;
  }
  return plainFields;
}

function errorText(err: unknown): string {
  return messageOf(err).slice(0, maxFieldLength);
}
