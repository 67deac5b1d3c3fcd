/** Compares numbers of libuv threads. `bin/kubelet` sets the number for the daemon. */
import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { FileThreadsResult } from './driver/file-threads-process.ts';
import type { Benchmark, Measurement } from './harness/benchmark.ts';
import { percentile } from './harness/statistics.ts';

/** Includes libuv's default (4) and the size that bin/kubelet sets, without the thread that waits for notifications of the kernel. */
const sizes = [4, 8, 16, 32];
const shippedSize = 16;
const hanging = 4;
const reads = 500;
/** Shown in the table when no read has finished. */
const neverMs = 5000;

export const benchmark: Benchmark = {
  name: 'file-threads',
  about: `A small read while eight files are written durably, all on libuv's file threads, which all threads of the daemon share; then the same with ${hanging} calls that hang forever (${neverMs} ms: no read finished).`,
  needs: 'none',
  async run(context) {
    const folder = mkdtempSync(join(tmpdir(), 'file-threads-'));
    context.onEnd(async () => rmSync(folder, { recursive: true, force: true }));
    execFileSync('mkfifo', [join(folder, 'pipe')]);
    const measurements: Measurement[] = [];
    let smallest: number | undefined;
    for (const size of sizes) {
      context.progress(`${size} file threads …`);
      const free = await run(folder, size, 0);
      const hung = await run(folder, size, hanging);
      smallest ??= free.rssBytes;
      const hungP99 = p99(hung);
      measurements.push(
        { what: `small read p99, ${size} file threads`, value: p99(free), unit: 'ms' },
        {
          what: `small read p99, ${size} file threads of which ${hanging} hang`,
          value: hungP99,
          unit: 'ms',
          ...(size === shippedSize && { goal: { text: 'reads go on', met: hungP99 < neverMs } }),
        },
        { what: `resident memory, ${size} file threads compared with ${sizes[0]}`, value: (free.rssBytes - smallest) / 1e6, unit: 'MB' },
      );
    }
    return { repeats: `${reads} reads each`, measurements };
  },
};

function p99({ readsMs }: FileThreadsResult): number {
  return readsMs.length === 0 ? neverMs : percentile(readsMs, 99);
}

async function run(folder: string, size: number, hung: number): Promise<FileThreadsResult> {
  const entry = join(import.meta.dirname, 'driver/file-threads-process.ts');
  const child = promisify(execFile)(process.execPath, [entry, join(folder, `files-${size}-${hung}`), `${hung}`, `${reads}`], {
    env: { ...process.env, UV_THREADPOOL_SIZE: `${size}`, MALLOC_ARENA_MAX: '2' },
  });
  // The process ends itself with a signal.
  const { stdout } = await child.catch((err: { readonly stdout?: string }) => ({ stdout: err.stdout ?? '' }));
  return JSON.parse(stdout) as FileThreadsResult;
}
