/** Starts the test driver, reads its journal, and sets its faults. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CsiDriverOptions, Faults, Health, JournalEntry } from './options.ts';

export class TestCsiDriver {
  readonly options: CsiDriverOptions;
  #process: ChildProcess | undefined;

  constructor(options: CsiDriverOptions) {
    this.options = options;
  }

  /** Resolves when the driver listens on both sockets. */
  async start(): Promise<void> {
    mkdirSync(this.options.stateDir, { recursive: true });
    const child = spawn(process.execPath, [join(import.meta.dirname, 'index.ts'), JSON.stringify(this.options)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.#process = child;
    await Promise.race([once(child.stdout, 'data'), once(child, 'exit').then(() => Promise.reject(new Error('the CSI driver ended')))]);
  }

  /** The sockets are removed, unless the driver is killed. */
  async stop(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
    const child = this.#process;
    this.#process = undefined;
    if (!child || child.exitCode !== null) return;
    const exited = once(child, 'exit');
    child.kill(signal);
    await exited;
  }

  /** All calls so far, in the order of their ends. */
  journal(): JournalEntry[] {
    let text = '';
    try {
      text = readFileSync(join(this.options.stateDir, 'journal.jsonl'), 'utf8');
    } catch {
      // No call yet.
    }
    return text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as JournalEntry);
  }

  /** The calls for volumes, as `NodeStageVolume v1` and, after a failure, the code. */
  volumeCalls(): string[] {
    return this.journal()
      .filter(({ volumeID }) => volumeID !== undefined)
      .map(({ method, volumeID, code }) => `${method} ${volumeID}${code === 0 ? '' : ` ${code}`}`);
  }

  setHealth(health: Health): void {
    writeFileSync(join(this.options.stateDir, 'health.json'), JSON.stringify(health));
  }

  setFaults(faults: Faults): void {
    writeFileSync(join(this.options.stateDir, 'faults.json'), JSON.stringify(faults));
  }
}
