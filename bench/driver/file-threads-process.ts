/**
 * A process with a given UV_THREADPOOL_SIZE: how long a small read takes while others write durably and some calls hang for good. Arguments:
 * a folder, how many calls hang, how many reads. Prints one line of JSON.
 */
import { mkdirSync, readFileSync } from 'node:fs';
import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

export interface FileThreadsResult {
  /** One a read, in ms. Shorter than asked for when the time was over. */
  readonly readsMs: readonly number[];
  readonly rssBytes: number;
}

const [folder = '', hanging = '0', reads = '0'] = process.argv.slice(2);
/** A journal, records of pulls, and checkpoints: each is synced to the disk. */
const writers = 8;
const deadlineMs = 5000;

async function writeForEver(path: string): Promise<never> {
  for (;;) {
    const file = await open(path, 'w');
    await file.write('x'.repeat(4096));
    await file.sync();
    await file.close();
  }
}

const readsMs: number[] = [];

async function readInTurn(count: number): Promise<void> {
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
// The open of a pipe waits for the other end, as a call to a dead file server waits.
for (let n = 0; n < Number(hanging); n += 1) void open(join(folder, '../pipe'), 'r');
for (let n = 0; n < writers; n += 1) void writeForEver(join(folder, `file-${n}`));
await Promise.race([readInTurn(Number(reads)), sleep(deadlineMs)]);
process.stdout.write(`${JSON.stringify({ readsMs, rssBytes: residentBytes() } satisfies FileThreadsResult)}\n`, () =>
  // process.exit() would wait for the calls that hang.
  process.kill(process.pid, 'SIGKILL'),
);
