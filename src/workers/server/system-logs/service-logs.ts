/**
 * Writes the logs of services, from the journal with `journalctl` (a child process with a deadline) or from the service's log file. Errors
 * after the start of the response are written into it, as upstream does (kubelet_server_journal.go).
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
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

/** Ends the response. Never rejects. */
export async function writeServiceLogs(query: LogQuery, response: ServerResponse, options: ServiceLogsOptions): Promise<void> {
  const disconnected = new AbortController();
  response.once('close', () => disconnected.abort());
  const signal = AbortSignal.any([disconnected.signal, AbortSignal.timeout(deadlineMs)]);
  response.writeHead(200, { 'Content-Type': 'text/plain;charset=UTF-8', 'X-Content-Type-Options': 'nosniff' });
  try {
    const units = await journalUnits(options.journalctl, signal);
    const inJournal = query.services.filter((service) => units.includes(`${service}.service`));
    const fromFiles = query.services.filter((service) => !inJournal.includes(service));
    if (inJournal.length > 0) await writeJournal({ ...query, services: inJournal }, response, options.journalctl, signal);
    const hasOptions = Object.keys(query).some((key) => key !== 'services' && key !== 'files');
    if (fromFiles.length > 0 && hasOptions) {
      response.write(`\noptions present and query resolved to log files for [${fromFiles.join(' ')}]\ntry without specifying options\n`);
    } else {
      for (const service of fromFiles) await writeFileOf(service, response, options.roots, signal);
    }
  } catch (err) {
    if (!response.destroyed) response.write(`\nerror: ${signal.aborted ? 'it took too long' : String(err)}\n`);
  }
  response.end();
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

async function writeJournal(query: LogQuery, response: ServerResponse, journalctl: string, signal: AbortSignal): Promise<void> {
  const child = spawn(journalctl, journalArguments(query), { stdio: ['ignore', 'pipe', 'pipe'], signal });
  const failed = once(child, 'error').then(() => response.write('\nerror: journal output not available\n'));
  failed.catch(() => {});
  // Both pipelines have backpressure from the client.
  await Promise.all([pipeline(child.stdout, response, { end: false, signal }), pipeline(child.stderr, response, { end: false, signal })]);
}

async function writeFileOf(
  service: string,
  response: ServerResponse,
  roots: readonly [string, ...string[]],
  signal: AbortSignal,
): Promise<void> {
  for (const path of logFilesOf(service)) {
    const opened = await openInside(roots, path);
    if (opened.type === 'missing') continue;
    if (opened.type === 'forbidden') {
      response.write(`\nerror getting log for ${service}: ${opened.message}\n`);
      return;
    }
    const { handle, type, size } = opened;
    try {
      if (type === 'folder') continue;
      if (size > 0)
        await pipeline(handle.createReadStream({ start: 0, end: size - 1, autoClose: false }), response, { end: false, signal });
      return;
    } finally {
      await handle.close();
    }
  }
  response.write(`\nlog not found for ${service}\n`);
}
