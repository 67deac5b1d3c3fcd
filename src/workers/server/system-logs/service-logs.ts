/**
 * Writes the logs of services, from the journal with `journalctl` (a child process with a deadline) or from the service's log file. Errors
 * after the start of the response are written into it, as upstream does (kubelet_server_journal.go).
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { constants, createGzip } from 'node:zlib';
import { acceptsGzip } from '../../../shared/http/accepts-gzip.ts';
import { journalArguments, logFilesOf, type LogQuery } from './log-query.ts';
import { openInside } from './open-inside.ts';

/** Upstream's deadline. */
const deadlineMs = 30_000;
const maxUnitListBytes = 4 * 1024 * 1024;

export interface ServiceLogsOptions {
  readonly roots: readonly [string, ...string[]];
  /** Path of `journalctl`; tests use a fake. */
  readonly journalctl: string;
}

/** Ends the response, which is compressed when the client accepts gzip. Never rejects. */
export async function writeServiceLogs(
  query: LogQuery,
  { request, response }: { readonly request: IncomingMessage; readonly response: ServerResponse },
  options: ServiceLogsOptions,
): Promise<void> {
  const disconnected = new AbortController();
  response.once('close', () => disconnected.abort());
  const signal = AbortSignal.any([disconnected.signal, AbortSignal.timeout(deadlineMs)]);
  const gzip = acceptsGzip(request.headers['accept-encoding']?.toString()) ? createGzip({ level: constants.Z_BEST_SPEED }) : null;
  response.writeHead(200, {
    'Content-Type': 'text/plain;charset=UTF-8',
    'X-Content-Type-Options': 'nosniff',
    ...(gzip && { 'Content-Encoding': 'gzip' }),
  });
  // Fails when the client leaves, which destroys the compression too.
  const sent = gzip && pipeline(gzip, response).catch(() => {});
  await writeLogs(query, gzip ?? response, options, signal);
  await sent;
}

/** Ends the output. Never rejects. */
async function writeLogs(query: LogQuery, output: Writable, options: ServiceLogsOptions, signal: AbortSignal): Promise<void> {
  try {
    const units = await journalUnits(options.journalctl, signal);
    const inJournal = query.services.filter((service) => units.includes(`${service}.service`));
    const fromFiles = query.services.filter((service) => !inJournal.includes(service));
    if (inJournal.length > 0) await writeJournal({ ...query, services: inJournal }, output, options.journalctl, signal);
    const hasOptions = Object.keys(query).some((key) => key !== 'services' && key !== 'files');
    if (fromFiles.length > 0 && hasOptions) {
      output.write(`\noptions present and query resolved to log files for [${fromFiles.join(' ')}]\ntry without specifying options\n`);
    } else {
      for (const service of fromFiles) await writeFileOf(service, output, options.roots, signal);
    }
  } catch (err) {
    if (!output.destroyed) output.write(`\nerror: ${signal.aborted ? 'it took too long' : String(err)}\n`);
  }
  output.end();
}

/** Returns the units of the journal as text. Empty when there is no journal. */
async function journalUnits(journalctl: string, signal: AbortSignal): Promise<string> {
  const child = spawn(journalctl, ['--field', '_SYSTEMD_UNIT'], { stdio: ['ignore', 'pipe', 'ignore'], signal });
  child.on('error', () => {});
  let text = '';
  for await (const chunk of child.stdout.setEncoding('utf8')) if (text.length < maxUnitListBytes) text += chunk as string;
  if (child.exitCode === null && child.signalCode === null && child.pid !== undefined) await once(child, 'exit');
  return child.exitCode === 0 ? text : '';
}

async function writeJournal(query: LogQuery, output: Writable, journalctl: string, signal: AbortSignal): Promise<void> {
  const child = spawn(journalctl, journalArguments(query), { stdio: ['ignore', 'pipe', 'pipe'], signal });
  const failed = once(child, 'error').then(() => output.write('\nerror: journal output not available\n'));
  failed.catch(() => {});
  // Both pipelines have backpressure from the client.
  await Promise.all([pipeline(child.stdout, output, { end: false, signal }), pipeline(child.stderr, output, { end: false, signal })]);
}

async function writeFileOf(service: string, output: Writable, roots: readonly [string, ...string[]], signal: AbortSignal): Promise<void> {
  for (const path of logFilesOf(service)) {
    const opened = await openInside(roots, path);
    if (opened.type === 'missing') continue;
    if (opened.type === 'forbidden') {
      output.write(`\nerror getting log for ${service}: ${opened.message}\n`);
      return;
    }
    const { handle, type, size } = opened;
    try {
      if (type === 'folder') continue;
      if (size > 0) await pipeline(handle.createReadStream({ start: 0, end: size - 1, autoClose: false }), output, { end: false, signal });
      return;
    } finally {
      await handle.close();
    }
  }
  output.write(`\nlog not found for ${service}\n`);
}
