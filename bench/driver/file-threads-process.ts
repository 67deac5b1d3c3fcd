/**
 * A process with a given UV_THREADPOOL_SIZE that measures small reads while other calls write durably and some calls hang forever.
 * Arguments: a folder, the number of hanging calls, the number of reads. Prints one line of JSON.
 */
import { mkdirSync, readFileSync } from 'node:fs';
import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

export interface FileThreadsResult {
  /** Duration of each read, ms. Has fewer entries than requested after the deadline. */
  readonly readsMs: readonly number[];
  readonly rssBytes: number;
}

const [folder = '', hanging = '0', reads = '0'] = process.argv.slice(2);
/** Simulates the journal, pull records and checkpoints, which are synced to the disk. */
const writers = 8;
const deadlineMs = 5000;

async function writeForever(path: string): Promise<never> {
  for (;;) {
    const file = await open(path, 'w');
    await file.write('x'.repeat(4096));
    await file.sync();
    await file.close();
  }
}

const readsMs: number[] = [];

async function readSequentially(count: number): Promise<void> {
  for (let n = 0; n < count; n += 1) {
    const began = performance.now();
    await readFile('/proc/self/stat');
    readsMs.push(performance.now() - began);
  }
}

function residentBytes(): number {
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]) * 1024;
}

mkdirSync(folder, { recursive: true });
// Opening a pipe waits for the other end, like a call to a dead file server.
for (let n = 0; n < Number(hanging); n += 1) void open(join(folder, '../pipe'), 'r');
for (let n = 0; n < writers; n += 1) void writeForever(join(folder, `file-${n}`));
await Promise.race([readSequentially(Number(reads)), sleep(deadlineMs)]);
process.stdout.write(`${JSON.stringify({ readsMs, rssBytes: residentBytes() } satisfies FileThreadsResult)}\n`, () =>
  // process.exit() would wait for the hanging calls.
  process.kill(process.pid, 'SIGKILL'),
);
